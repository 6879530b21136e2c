package engine_test

import (
	"encoding/json"
	"testing"

	"loci/core"
)

func TestOfCallsThatNobodyWantedAtOnceOnlyTheFirstCounts(t *testing.T) {
	t.Parallel()
	no := false
	for name, tt := range map[string]struct {
		change func(*core.Agent)
		want   int // calls
	}{
		"nothing forbids them":    {func(*core.Agent) {}, 2},
		"the agent's settings do": {func(a *core.Agent) { a.Settings.ParallelTools = &no }, 1},
		"a rule about order does": {func(a *core.Agent) {
			a.ToolRules = []core.ToolRule{{Type: core.RuleContinueLoop, Tool: "memory_insert"}}
		}, 1},
		"a rule of approval doesn't": {func(a *core.Agent) {
			a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "memory_replace"}}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep := func(index int, id, text string) core.Delta {
				args, _ := json.Marshal(map[string]any{"label": "human", "new_string": text})
				return core.Delta{Call: &core.CallDelta{Index: index, ID: id, Name: "memory_insert", Arguments: string(args)}}
			}
			var second core.ChatRequest
			h := open(t, func(n int, req core.ChatRequest) turn {
				if n == 0 {
					return turn{deltas: []core.Delta{
						keep(0, "call_a", "Likes tea."), keep(1, "call_b", "Likes cake."), {Native: json.RawMessage(`{"items":["both"]}`)},
					}}
				}
				second = req
				return say("done")
			})
			agent := h.agent(tt.change, "memory_insert", "memory_replace")
			run, events := h.send(agent, "hello")
			if got := len(returned(events)); run.StopReason != core.StopEndTurn || got != tt.want {
				t.Fatalf("the run ended %s with %d returns, want %d", run.StopReason, got, tt.want)
			}
			n := len(second.Messages)
			asked, answered := second.Messages[n-2], second.Messages[n-1]
			if len(asked.Calls) != tt.want || len(answered.Returns) != tt.want {
				t.Errorf("%d calls with %d returns are sent, want %d", len(asked.Calls), len(answered.Returns), tt.want)
			}
			if native := asked.Native != nil; native != (tt.want == 2) {
				t.Errorf("the provider's own form, with both calls, is sent again: %v", native)
			}
		})
	}
}
