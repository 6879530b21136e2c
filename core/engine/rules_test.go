package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// The tests of this file are the numbered rules of the concurrency model, one each or more.

// waitFor follows a run until it has said something, and returns.
func (h *house) waitFor(id core.RunID, want func(core.Event) bool) core.Event {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	for ev, err := range h.engine.Follow(ctx, id, 0) {
		if err != nil {
			h.t.Fatalf("follow: %v", err)
		}
		if want(ev) {
			return ev
		}
	}
	h.t.Fatal("the run ended before the event came")
	return core.Event{}
}

func isSaid(ev core.Event) bool { _, ok := ev.Body.(core.Said); return ok }

func TestRule1AnAcceptedRunBelongsToTheEngineNotToTheRequest(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "done"}}, gate: gate} })
	a := h.agent(nil)
	ctx, cancel := context.WithCancel(t.Context())
	run, err := h.engine.Submit(ctx, h.request(a, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	cancel() // the client is gone
	stored, err := h.store.Runs().Get(t.Context(), run.ID)
	if err != nil || len(stored.Input) != 1 || stored.Input[0].PlainText() != "hello" {
		t.Fatalf("the accepted run is not stored with its input: %+v, %v", stored, err)
	}
	if got := len(h.list(a)); got != 1 {
		t.Errorf("%d messages before the step succeeded, want the system message only", got)
	}
	close(gate)
	if run, _ := h.follow(run.ID); run.Status != core.RunCompleted {
		t.Errorf("run ended %s", run.Status)
	}
}

func TestRule1AFailedFirstStepLeavesTheConversationAsItWas(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		err := core.E(core.RateLimited, "too many requests")
		err.Provider = true
		return turn{err: err}
	})
	a := h.agent(nil)
	run, events := h.send(a, "hello")
	if run.Status != core.RunFailed || run.StopReason != core.StopLLMAPIError || run.Error.Type != "llm_rate_limit" || run.Delivered {
		t.Fatalf("run %s %s %+v delivered=%v", run.Status, run.StopReason, run.Error, run.Delivered)
	}
	if got := roles(h.list(a)); len(got) != 1 {
		t.Errorf("messages %v, want the system message only", got)
	}
	if run.Input[0].PlainText() != "hello" {
		t.Error("the input is not readable on the run")
	}
	if _, ok := events[0].Body.(core.UserInput); !ok {
		t.Errorf("the log opens with %T", events[0].Body)
	}
}

func TestRule2CancelKeepsWhatWasShown(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn {
		return turn{
			deltas: []core.Delta{
				{Text: "Once upon "},
				{Text: "a time"},
				{Call: &core.CallDelta{ID: "c1", Name: "memory_insert", Arguments: `{"label":"hu`}},
			},
			gate: never,
		}
	})
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "a story"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, func(ev core.Event) bool { _, ok := ev.Body.(core.ToolCallDelta); return ok })
	begun := time.Now()
	if err := h.engine.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second { // left to itself, it would never end
		t.Errorf("cancelling took %s", took)
	}
	got, events := h.follow(run.ID)
	if got.Status != core.RunCancelled || got.StopReason != core.StopCancelled {
		t.Errorf("run %s %s", got.Status, got.StopReason)
	}
	msgs := h.list(a)
	if diff := cmp.Diff([]core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant}, roles(msgs)); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	if got := msgs[2]; got.PlainText() != "Once upon a time" || len(got.Calls()) != 0 {
		t.Errorf("kept %+v", got.Content)
	}
	if said(events) != msgs[2].PlainText() {
		t.Errorf("shown %q, kept %q", said(events), msgs[2].PlainText())
	}
}

