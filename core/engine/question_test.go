package engine_test

import (
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// A question of the agent's waits as every approval does, and what a person says to it is its return.
func TestAQuestionWaitsAndItsAnswerIsItsReturn(t *testing.T) {
	t.Parallel()
	said := core.ToolReturn{CallID: "call_ask", Text: "blue, said the program"}
	for name, tt := range map[string]struct {
		decision engine.Decision
		want     string
	}{
		"a choice":         {deny("call_ask", "blue"), "The person answered: blue"},
		"no answer":        {deny("call_ask", ""), "did not answer"},
		"left to it":       {approve("call_ask"), "leaves it to you"},
		"a program's word": {engine.Decision{Decision: core.Decision{CallID: "call_ask", Return: &said}}, "blue, said the program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []core.PermissionMode{core.ModeAsk, core.ModePlan, core.ModeAll, core.ModeStandard} {
				h, a := asking(t)
				req := h.request(a, "go")
				req.Client.Mode = mode
				if run, _ := h.submit(req); run.StopReason != core.StopRequiresApproval {
					t.Fatalf("%s: the run ended %s", mode, run.StopReason)
				}
				answer := h.request(a, "")
				answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{tt.decision}}
				answer.Client.Mode = mode
				_, events := h.submit(answer)
				if !strings.Contains(returned(events)["call_ask"], tt.want) || len(errorReturns(events)) > 0 {
					t.Errorf("%s: %q", mode, returned(events))
				}
			}
		})
	}
}

func TestAQuestionThatNobodyIsThereToAnswerEndsNoRun(t *testing.T) {
	t.Parallel()
	h, a := asking(t)
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Unattended = core.ModeAsk, true
	run, events := h.submit(req)
	if run.StopReason != core.StopEndTurn || !strings.Contains(returned(events)["call_ask"], "Nobody is there to be asked") {
		t.Errorf("%s: %q", run.StopReason, returned(events))
	}
}

// asking has an agent whose model asks something first.
func asking(t *testing.T) (*house, core.Agent) {
	t.Helper()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("ask", map[string]any{
				"question": "Red or blue?", "options": []map[string]any{{"label": "red"}, {"label": "blue", "description": "calm"}},
			})
		}
		return say("done")
	})
	return h, h.agent(nil, "ask")
}
