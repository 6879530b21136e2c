package engine_test

import (
	"context"
	"slices"
	"testing"

	"loci/core"
)

// The tests of this file are the numbered rules of the concurrency model, one each or more.

// stops checks that there is exactly one terminal event, and that it is the last.
func stops(t *testing.T, events []core.Event) {
	t.Helper()
	n := 0
	for _, ev := range events {
		if _, ok := ev.Body.(core.Stop); ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d terminal events", n)
		return
	}
	if _, ok := events[len(events)-1].Body.(core.Stop); !ok {
		t.Errorf("the last event is %T", events[len(events)-1].Body)
	}
}

func TestAnAnswerThatIsNotWholeIsSaidWhereTheStopReasonDoesNot(t *testing.T) {
	t.Parallel()
	half := func(finish core.Finish) turn { t := say("half"); t.finish = finish; return t }
	cutCall := func(_ int, req core.ChatRequest) turn {
		if req.Messages[len(req.Messages)-1].Role != core.ChatUser {
			return say("done")
		}
		t := calling("conversation_search", map[string]any{"query": "x"})
		t.finish = core.FinishLength
		return t
	}
	for name, c := range map[string]struct {
		answer func(int, core.ChatRequest) turn
		want   []string
	}{
		"whole":         {func(int, core.ChatRequest) turn { return half(core.FinishStop) }, nil},
		"cut":           {func(int, core.ChatRequest) turn { return half(core.FinishLength) }, nil}, // the stop reason
		"filtered":      {func(int, core.ChatRequest) turn { return half(core.FinishFiltered) }, []string{"filtered"}},
		"refused":       {func(int, core.ChatRequest) turn { return half(core.FinishRefused) }, []string{"refused"}},
		"cut in a call": {cutCall, []string{"cut"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, c.answer)
			_, events := h.send(h.agent(nil, "conversation_search"), "go")
			var got []string
			for _, ev := range events {
				if n, ok := ev.Body.(core.Notice); ok && n.Kind != "model" {
					got = append(got, n.Kind)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("notices %v, want %v", got, c.want)
			}
		})
	}
}

func TestRule8EveryEndHasExactlyOneTerminalEvent(t *testing.T) {
	t.Parallel()
	provider := func(k core.Kind) error { e := core.E(k, "refused"); e.Provider = true; return e }
	cases := map[string]struct {
		answer func(n int, req core.ChatRequest) turn
		change func(*core.Agent)
		want   core.StopReason
		steps  int
	}{
		"end of turn": {answer: func(int, core.ChatRequest) turn { return say("hi") }, want: core.StopEndTurn},
		"model error": {
			answer: func(int, core.ChatRequest) turn { return turn{err: provider(core.Unavailable)} },
			want:   core.StopLLMAPIError,
		},
		"no credit": {
			answer: func(int, core.ChatRequest) turn { return turn{err: provider(core.NoCredit)} },
			want:   core.StopNoCredits,
		},
		"empty answer": {answer: func(int, core.ChatRequest) turn { return turn{} }, want: core.StopInvalidLLMResponse},
		"cut off": {
			answer: func(int, core.ChatRequest) turn { t := say("half"); t.finish = core.FinishLength; return t },
			want:   core.StopMaxTokensExceeded,
		},
		"too many steps": {
			answer: func(int, core.ChatRequest) turn { return calling("conversation_search", map[string]any{"query": "x"}) },
			want:   core.StopMaxSteps,
			steps:  3,
		},
		"forced, no call": {
			answer: func(int, core.ChatRequest) turn { return say("plain") },
			change: func(a *core.Agent) { a.Type = core.AgentMemGPTV2 },
			want:   core.StopNoToolCall,
		},
		"exit rule": {
			answer: func(int, core.ChatRequest) turn { return calling("conversation_search", map[string]any{"query": "x"}) },
			change: func(a *core.Agent) {
				a.ToolRules = []core.ToolRule{{Type: core.RuleExitLoop, Tool: "conversation_search"}}
			}, want: core.StopToolRule,
		},
		"a model that panics": {answer: func(int, core.ChatRequest) turn { panic("boom") }, want: core.StopError},
		"stream breaks": {answer: func(int, core.ChatRequest) turn {
			return turn{deltas: []core.Delta{{Text: "half"}}, err: provider(core.Unavailable)}
		}, want: core.StopLLMAPIError},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, c.answer)
			a := h.agent(c.change)
			req := h.request(a, "go")
			req.Config.MaxSteps = c.steps
			run, events := h.submit(req)
			stops(t, events)
			stops(t, h.log(run.ID)) // followers leave at the first one
			if run.StopReason != c.want || run.Status != c.want.Status() {
				t.Errorf("run ended %s %s (%+v), want %s", run.Status, run.StopReason, run.Error, c.want)
			}
			steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range steps {
				if s.Status == core.StepPending {
					t.Errorf("step %d is still pending", s.Number)
				}
			}
			// The agent can be talked to at once.
			if h.engine.Idle() != true {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if err := h.engine.Cancel(ctx, run.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRule9WaitingForOneselfIsAnAnswerNotAHang(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a, b := h.agent(nil), h.agent(nil)
	first, err := h.engine.Submit(t.Context(), h.request(a, "ask b"))
	if err != nil {
		t.Fatal(err)
	}
	toB := h.request(b, "ask a")
	toB.Chain = first.Chain
	second, err := h.engine.Submit(t.Context(), toB)
	if err != nil {
		t.Fatal(err)
	}
	back := h.request(a, "and back")
	back.Chain = second.Chain
	if _, err := h.engine.Submit(t.Context(), back); core.KindOf(err) != core.Conflict {
		t.Errorf("a request that its own chain waits for: %v", err)
	}
	close(gate)
	h.follow(first.ID)
	h.follow(second.ID)
}