func TestRule2CancelBeforeAnythingWasShownKeepsTheInputOnTheRun(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	asked := make(chan struct{}, 1)
	h := open(t, func(int, core.ChatRequest) turn { asked <- struct{}{}; return turn{gate: never} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := h.engine.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	got, _ := h.follow(run.ID)
	if got.Status != core.RunCancelled || got.Delivered || len(h.list(a)) != 1 {
		t.Errorf("run %s, delivered %v, %d messages", got.Status, got.Delivered, len(h.list(a)))
	}
}

func TestRule2CancelReachesAQueuedRunAtOnce(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	first, err := h.engine.Submit(t.Context(), h.request(a, "first"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.engine.Submit(t.Context(), h.request(a, "second"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.engine.Cancel(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	if run, _ := h.follow(second.ID); run.Status != core.RunCancelled {
		t.Errorf("the queued run is %s", run.Status)
	}
	close(gate)
	if run, _ := h.follow(first.ID); run.Status != core.RunCompleted {
		t.Errorf("the first run is %s", run.Status)
	}
}

func TestRule3OnlyTheLaneChangesAConversation(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "first"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	err = h.reset(core.DefaultConversation(a.ID), false)
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.Busy || e.Run != run.ID {
		t.Errorf("reset while running: %v", err)
	}
	b := h.block(a, "human")
	b.Value = "edited by a person"
	if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
		t.Errorf("a block edit waits for nobody: %v", err)
	}
	close(gate)
	h.follow(run.ID)
	if err := h.reset(core.DefaultConversation(a.ID), false); err != nil {
		t.Fatal(err)
	}
	if got := roles(h.list(a)); len(got) != 1 {
		t.Errorf("after reset %v", got)
	}
}

func TestRule3ARequestThatMayNotWaitIsBusyAndNamesTheRun(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "first"))
	if err != nil {
		t.Fatal(err)
	}
	req := h.request(a, "second")
	req.Queue = false
	_, err = h.engine.Submit(t.Context(), req)
	if core.KindOf(err) != core.Busy || !strings.Contains(err.Error(), string(run.ID)) {
		t.Errorf("got %v", err)
	}
	close(gate)
	h.follow(run.ID)
}

func TestRule4NothingIsSeenBeforeItIsInTheLogAndWholeMessagesAreFacts(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "x"})
		}
		return say("all done here")
	})
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "go"))
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for ev, err := range h.engine.Follow(t.Context(), run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq <= last {
			t.Errorf("seq %d after %d", ev.Seq, last)
		}
		in, err := h.store.Events().Read(t.Context(), run.ID, last, 1)
		if err != nil || len(in) != 1 || in[0].Seq != ev.Seq {
			t.Errorf("event %d is not in the log", ev.Seq)
		}
		last = ev.Seq
		switch b := ev.Body.(type) {
		case core.Saved:
			for _, id := range b.Messages {
				if _, err := h.store.Messages().Get(t.Context(), id); err != nil {
					t.Errorf("announced message %s is no fact: %v", id, err)
				}
			}
		case core.ToolReturned:
			if _, err := h.store.Messages().Get(t.Context(), ev.Message); err != nil {
				t.Errorf("announced return %s is no fact: %v", ev.Message, err)
			}
		case core.Stop:
			if r, err := h.store.Runs().Get(t.Context(), run.ID); err != nil || !r.Status.Final() {
				t.Errorf("the run stopped before its end was a fact: %s %v", r.Status, err)
			}
		default: // announces no fact
		}
	}
}

func TestRule5ASlowReaderLagsAndLosesNothing(t *testing.T) {
	t.Parallel()
	const n = 1000
	h := open(t, func(int, core.ChatRequest) turn {
		var out turn
		for i := range n {
			out.deltas = append(out.deltas, core.Delta{Text: fmt.Sprintf("%d ", i)})
		}
		return out
	})
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "count"))
	if err != nil {
		t.Fatal(err)
	}
	slow := make(chan struct{})
	got := make(chan string)
	go func() {
		var text strings.Builder
		for ev, err := range h.engine.Follow(t.Context(), run.ID, 0) {
			if err != nil {
				break
			}
			if s, ok := ev.Body.(core.Said); ok {
				text.WriteString(s.Text)
				<-slow // reads one event, then waits until the writer is done
			}
		}
		got <- text.String()
	}()
	h.follow(run.ID) // the writer finished although a reader stands still
	close(slow)
	if text := <-got; text != h.list(a)[2].PlainText() {
		t.Errorf("the slow reader got %d bytes of %d", len(text), len(h.list(a)[2].PlainText()))
	}
}

