package providers

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// model answers each attempt with the next error in its list; nil is an answer.
type model struct {
	fails []error
	text  string // handed out before an error
	asked atomic.Int64
	hold  time.Duration
	now   atomic.Int64
	most  atomic.Int64
}

func (m *model) Stream(ctx context.Context, _ core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		n := int(m.asked.Add(1)) - 1
		if now := m.now.Add(1); now > m.most.Load() {
			m.most.Store(now)
		}
		defer m.now.Add(-1)
		pause(ctx, m.hold)
		if m.text != "" && !yield(core.Delta{Text: m.text}, nil) {
			return
		}
		if n < len(m.fails) && m.fails[n] != nil {
			yield(core.Delta{}, m.fails[n])
			return
		}
		yield(core.Delta{End: true, Finish: core.FinishStop}, nil)
	}
}

// vendor turns a model into a protocol with that model as its only server.
type vendor struct{ core.ChatModel }

func (vendor) Name() string { return "vendor" }

func (v vendor) Open(protocol.Options) (protocol.Server, error) { return v, nil }

func (vendor) List(context.Context) (protocol.Listing, error) { return protocol.Listing{}, nil }

func (vendor) Describe(context.Context, string) (protocol.Model, error) {
	return protocol.Model{}, nil
}

func behind(m core.ChatModel, most int) *chatModel {
	row := Row{Name: "vendor", Protocol: vendor{m}, Parallel: most}
	return &chatModel{
		providers: New(Config{Rows: []Row{row}}), endpoint: endpoint{row: row, protocol: row.Protocol},
		info: core.ModelInfo{Provider: "vendor", Name: "m", Tools: true},
	}
}

// places returns the slots that limit the requests to a model's server.
func places(t *testing.T, a *chatModel) chan struct{} {
	t.Helper()
	s, err := a.providers.hold(a.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer a.providers.release(s)
	return s.gate.slots
}

func run(ctx context.Context, a *chatModel) error {
	_, err := hear(ctx, a, core.ChatRequest{})
	return err
}

// hear asks, and returns what the user is told meanwhile.
func hear(ctx context.Context, a *chatModel, req core.ChatRequest) (notices []string, err error) {
	for d, err := range a.Stream(ctx, req) {
		if err != nil {
			return notices, err
		}
		if d.Notice != nil {
			notices = append(notices, d.Notice.Text)
		}
	}
	return notices, nil
}

func fail(kind core.Kind) *core.Error {
	return &core.Error{Kind: kind, Msg: string(kind), Provider: true}
}

func times(n int, err error) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}

func TestWhatPassesByItselfIsAskedAgain(t *testing.T) {
	t.Parallel()
	refused := core.E(core.Unavailable, "nobody: %w", syscall.ECONNREFUSED)
	for name, c := range map[string]struct {
		fails []error
		asked int64
		want  core.Kind
	}{
		"one overload":            {times(1, fail(core.Unavailable)), 2, ""},
		"ten limits":              {times(10, fail(core.RateLimited)), 11, ""},
		"an overload without end": {times(9, fail(core.Unavailable)), 4, core.Unavailable},
		"one timeout":             {times(1, fail(core.Timeout)), 2, ""},
		"two timeouts":            {times(2, fail(core.Timeout)), 2, core.Timeout},
		"a server that starts":    {times(3, refused), 4, ""},
		"a bad request":           {times(1, fail(core.Invalid)), 1, core.Invalid},
		"a wrong key":             {times(1, fail(core.Unauthenticated)), 1, core.Unauthenticated},
		"an empty account":        {times(1, fail(core.NoCredit)), 1, core.NoCredit},
		"too long":                {times(1, fail(core.TooLong)), 1, core.TooLong},
		"keep-alives alone":       {times(1, wire.Who{}.Silent()), 1, core.Unavailable},
		"a cancellation":          {times(1, fail(core.Cancelled)), 1, core.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{fails: c.fails}
				err := run(t.Context(), behind(m, 1))
				if core.KindOf(err) != c.want || m.asked.Load() != c.asked {
					t.Errorf("asked %d times, got %v", m.asked.Load(), err)
				}
			})
		})
	}
}

