package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
)

func TestOfCallsThatNobodyWantedAtOnceOnlyTheFirstCounts(t *testing.T) {
	t.Parallel()
	no := false
	for name, tt := range map[string]struct {
		change func(*core.Agent)
		want   int // calls that are listed
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
			if len(asked.Calls) != 2 || len(answered.Returns) != 2 || asked.Native == nil {
				t.Fatalf("%d calls with %d returns are sent, with %v", len(asked.Calls), len(answered.Returns), asked.Native)
			}
			r := answered.Returns[1]
			if r.CallID != "call_b" || r.IsError != (tt.want == 1) || r.IsError != strings.Contains(r.Text, "Only the first call") {
				t.Errorf("the second call returns %+v", r)
			}
			h.listed(agent, tt.want)
		})
	}
}

// listed checks how many calls and returns a list of the messages shows.
func (h *house) listed(agent core.Agent, want int) {
	h.t.Helper()
	all, err := h.store.Messages().List(h.t.Context(), core.MessageFilter{Agent: agent.ID, IncludeErr: true}, core.Page{Limit: 100})
	if err != nil {
		h.t.Fatal(err)
	}
	calls, returns := 0, 0
	for i := range all {
		for _, p := range all[i].Parts(core.Speak{}) {
			calls, returns = calls+len(p.Calls), returns+len(p.Returns)
		}
	}
	if calls != want || returns != want {
		h.t.Errorf("%d calls and %d returns are listed, want %d", calls, returns, want)
	}
}

func TestADroppedCallCountsForNoRule(t *testing.T) {
	t.Parallel()
	keep := func(index int, id string) core.Delta {
		args, _ := json.Marshal(map[string]any{"label": "human", "new_string": "Likes " + id + "."})
		return core.Delta{Call: &core.CallDelta{Index: index, ID: id, Name: "memory_insert", Arguments: string(args)}}
	}
	var last core.ChatRequest
	h := open(t, func(n int, req core.ChatRequest) turn {
		last = req
		switch n {
		case 0:
			return turn{deltas: []core.Delta{keep(0, "call_a"), keep(1, "call_b"), keep(2, "call_c")}}
		case 1:
			return turn{deltas: []core.Delta{keep(0, "call_d"), keep(1, "call_e")}}
		}
		return say("done")
	})
	agent := h.agent(func(a *core.Agent) {
		a.ToolRules = []core.ToolRule{{Type: core.RuleMaxCount, Tool: "memory_insert", MaxCount: 2}}
	}, "memory_insert")
	run, events := h.send(agent, "hello")
	got := returned(events)
	if run.StopReason != core.StopEndTurn || len(got) != 2 || strings.Contains(got["call_a"]+got["call_d"], "Error") {
		t.Fatalf("the run ended %s with %+v", run.StopReason, got)
	}
	answersAll(t, &last)
	h.listed(agent, 2)
}

// answersAll checks that no call of a request stays without its return.
func answersAll(t *testing.T, req *core.ChatRequest) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		for _, r := range m.Returns {
			delete(open, r.CallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("without a return: %v", open)
	}
}

func TestADroppedCallIsAnsweredBehindAnApprovalAndARestart(t *testing.T) {
	t.Parallel()
	no := false
	both := probing("a")
	both.deltas = append(both.deltas, core.Delta{
		Call: &core.CallDelta{Index: 7, ID: "call_second", Name: "free", Arguments: `{"x":"b"}`},
	})
	for name, decide := range map[string]func(call string) engine.Decision{
		"approved": approve, "denied": func(call string) engine.Decision { return deny(call, "no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGated(t, core.EffectOutside, func(a *core.Agent) { a.Settings.ParallelTools = &no }, both)
			asked := g.asked("go")
			if len(asked.Calls()) != 1 {
				t.Fatalf("%+v wait", asked.Calls())
			}
			g.restart()
			_, events := g.submit(g.answer(decide(asked.Calls()[0].ID)))
			if got := returned(events); len(got) != 1 || len(g.free.ran()) > 0 {
				t.Errorf("returns %v, and the second ran: %v", got, g.free.ran())
			}
			g.listed(g.agent, 1)
			g.model.mu.Lock()
			last := g.model.requests[len(g.model.requests)-1]
			g.model.mu.Unlock()
			answersAll(t, &last)
			if calls := last.Messages[len(last.Messages)-2].Calls; len(calls) != 2 {
				t.Errorf("%+v are sent", calls)
			}
		})
	}
}
