package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loci/core"
)

// lastReturn is what the newest call returned to the model.
func lastReturn(req core.ChatRequest) string {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != core.ChatTool {
		return ""
	}
	var packed struct{ Message string }
	if json.Unmarshal([]byte(last.Returns[len(last.Returns)-1].Text), &packed) != nil {
		return "?"
	}
	return packed.Message
}

func TestAModelLooksWideAndThenAroundWhatItFound(t *testing.T) {
	t.Parallel()
	const question = "How many times did I swim?"
	type line struct{ ID, Content string }
	var lines []line
	var talk string
	h := open(t, func(_ int, req core.ChatRequest) turn {
		switch ret := lastReturn(req); {
		case !strings.Contains(req.Messages[len(req.Messages)-1].Text, question) && ret == "":
			return say("Well done.")
		case ret == "":
			return calling("conversation_search", map[string]any{"query": "swim", "limit": 50, "order": "time", "roles": []string{"user"}})
		case lines == nil:
			var found struct{ Results []struct{ Messages []line } }
			if err := json.Unmarshal([]byte(ret), &found); err != nil {
				t.Errorf("%v: %s", err, ret)
				return say("?")
			}
			for _, r := range found.Results {
				lines = append(lines, r.Messages...)
			}
			return calling("conversation_search", map[string]any{"around": lines[1].ID, "limit": 2})
		default:
			talk = ret
			return say(fmt.Sprintf("%d times.", len(lines)))
		}
	})
	a := h.agent(func(a *core.Agent) { a.Terminal = true })
	for i := range 4 {
		h.send(a, fmt.Sprintf("Today I swam %d lengths.", i+1))
		h.send(a, fmt.Sprintf("Dinner was soup number %d.", i+1))
	}
	run, _ := h.send(a, question)
	if run.Status != core.RunCompleted {
		t.Fatalf("%s %+v", run.StopReason, run.Error)
	}
	swims := 0
	for _, l := range lines {
		if strings.Contains(l.Content, "swam") {
			if swims++; !strings.Contains(l.Content, fmt.Sprintf("swam %d", swims)) {
				t.Errorf("out of order: %+v", lines)
			}
		}
	}
	if swims != 4 || !strings.Contains(talk, `"Well done."`) || strings.Contains(talk, question) {
		t.Errorf("%d found; around the second: %s", swims, talk)
	}
}

func TestOnlyTheTerminalsAgentsAreOfferedMoreArguments(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("Hello.") })
	for _, terminal := range []bool{false, true} {
		h.send(h.agent(func(a *core.Agent) { a.Terminal = terminal }), "Hi.")
		sent := h.model.sent()
		for _, tool := range sent[len(sent)-1].Tools {
			more := strings.Contains(string(tool.Parameters), `"order"`)
			if strings.HasSuffix(tool.Name, "_search") && more != terminal {
				t.Errorf("of the terminal: %t, %s takes %s", terminal, tool.Name, tool.Parameters)
			}
		}
	}
}