func TestABusyServerIsWaitedForAMinuteAndThatIsSaid(t *testing.T) {
	t.Parallel()
	busy := func(said string) error {
		return (wire.Who{Provider: "vendor"}).Status(503, nil, []byte(`{"error":{"message":"`+said+`"}}`))
	}
	limit := (wire.Who{Provider: "vendor"}).Status(429, nil, nil)
	gone := core.E(core.Unavailable, "nothing answers: %w", syscall.ECONNREFUSED)
	slow := fail(core.Unavailable)
	slow.RetryAfter = 20 * time.Second
	for name, c := range map[string]struct {
		err  error
		most time.Duration
		said string
	}{
		"loading":             {busy("Loading model"), time.Minute, "Loading model. Retrying for up to 1 minute."},
		"busy":                {busy("server busy, please try again.  maximum pending requests exceeded"), time.Minute, "server busy"},
		"a limit":             {limit, time.Minute, "too many requests"},
		"not there":           {gone, 5 * time.Second, "nothing answers"},
		"a failure":           {fail(core.Unavailable), 4 * time.Second, ". Retrying."},
		"a pause it asks for": {slow, 70 * time.Second, "Retrying in 20 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				notices, err := hear(t.Context(), behind(&model{fails: times(99, c.err)}, 1), core.ChatRequest{})
				took := time.Since(start)
				if core.KindOf(err) != core.KindOf(c.err) || took > c.most || took < c.most-12*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
				if len(notices) != 1 || !strings.Contains(notices[0], c.said) {
					t.Errorf("said %q", notices)
				}
				m := &model{fails: times(2, c.err)}
				if err := run(t.Context(), behind(m, 1)); err != nil || m.asked.Load() != 3 {
					t.Errorf("a server that has started: %v", err)
				}
			})
		})
	}
}

func TestAServerThatIsNotThereIsAskedEveryHalfSecondUntilFiveHavePassed(t *testing.T) {
	t.Parallel()
	gone := core.E(core.Unavailable, "nothing answers: %w", syscall.ECONNREFUSED)
	for name, c := range map[string]struct {
		fails int
		took  time.Duration
	}{
		"never there":          {99, 5 * time.Second},
		"there at the last":    {10, 5 * time.Second},
		"there after a moment": {7, 3500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				notices, err := hear(t.Context(), behind(&model{fails: times(c.fails, gone)}, 1), core.ChatRequest{})
				if took := time.Since(start); took != c.took || (err == nil) != (c.fails < 99) {
					t.Errorf("after %v: %v", took, err)
				}
				if len(notices) != 1 || !strings.HasSuffix(notices[0], ". Retrying for up to 5 seconds.") {
					t.Errorf("said %q", notices)
				}
			})
		})
	}
}