func TestRule6WhatTheLogLostIsReplayedFromTheFacts(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "x"})
		}
		return say("the whole answer in some words")
	})
	a := h.agent(nil)
	run, whole := h.send(a, "go")
	for keep := range len(whole) { // the log lost its end: every length
		if err := h.store.Events().DeleteRun(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		if err := h.store.Events().Append(t.Context(), whole[:keep]...); err != nil {
			t.Fatal(err)
		}
		_, again := h.follow(run.ID)
		if got, want := said(again), said(whole); got != want {
			t.Errorf("with %d events kept: said %q, want %q", keep, got, want)
		}
		if got, want := arguments(again), arguments(whole); got != want {
			t.Errorf("with %d events kept: arguments %q, want %q", keep, got, want)
		}
		stops(t, again)
		if keep < len(whole)-1 && again[len(again)-1].Seq <= core.AttemptSpan {
			t.Errorf("replayed events are numbered %d, want beyond the attempt", again[len(again)-1].Seq)
		}
	}
}

func arguments(events []core.Event) string {
	out := ""
	for _, ev := range events {
		if c, ok := ev.Body.(core.ToolCallDelta); ok {
			out += c.Arguments
		}
	}
	return out
}

func TestRule6AnOldRunIsGoneAndStillReadableFromItsFacts(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("hello") })
	a := h.agent(nil)
	run, _ := h.send(a, "hi")
	h.later(4 * time.Hour)
	if err := h.store.Events().DeleteRun(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	for _, err := range h.engine.Follow(t.Context(), run.ID, 0) {
		if core.KindOf(err) != core.Gone {
			t.Errorf("follow: %v, want gone", err)
		}
	}
	events, err := h.engine.Facts(t.Context(), run.ID)
	if err != nil || said(events) != "hello" {
		t.Errorf("facts say %q, %v", said(events), err)
	}
	stops(t, events)
}

func TestRule12ARepeatIsNotASecondRun(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	req := h.request(a, "once")
	req.Once, req.Background = true, true
	req.Input[0].OTID = "11111111-1111-4111-8111-111111111111"
	first, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.engine.Submit(t.Context(), req)
	if err != nil || again.ID != first.ID {
		t.Errorf("the repeat made run %s (%v), want %s", again.ID, err, first.ID)
	}
	close(gate)
	h.follow(first.ID)
	after, err := h.engine.Submit(t.Context(), req)
	if err != nil || after.ID != first.ID {
		t.Errorf("a repeat after the end made run %s (%v), want %s", after.ID, err, first.ID)
	}
	if n := len(h.list(a)); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestRule12ARequestThatSavedNothingMayBeMadeAgain(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			e := core.E(core.Unavailable, "down")
			e.Provider = true
			return turn{err: e}
		}
		return say("up again")
	})
	a := h.agent(nil)
	req := h.request(a, "once")
	req.Once = true
	req.Input[0].OTID = "11111111-1111-4111-8111-111111111111"
	first, _ := h.submit(req)
	second, _ := h.submit(req)
	if first.ID == second.ID || second.Status != core.RunCompleted {
		t.Errorf("first %s %s, second %s %s", first.ID, first.Status, second.ID, second.Status)
	}
}

func TestRule13AFullLaneIsBusy(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(
		t,
		func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} },
		func(c *engine.Config) { c.MaxQueue = 2 },
	)
	a := h.agent(nil)
	var runs []core.Run
	for i := range 3 {
		run, err := h.engine.Submit(t.Context(), h.request(a, fmt.Sprint("message ", i)))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	if _, err := h.engine.Submit(t.Context(), h.request(a, "one too many")); core.KindOf(err) != core.Busy ||
		!strings.Contains(err.Error(), "2 messages wait") {
		t.Errorf("got %v, want busy with how many wait", err)
	}
	close(gate)
	var order []string
	for _, run := range runs {
		h.follow(run.ID)
	}
	for _, m := range h.list(a) {
		if m.Role == core.RoleUser {
			order = append(order, m.PlainText())
		}
	}
	if diff := cmp.Diff([]string{"message 0", "message 1", "message 2"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
