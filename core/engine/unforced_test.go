package engine_test

import (
	"testing"

	"loci/core"
)

func TestPlainWordsOfAModelThatCannotBeForcedAreItsMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forced bool
		answer turn
		said   string
		stop   core.StopReason
	}{
		"words alone":             {false, say("Hello there."), "Hello there.", core.StopEndTurn},
		"words of one that obeys": {true, say("Hello there."), "", core.StopNoToolCall},
		"through its tool":        {false, calling("send_message", map[string]any{"message": "Hi."}), "Hi.", core.StopEndTurn},
		"thoughts before its words": {
			false, turn{deltas: append([]core.Delta{{Reasoning: "hm"}}, say("Hello.").deltas...)}, "Hello.", core.StopEndTurn,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(int, core.ChatRequest) turn { return c.answer })
			a := h.agent(func(a *core.Agent) { a.Type = core.AgentMemGPTV2 }, "send_message")
			h.model.infos[a.Model] = core.ModelInfo{ContextWindow: 100_000, Tools: true, ForcedTools: c.forced}
			run, _ := h.submit(h.request(a, "hi"))
			if run.StopReason != c.stop {
				t.Errorf("it ended with %s", run.StopReason)
			}
			said := ""
			for _, m := range h.list(a) {
				if m.Role != core.RoleAssistant || m.Run != run.ID {
					continue
				}
				for _, part := range m.Parts(run.Config.Speak) {
					if part.Kind == core.PartAssistant {
						said += part.Text
					}
				}
			}
			if said != c.said {
				t.Errorf("said is %q, want %q", said, c.said)
			}
		})
	}
}