func TestAnHourIsCalledAnHour(t *testing.T) {
	t.Parallel()
	after := http.Header{"Retry-After": {"3600"}}
	for status, want := range map[int]string{429: "left alone for 1 hour;", 503: "left alone for 1 hour;", 402: "add credit"} {
		slow := (wire.Who{Provider: "vendor"}).Status(status, after, nil)
		err := run(t.Context(), behind(&model{fails: times(9, slow)}, 1))
		if hint := core.HintOf(err); !strings.Contains(hint, want) {
			t.Errorf("the hint after %d is %q", status, hint)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0 seconds", 90 * time.Second: "1 minute 30 seconds", 3*time.Hour + 40*time.Second: "3 hours", 26 * time.Hour: "26 hours",
	} {
		if got := core.InWords(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// picky refuses requests with something it doesn't accept, and keeps them all.
type picky struct {
	refuse func(core.ChatRequest) error
	got    []core.ChatRequest
}

func (p *picky) Stream(_ context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		p.got = append(p.got, req)
		if err := p.refuse(req); err != nil {
			yield(core.Delta{}, err)
			return
		}
		yield(core.Delta{End: true, Finish: core.FinishStop}, nil)
	}
}

func TestRefusedReasoningIsRememberedNotRetriedAtEveryStep(t *testing.T) {
	t.Parallel()
	p := &picky{refuse: func(req core.ChatRequest) error {
		for _, m := range req.Messages {
			if m.Native != nil && string(m.Native.Data) != `"new"` {
				return (wire.Who{Provider: "vendor"}).Status(
					400,
					nil,
					[]byte(`{"error":{"message":"The encrypted content could not be verified"}}`),
				)
			}
		}
		return nil
	}}
	a := behind(p, 1)
	turn := func(data string) core.ChatMessage {
		return core.ChatMessage{Role: core.ChatAssistant, Text: "x", Native: &core.Native{Data: []byte(data)}}
	}
	req := core.ChatRequest{Messages: []core.ChatMessage{turn(`"old"`), turn(`"older"`)}}
	for range 3 {
		if _, err := hear(t.Context(), a, req); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, turn(`"new"`))
	}
	if len(p.got) != 4 {
		t.Errorf("asked %d times for three answers", len(p.got))
	}
	last := p.got[len(p.got)-1].Messages
	if last[0].Native != nil || last[1].Native != nil || last[2].Native == nil || req.Messages[0].Native == nil {
		t.Errorf("sent %+v", last)
	}
}

func TestAModelThatRefusesToolsIsAskedWithoutAndThatIsSaid(t *testing.T) {
	t.Parallel()
	p := &picky{refuse: func(req core.ChatRequest) error {
		if len(req.Tools) > 0 {
			return (wire.Who{Provider: "vendor"}).Status(400, nil, []byte(`{"error":"gemma does not support tools"}`))
		}
		return nil
	}}
	a := behind(p, 1)
	req := core.ChatRequest{Tools: []core.ToolSpec{{Name: "clock"}}, Messages: []core.ChatMessage{
		{Role: core.ChatUser, Text: "hi"},
		{Role: core.ChatAssistant, Calls: []core.ToolCall{{ID: "a", Name: "clock", Arguments: "{}"}}},
		{Role: core.ChatTool, Returns: []core.ChatReturn{{CallID: "a", Name: "clock", Text: "noon"}}},
	}}
	for _, asked := range []int{2, 3} {
		said, err := hear(t.Context(), a, req)
		if err != nil || len(said) != 1 || !strings.Contains(said[0], "does not support tools. It is asked without tools") ||
			len(p.got) != asked {
			t.Errorf("said %q, asked %d times, %v", said, len(p.got), err)
		}
	}
	if said, err := hear(t.Context(), a, core.ChatRequest{}); err != nil || len(said) != 0 {
		t.Errorf("a request that offers none: said %q, %v", said, err)
	}
	if last := p.got[2].Messages; last[1].Calls != nil || !strings.Contains(last[2].Text, "noon") {
		t.Errorf("sent %+v", last)
	}
}

func TestARefusalOfToolsIsForgottenAfterAWhile(t *testing.T) {
	t.Parallel()
	refusing := true
	p := &picky{refuse: func(req core.ChatRequest) error {
		if refusing && len(req.Tools) > 0 {
			return (wire.Who{Provider: "vendor"}).Status(400, nil, []byte(`{"error":"tool choice requires --enable-auto-tool-choice"}`))
		}
		return nil
	}}
	a := behind(p, 1)
	now := time.Unix(1e9, 0)
	a.providers.cfg.Now = func() time.Time { return now }
	req := core.ChatRequest{Tools: []core.ToolSpec{{Name: "clock"}}}
	ask := func(offered bool) {
		t.Helper()
		said, err := hear(t.Context(), a, req)
		if err != nil || len(p.got[len(p.got)-1].Tools) > 0 != offered || (len(said) == 0) != offered {
			t.Errorf("said %q, sent %+v, %v", said, p.got[len(p.got)-1], err)
		}
	}
	ask(false)
	refusing = false
	now = now.Add(wire.RefusalFresh - time.Second)
	ask(false)
	now = now.Add(time.Second)
	ask(true)
}

func TestNothingIsAskedAgainOnceSomethingWasShown(t *testing.T) {
	t.Parallel()
	m := &model{fails: times(1, fail(core.Unavailable)), text: "half"}
	if err := run(t.Context(), behind(m, 1)); core.KindOf(err) != core.Unavailable || m.asked.Load() != 1 {
		t.Errorf("asked %d times: %v", m.asked.Load(), err)
	}
}

func TestARequestedPauseIsKeptWhateverFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(core.Unavailable)
		down.RetryAfter = 20 * time.Second
		start := time.Now()
		if err := run(t.Context(), behind(&model{fails: []error{down}}, 1)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("waited %v", d)
		}
	})
}

