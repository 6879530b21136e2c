package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestALegacyAgentSpeaksThroughATool(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if req.Choice.Mode != core.ChoiceRequired {
			panic("a call was not forced")
		}
		if n == 0 {
			return calling(
				"memory_insert",
				map[string]any{"thinking": "I note it.", "label": "human", "new_string": "Ada", "request_heartbeat": true},
			)
		}
		return calling("send_message", map[string]any{"thinking": "I greet \"her\".", "message": "Héllo Ada\n— welcome"})
	})
	a := h.agent(
		func(a *core.Agent) { a.Type = core.AgentMemGPTV2 },
		"send_message",
		"memory_insert",
		"memory_replace",
		"conversation_search",
	)
	run, events := h.send(a, "I am Ada")
	if run.Status != core.RunCompleted || run.StopReason != core.StopEndTurn {
		t.Fatalf("run %s %s %+v", run.Status, run.StopReason, run.Error)
	}
	if got := said(events); got != "Héllo Ada\n— welcome" {
		t.Errorf("said %q", got)
	}
	streamed := partsOfStream(events)
	listed := map[string]string{}
	for _, m := range h.list(a) {
		if m.Run != run.ID || m.Role == core.RoleUser {
			continue
		}
		for _, p := range m.Parts(core.DefaultSpeak) {
			listed[p.OTID] = string(p.Kind) + " " + p.Text + callsText(p.Calls)
		}
	}
	if diff := cmp.Diff(listed, streamed); diff != "" {
		t.Errorf("listed against streamed (-list +stream):\n%s", diff)
	}
	second := h.model.sent()[1]
	call := second.Messages[len(second.Messages)-3].Calls
	if len(call) != 1 || !strings.HasPrefix(call[0].Arguments, `{"thinking":"I note it."`) {
		t.Errorf("the call is replayed as %+v", call)
	}
}

// partsOfStream joins the deltas of a stream by otid, in the form that lists have.
func partsOfStream(events []core.Event) map[string]string {
	out := map[string]string{}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case core.Said:
			if out[ev.OTID] == "" {
				out[ev.OTID] = string(core.PartAssistant) + " "
			}
			out[ev.OTID] += b.Text
		case core.Reasoning:
			if out[ev.OTID] == "" {
				out[ev.OTID] = string(core.PartReasoning) + " "
			}
			out[ev.OTID] += b.Text
		case core.ToolCallDelta:
			if out[ev.OTID] == "" {
				out[ev.OTID] = string(core.PartCalls) + " "
			}
			out[ev.OTID] += b.Name + b.Arguments
		case core.ToolReturned:
			out[ev.OTID] = string(core.PartReturns) + " "
		default: // has no part
		}
	}
	return out
}

func callsText(calls []core.ToolCall) string {
	s := ""
	for _, c := range calls {
		s += c.Name + c.Arguments
	}
	return s
}

func TestStreamAndListNumberThePartsAlike(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n > 0 {
			return say("done")
		}
		return turn{deltas: []core.Delta{
			{Reasoning: "I should "},
			{Reasoning: "search."},
			{Text: "Let me see. "},
			{Call: &core.CallDelta{Index: 0, ID: "a", Name: "conversation_search", Arguments: `{"query":`}},
			{Call: &core.CallDelta{Index: 0, Arguments: `"x"}`}},
			{Text: "And more."},
			{Call: &core.CallDelta{Index: 1, ID: "b", Name: "archival_memory_search", Arguments: `{"query":"y"}`}},
			{Call: &core.CallDelta{Index: 2, ID: "c", Name: "conversation_search"}},
			{Reasoning: "Last thought."},
		}}
	})
	a := h.agent(nil)
	run, events := h.send(a, "go")
	listed := map[string]string{}
	for _, m := range h.list(a) {
		if m.Run == run.ID && m.Role != core.RoleUser {
			for _, p := range m.Parts(core.DefaultSpeak) {
				listed[p.OTID] = string(p.Kind) + " " + p.Text + callsText(p.Calls)
			}
		}
	}
	if diff := cmp.Diff(listed, partsOfStream(events)); diff != "" {
		t.Errorf("(-list +stream):\n%s", diff)
	}
	if len(listed) != 7 {
		t.Errorf("%d parts, want reasoning, text, calls, text, reasoning, returns and the answer", len(listed))
	}
}

func TestAModelThatCannotCallToolsStillChats(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		if len(req.Tools) > 0 {
			panic("tools were offered")
		}
		return say("plain words")
	})
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 8000}
	for _, kind := range []core.AgentType{core.AgentLettaV1, core.AgentMemGPTV2} {
		a := h.agent(func(a *core.Agent) { a.Type = kind })
		if run, events := h.send(a, "hi"); run.Status != core.RunCompleted || said(events) != "plain words" {
			t.Errorf("%s: %s %s, said %q", kind, run.Status, run.StopReason, said(events))
		}
	}
}
