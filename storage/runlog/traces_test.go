package runlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// trace is the n-th trace of a run, with a body that packs badly.
func trace(run core.RunID, n int) *core.Trace {
	t := &core.Trace{
		ID:     core.NewTraceID(),
		Charge: core.Charge{Agent: "agent-1", Run: run, Step: core.StepID(fmt.Sprint(run, "-step-", n)), For: core.ForStep},
		Model:  "v/m", Attempt: n, At: time.UnixMicro(int64(n)).UTC(), Status: 200, Method: "POST", URL: "http://h/v1",
	}
	t.Request.Body, t.Response.Body = `{"a":"<ä>"}`, strings.Repeat(string(t.ID), 10)
	return t
}

// numbers are those of a run's traces.
func numbers(t *testing.T, l *Log, run core.RunID) (out []int) {
	t.Helper()
	all, err := l.Traces().List(t.Context(), core.TraceQuery{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		out = append(out, one.Attempt)
	}
	return out
}

func TestTracesAreFoundByRunAndStep(t *testing.T) {
	t.Parallel()
	l := openLog(t)
	first, second := trace("run-1", 1), trace("run-1", 2)
	for _, one := range []*core.Trace{second, first, trace("run-2", 3)} {
		if err := l.Traces().Put(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		q    core.TraceQuery
		want []core.Trace
	}{
		{core.TraceQuery{Run: "run-1"}, []core.Trace{*first, *second}},
		{core.TraceQuery{Step: second.Step}, []core.Trace{*second}},
		{core.TraceQuery{}, []core.Trace{}},
		{core.TraceQuery{Run: "run-9"}, []core.Trace{}},
	} {
		got, err := l.Traces().List(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.q, diff)
		}
	}
}

func TestTracesGoByAgeAndThenTheOldest(t *testing.T) {
	t.Parallel()
	l := openLog(t)
	for n := range 10 {
		if err := l.Traces().Put(t.Context(), trace("run-1", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Traces().Expire(t.Context(), time.UnixMicro(4), 1<<20); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{4, 5, 6, 7, 8, 9}, numbers(t, l, "run-1")); diff != "" {
		t.Error(diff)
	}
	var each int64
	if err := l.f.Read.Get(t.Context(), &each, `SELECT MAX(bytes) FROM traces`); err != nil {
		t.Fatal(err)
	}
	if err := l.Traces().Expire(t.Context(), time.UnixMicro(4), 2*each); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{8, 9}, numbers(t, l, "run-1")); diff != "" {
		t.Error(diff)
	}
	if err := l.Traces().Expire(t.Context(), time.UnixMicro(0), 0); err != nil || len(numbers(t, l, "run-1")) != 0 {
		t.Error("without room some are kept", err)
	}
}

func TestTracesOutliveTheEventsOfTheirRunButNotTheRunNorForgetting(t *testing.T) {
	t.Parallel()
	l := openLog(t)
	for _, run := range []core.RunID{"run-1", "run-2", "run-3"} {
		stop := core.Event{Run: run, Seq: 1, At: time.Unix(1, 0), Body: core.Stop{Reason: core.StopEndTurn, Status: core.RunCompleted}}
		if err := l.Append(t.Context(), stop); err != nil {
			t.Fatal(err)
		}
		if err := l.Traces().Put(t.Context(), trace(run, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Expire(t.Context(), time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, l, "run-1"); len(got) != 1 {
		t.Error("gone with the events")
	}
	if err := l.DeleteRun(t.Context(), "run-1"); err != nil {
		t.Fatal(err)
	}
	if len(numbers(t, l, "run-1")) != 0 || len(numbers(t, l, "run-2")) != 1 {
		t.Error("a run that was deleted has traces, or another has none")
	}
	if err := l.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(numbers(t, l, "run-2")) != 0 {
		t.Error("a text that was forgotten may stand in a trace")
	}
}
