package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestAPlainTurnIsSavedAnnouncedAndEnds(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("Hello there, Ada.") })
	a := h.agent(nil)
	run, events := h.send(a, "hi")
	if run.Status != core.RunCompleted || run.StopReason != core.StopEndTurn || !run.Delivered {
		t.Fatalf("run ended %s %s, delivered %v, error %v", run.Status, run.StopReason, run.Delivered, run.Error)
	}
	if got := said(events); got != "Hello there, Ada." {
		t.Errorf("said %q", got)
	}
	if diff := cmp.Diff([]core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant}, roles(h.list(a))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	req := h.model.sent()[0]
	if len(req.Messages) != 1 || !strings.HasPrefix(req.Messages[0].Text, "[Friday 2026-11-20 09:00") ||
		!strings.HasSuffix(req.Messages[0].Text, "\nhi") {
		t.Errorf("sent %+v", req.Messages)
	}
	if last := events[len(events)-1]; last.Body != (core.Stop{Reason: core.StopEndTurn, Status: core.RunCompleted}) {
		t.Errorf("last event %+v", last)
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{})
	if err != nil || len(steps) != 1 || steps[0].StopReason != core.StopEndTurn {
		t.Errorf("the steps are %+v, %v", steps, err)
	}
}

func TestEverythingSavedIsAnnouncedAndTheFactsTellWhatTheLogTold(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Her name is Ada."})
		}
		return say("Noted.")
	})
	a := h.agent(nil)
	run, events := h.send(a, "My name is Ada")
	announced := map[core.MessageID]bool{}
	for _, ev := range events {
		if saved, ok := ev.Body.(core.Saved); ok {
			for _, id := range saved.Messages {
				announced[id] = true
			}
		}
		if _, ok := ev.Body.(core.ToolReturned); ok {
			announced[ev.Message] = true
		}
	}
	for _, m := range h.list(a) {
		if m.Run == run.ID && !announced[m.ID] {
			t.Errorf("the %s message %q is saved and not announced", m.Role, m.PlainText())
		}
	}
	facts, err := h.engine.Facts(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(events []core.Event) []string { // a call comes in other pieces, and what is saved in other groups
		return slices.DeleteFunc(kinds(events), func(kind string) bool { return kind == "core.ToolCallDelta" || kind == "core.Saved" })
	}
	if diff := cmp.Diff(whole(events), whole(facts)); diff != "" {
		t.Errorf("the facts tell something else (-log +facts):\n%s", diff)
	}
}

func TestAMemoryEditReachesTheModelWithoutChangingASentByte(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Her name is Ada."})
		}
		return say("Noted.")
	})
	a := h.agent(nil)
	run, events := h.send(a, "My name is Ada")
	if run.Status != core.RunCompleted {
		t.Fatalf("run %+v", run)
	}
	if got := h.block(a, "human").Value; !strings.Contains(got, "Her name is Ada.") {
		t.Errorf("block holds %q", got)
	}
	returned := 0
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok {
			returned++
			if r.Returns[0].IsError {
				t.Errorf("return is an error: %s", r.Returns[0].Text)
			}
		}
	}
	if returned != 1 {
		t.Errorf("%d returns announced", returned)
	}
	h.send(a, "again")
	reqs := h.model.sent()
	for i := 1; i < len(reqs); i++ {
		prefixHolds(t, i, reqs[i-1], reqs[i])
	}
	if strings.Contains(reqs[2].System, "Her name is Ada.") {
		t.Error("the pin moved although the cache is warm")
	}
}

// prefixHolds checks that system, tools and messages of a request begin with those of the one before.
func prefixHolds(t *testing.T, i int, before, after core.ChatRequest) {
	t.Helper()
	if before.System != after.System {
		t.Errorf("request %d: the system text changed", i)
	}
	if diff := cmp.Diff(before.Tools, after.Tools); diff != "" {
		t.Errorf("request %d: tools changed:\n%s", i, diff)
	}
	if len(after.Messages) < len(before.Messages) {
		t.Fatalf("request %d: %d messages after %d", i, len(after.Messages), len(before.Messages))
	}
	if diff := cmp.Diff(before.Messages, after.Messages[:len(before.Messages)]); diff != "" {
		t.Errorf("request %d: sent messages changed:\n%s", i, diff)
	}
}
