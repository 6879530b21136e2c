package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/compact"
	"loci/core/engine"
)

// overview checks that the parts add up and returns it.
func (h *house) overview(a core.Agent) engine.Overview {
	h.t.Helper()
	o, err := h.engine.Overview(h.t.Context(), core.DefaultConversation(a.ID), nil, core.ModelInfo{})
	if err != nil {
		h.t.Fatal(err)
	}
	if sum := o.System + o.Memory + o.Directories + o.Rules + o.Facts + o.Tools + o.Summary + o.Messages; sum != o.Current {
		h.t.Errorf("the parts add up to %d of %+v", sum, o)
	}
	return o
}

func TestTheOverviewIsOfTheRequestThatIsSent(t *testing.T) {
	t.Parallel()
	for _, mode := range []compact.Mode{compact.SlidingWindow, compact.StaticBuffer, compact.Evict} {
		for _, tools := range []bool{true, false} {
			if !tools && mode != compact.SlidingWindow {
				continue // as with that one
			}
			t.Run(fmt.Sprint(mode, "/", tools), func(t *testing.T) {
				t.Parallel()
				h := open(t, summariser(func(int) turn { return say("They spoke of herons.") }), withDump)
				h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 5000, Tools: tools, CacheTTL: time.Hour}
				a := h.agent(func(a *core.Agent) {
					a.ToolRules = []core.ToolRule{{Type: core.RuleConstrainChild, Tool: "dump", Children: []string{"dump"}}}
					a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(mode)}}
				}, "memory_insert", "conversation_search", "dump")
				shrunk, hidden := 0, 0
				for i := range 16 {
					if i%5 == 2 { // announced by a hidden record
						h.edit(a, "human", fmt.Sprint("edit ", i))
					}
					before, sent := h.overview(a), len(h.model.sent())
					run, events := h.send(a, fmt.Sprint("turn ", i, strings.Repeat(" and words", 150)))
					compacted, input, entered := h.told(events, before, run)
					hidden += input - 1
					after := h.overview(a)
					if last, ok := events[len(events)-2].Body.(core.UsageReport); !ok || last.Context != after.Current {
						t.Errorf("turn %d: its end tells of %d tokens, the overview of %d", i, last.Context, after.Current)
					}
					if compacted {
						shrunk++
						continue
					}
					h.asSent(i, before, h.model.sent()[sent], entered)
				}
				if shrunk == 0 || hidden == 0 {
					t.Errorf("%d compactions, %d hidden records: the test does not cover it", shrunk, hidden)
				}
				if last := h.overview(
					a,
				); (last.Summary > 0) != (mode != compact.Evict) || (last.Tools > 0) != tools || last.Memory == 0 ||
					last.Facts == 0 {
					t.Errorf("at last %+v", last)
				}
			})
		}
	}
}

// told checks what a run said of its window against the overview before it, and reports whether it was compacted, and how
// many records and tokens its input was.
func (h *house) told(events []core.Event, before engine.Overview, run core.Run) (compacted bool, input, entered int) {
	h.t.Helper()
	rows, err := h.store.Messages().Context(h.t.Context(), run.Conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		if r.Message.Run == run.ID && r.Message.Role == core.RoleUser && r.Message.Hidden != core.HiddenMarker {
			entered += r.Message.Tokens
			input++
		}
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case core.Compacting:
			compacted = true
			// An announcement of what the new prompt shows leaves again.
			if b.Tokens < before.Current+entered || b.Tokens > before.Current+entered+200 {
				h.t.Errorf("compacted at %d tokens, of which the input %d and the overview %d", b.Tokens, entered, before.Current)
			}
		case core.Notice:
			compacted = compacted || b.Kind == "evicted"
		default: // of the answer
		}
	}
	return compacted, input, entered
}

// asSent compares an overview with the request that came next, whose input has so many tokens.
func (h *house) asSent(i int, o engine.Overview, req core.ChatRequest, input int) {
	h.t.Helper()
	if diff := cmp.Diff(o.SystemText, req.System); diff != "" {
		h.t.Errorf("turn %d: the prompt (-overview +sent):\n%s", i, diff)
	}
	if n := core.EstimateTokens(req.System); n != o.System+o.Memory+o.Directories+o.Rules+o.Facts {
		h.t.Errorf("turn %d: the prompt has %d tokens: %+v", i, n, o)
	}
	if diff := cmp.Diff(o.ToolSpecs, req.Tools); diff != "" {
		h.t.Errorf("turn %d: the tools (-overview +sent):\n%s", i, diff)
	}
	if len(req.Tools) > 0 {
		schema, err := json.Marshal(req.Tools)
		if err != nil {
			h.t.Fatal(err)
		}
		if n := core.EstimateTokens(string(schema)); n != o.Tools {
			h.t.Errorf("turn %d: the tools have %d tokens, not %d", i, n, o.Tools)
		}
	}
	for _, text := range []string{o.MemoryText, o.RulesText, o.Stored} {
		if text != "" && !strings.Contains(req.System, text) {
			h.t.Errorf("turn %d: a part is not in the prompt: %s", i, text)
		}
	}
	texts := 0
	for _, m := range req.Messages {
		texts += core.EstimateTokens(m.Text)
		for _, r := range m.Returns {
			texts += core.EstimateTokens(r.Text)
		}
	}
	if all := o.Summary + o.Messages + input; all > texts+60*len(req.Messages) || all < texts/2 {
		h.t.Errorf("turn %d: %d messages of %d tokens, the overview has %d", i, len(req.Messages), texts, all)
	}
}
