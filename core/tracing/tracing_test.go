package tracing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/tracing"
)

// store is a list of traces, and what it was last told to keep.
type store struct {
	all    []core.Trace
	before time.Time
	most   int64
}

func (s *store) Put(_ context.Context, t *core.Trace) error { s.all = append(s.all, *t); return nil }

func (s *store) List(context.Context, core.TraceQuery) ([]core.Trace, error) { return s.all, nil }

func (s *store) Expire(_ context.Context, before time.Time, most int64) error {
	s.before, s.most = before, most
	return nil
}

func TestNothingIsKeptUnlessThatIsTurnedOn(t *testing.T) {
	t.Parallel()
	var s store
	r := tracing.New(tracing.Config{Store: &s})
	r.Record(t.Context(), &core.Trace{Model: "v/m"})
	if err := r.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.all) != 0 || s.most != 0 || s.before.IsZero() {
		t.Errorf("kept %d; told to keep %d bytes", len(s.all), s.most)
	}
}

func TestValuesOfVariablesAreTakenOutOfATrace(t *testing.T) {
	t.Parallel()
	var s store
	veil := func(_ context.Context, agent core.AgentID) (*core.Veil, error) {
		if agent != "agent-1" {
			return nil, core.E(core.Internal, "the variables cannot be read")
		}
		return core.NewVeil(map[string]core.Secret{"TOKEN": `top"secret`}), nil
	}
	r := tracing.New(tracing.Config{On: true, Store: &s, Veil: veil})
	one := core.Trace{Charge: core.Charge{Agent: "agent-1"}, Error: `at top"secret`}
	one.Request.Body, one.Response.Body = `{"content":"it is top\"secret"}`, `top"secret!`
	r.Record(t.Context(), &one)
	one.Agent = "agent-2"
	r.Record(t.Context(), &one)
	if len(s.all) != 1 {
		t.Fatalf("%d are kept: one whose secrets can't be told must not be", len(s.all))
	}
	if got := s.all[0]; strings.Contains(got.Request.Body+got.Response.Body+got.Error, "secret\"") ||
		strings.Contains(got.Request.Body+got.Response.Body+got.Error, `top`) {
		t.Errorf("%+v", got)
	}
}

func TestATraceIsBoundedAndOldOnesAreLookedFor(t *testing.T) {
	t.Parallel()
	var s store
	now := time.Unix(1_000_000, 0)
	r := tracing.New(tracing.Config{On: true, Store: &s, Keep: time.Hour, Bytes: 1000, Clock: func() time.Time { return now }})
	one := core.Trace{}
	one.Response.Body = strings.Repeat("ä", 5<<20)
	for range 32 {
		r.Record(t.Context(), &one)
	}
	one.Response.Body = strings.Repeat("\x80", 9<<20) // what a server may send that sends no text
	r.Record(t.Context(), &one)
	if got := s.all[32].Response; len(got.Body)+got.Cut != 9<<20 || len(got.Body) > 8<<20 {
		t.Errorf("of what is no text, %d bytes are kept and %d left out", len(got.Body), got.Cut)
	}
	if got := s.all[0].Response; len(got.Body)+got.Cut != 10<<20 || len(got.Body) > 8<<20 || !strings.HasSuffix(got.Body, "ä") {
		t.Errorf("%d bytes are kept and %d left out", len(got.Body), got.Cut)
	}
	if s.most != 1000 || !s.before.Equal(now.Add(-time.Hour)) {
		t.Errorf("told to keep %d bytes since %s", s.most, s.before)
	}
}
