package engine_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"loci/core"
)

// told are the kinds of a run's events that matter for the order of a compaction.
func told(events []core.Event) []string {
	var out []string
	for _, ev := range events {
		var kind string
		switch ev.Body.(type) {
		case core.Said:
			kind = "said"
		case core.Saved:
			kind = "saved"
		case core.ToolReturned:
			kind = "returned"
		case core.Compacting:
			kind = "compacting"
		case core.Summary:
			kind = "summary"
		case core.Stop:
			kind = "stop"
		default:
			continue
		}
		if len(out) == 0 || out[len(out)-1] != kind {
			out = append(out, kind)
		}
	}
	return out
}

// reporting answers with a usage that the provider made up: the texts are short.
func reporting(total *atomic.Int64) func(int, core.ChatRequest) turn {
	return summarising(func(n int, req core.ChatRequest) turn {
		answer, all := say("fine"), int(total.Load())
		if last := req.Messages[len(req.Messages)-1]; strings.Contains(last.Text, "remember") {
			answer = calling("memory_insert", map[string]any{"label": "human", "new_string": "x"})
		}
		answer.usage = &core.Usage{Prompt: all - 10, Completion: 10, Total: all}
		return answer
	})
}

func lastOf[T any](all []T) T { return all[len(all)-1] }

func summarising(answer func(int, core.ChatRequest) turn) func(int, core.ChatRequest) turn {
	return func(n int, req core.ChatRequest) turn {
		if asksForSummary(req) {
			return say("They said hello.")
		}
		return answer(n, req)
	}
}

func TestAStepThatFilledTheWindowIsFollowedByACompaction(t *testing.T) {
	t.Parallel()
	total := new(atomic.Int64)
	total.Store(20)
	h := open(t, reporting(total))
	small(h, 10_000)
	a := h.agent(nil, "memory_insert")
	hello := strings.Repeat("hello ", 100)
	for range 3 {
		_, events := h.send(a, hello)
		if got := told(events); !slices.Equal(got, []string{"said", "saved", "stop"}) {
			t.Fatalf("a window that is nearly empty was told as %v", got)
		}
	}
	total.Store(9000)
	if _, events := h.send(a, hello); slices.Contains(told(events), "summary") {
		t.Error("nine tenths of the window are not more than nine tenths")
	}
	total.Store(9001)
	run, events := h.send(a, hello)
	if got := told(events); !slices.Equal(got, []string{"said", "saved", "compacting", "summary", "stop"}) {
		t.Errorf("told as %v", got)
	}
	if run.Status != core.RunCompleted || run.StopReason != core.StopEndTurn {
		t.Errorf("ended as %s, %s", run.Status, run.StopReason)
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case core.Compacting:
			if b.Tokens != 9001 {
				t.Errorf("a window of %d tokens by the provider's count is told as one of %d", total.Load(), b.Tokens)
			}
		case core.Summary: // what is left is on the same scale
			if s := b.Stats; s.TokensBefore != 9001 || s.TokensAfter < 1000 || s.TokensAfter >= 9001 {
				t.Errorf("the summary's counts are %+v", s)
			}
		default:
		}
	}
	total.Store(20)
	h.send(a, "and now?")
	if n := len(lastOf(h.model.sent()).Messages); n >= 11 {
		t.Errorf("the next turn sent %d messages", n)
	}
}

func TestACompactionComesBetweenTheStepsOfATurn(t *testing.T) {
	t.Parallel()
	total := new(atomic.Int64)
	total.Store(20)
	h := open(t, reporting(total))
	small(h, 10_000)
	a := h.agent(nil, "memory_insert")
	h.send(a, "hello")
	h.send(a, "hello")
	total.Store(9500)
	_, events := h.send(a, "remember this")
	got := told(events)
	if i := slices.Index(
		got,
		"summary",
	); i < 0 || !slices.Equal(got[:i+1], []string{"saved", "returned", "compacting", "summary"}) ||
		got[i+1] != "said" {
		t.Errorf("told as %v", got)
	}
}

// TestWhoComesWhileTheWindowIsMadeSmallerWaits submits while the summary of a finished run is written.
func TestWhoComesWhileTheWindowIsMadeSmallerWaits(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	total := new(atomic.Int64)
	total.Store(20)
	usual := reporting(total)
	h := open(t, func(n int, req core.ChatRequest) turn {
		if asksForSummary(req) {
			close(begun)
			return turn{deltas: []core.Delta{{Text: "They said hello."}}, gate: goOn}
		}
		return usual(n, req)
	})
	small(h, 10_000)
	a := h.agent(nil)
	h.send(a, "hello")
	h.send(a, "hello")
	total.Store(9500)
	plain := func(text string) (core.Run, error) {
		req := h.request(a, text)
		req.Queue = false
		return h.engine.Submit(t.Context(), req)
	}
	first, err := plain("fill it")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	total.Store(20)
	if run, err := h.store.Runs().Get(t.Context(), first.ID); err != nil || run.Status != core.RunCompleted {
		t.Errorf("while the summary is written the run is %s, %v", run.Status, err)
	}
	second, err := plain("next")
	if err != nil {
		t.Fatalf("a request that may not wait behind a run: %v", err)
	}
	_, err = plain("third")
	if core.KindOf(err) != core.Busy {
		t.Errorf("behind one that waits: %v", err)
	}
	close(goOn)
	for _, id := range []core.RunID{first.ID, second.ID} {
		_, events := h.follow(id)
		if got := told(events); got[len(got)-1] != "stop" {
			t.Errorf("%s is told as %v", id, got)
		}
	}
}