func TestARequestedPauseIsKeptByEverybodyWithTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := fail(core.RateLimited)
		limited.RetryAfter = 20 * time.Second
		m := &model{fails: []error{limited}}
		a, start := behind(m, 8), time.Now()
		if err := run(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("waited %v", d)
		}
		m.fails, start = append(times(1, nil), nil, limited), time.Now()
		done := make(chan time.Duration, 2)
		go func() { _ = run(t.Context(), a); done <- time.Since(start) }()
		synctest.Wait()
		go func() { _ = run(t.Context(), a); done <- time.Since(start) }()
		for range 2 {
			if d := <-done; d < 20*time.Second {
				t.Errorf("somebody waited %v", d)
			}
		}
	})
}

func TestAPauseOverAMinuteIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	limited := fail(core.RateLimited)
	limited.RetryAfter = 5 * time.Minute
	m := &model{fails: times(1, limited)}
	err := run(t.Context(), behind(m, 1))
	if core.KindOf(err) != core.RateLimited || m.asked.Load() != 1 || !strings.Contains(core.HintOf(err), "5 minutes") {
		t.Errorf("asked %d times: %v, hint %q", m.asked.Load(), err, core.HintOf(err))
	}
}

func TestCancellingEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m, start := &model{fails: times(99, fail(core.RateLimited))}, time.Now()
		time.AfterFunc(20*time.Second, func() { cancel(core.ErrCancelled) })
		err := run(ctx, behind(m, 1))
		if core.KindOf(err) != core.Cancelled || !errors.Is(err, core.ErrCancelled) || time.Since(start) != 20*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{hold: time.Second}
		a, errs := behind(m, 3), make(chan error)
		for range 10 {
			go func() { errs <- run(t.Context(), a) }()
		}
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if m.most.Load() != 3 {
			t.Errorf("%d at once", m.most.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		full := behind(m, 1)
		places(t, full) <- struct{}{}
		time.AfterFunc(time.Second, cancel)
		if err := run(ctx, full); core.KindOf(err) != core.Cancelled {
			t.Errorf("waiting for a place: %v", err)
		}
	})
}

func TestLeavingTheSequenceFreesThePlace(t *testing.T) {
	t.Parallel()
	a := behind(&model{text: "half"}, 1)
	for range 3 {
		for range a.Stream(t.Context(), core.ChatRequest{}) {
			break
		}
	}
	if n := len(places(t, a)); n != 0 {
		t.Errorf("%d places taken", n)
	}
}

func TestAHurriedRequestIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	m := &model{fails: []error{(wire.Who{Provider: "vendor"}).Status(503, nil, []byte(`{"error":{"message":"The model is overloaded."}}`))}}
	var failed error
	for _, err := range behind(m, 1).Stream(t.Context(), core.ChatRequest{Hurried: true}) {
		failed = err
	}
	if core.KindOf(failed) != core.Unavailable || m.asked.Load() != 1 {
		t.Errorf("asked %d times, and %v", m.asked.Load(), failed)
	}
}
