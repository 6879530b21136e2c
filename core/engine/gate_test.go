package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// probe is a tool that keeps the arguments of every call that reached it.
type probe struct {
	mu    sync.Mutex
	calls []string
}

func (p *probe) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "probe",
		Description: "Notes that it ran.",
		Parameters:  []byte(`{"type":"object","properties":{"x":{"type":"string"}}}`),
	}
}

func (p *probe) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call.Arguments)
	return core.ToolResult{Text: "probed"}, nil
}

func (p *probe) ran() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.calls...)
}

func raw(name, arguments string) turn {
	return turn{deltas: []core.Delta{{Call: &core.CallDelta{ID: "call_" + name, Name: name, Arguments: arguments}}}}
}

func TestNoCallReachesItsToolPastTheGate(t *testing.T) {
	t.Parallel()
	search := map[string]any{"query": "x"}
	cases := map[string]struct {
		rules   []core.ToolRule
		answers []turn   // what the model calls, before it says that it is done
		ran     []string // the arguments that reached the tool
		refused []string // what the error returns say, in order
	}{
		"a call that nothing forbids": {answers: []turn{raw("probe", `{"x":"a"}`)}, ran: []string{`{"x":"a"}`}},
		"arguments that are no object": {
			answers: []turn{raw("probe", `["a"]`), raw("probe", `{"x":`)}, refused: []string{"not a JSON object", "not a JSON object"},
		},
		"another tool than the first": {
			rules: []core.ToolRule{
				{Type: core.RuleRunFirst, Tool: "conversation_search"},
			},
			answers: []turn{raw("probe", `{}`)},
			refused: []string{"must be called before"},
		},
		"no child of the last call": {
			rules: []core.ToolRule{
				{Type: core.RuleConstrainChild, Tool: "conversation_search", Children: []string{"conversation_search"}},
			},
			answers: []turn{calling("conversation_search", search), raw("probe", `{}`)},
			refused: []string{"Cannot call probe"},
		},
		"more often than allowed": {
			rules: []core.ToolRule{{Type: core.RuleMaxCount, Tool: "probe", MaxCount: 1}},
			answers: []turn{
				raw("probe", `{"x":"1"}`),
				raw("probe", `{"x":"2"}`),
			},
			ran:     []string{`{"x":"1"}`},
			refused: []string{"Cannot call probe"},
		},
		"arguments that a rule fills in": {
			rules: []core.ToolRule{
				{Type: core.RuleRunFirst, Tool: "probe", Args: map[string]any{"x": "ours"}},
			},
			answers: []turn{raw("probe", `{"x":"the model's"}`)},
			ran:     []string{`{"x":"ours"}`},
		},
		"an argument that the tool has not": {
			rules: []core.ToolRule{
				{Type: core.RuleRunFirst, Tool: "probe", Args: map[string]any{"y": "ours"}},
			},
			answers: []turn{raw("probe", `{}`)},
			refused: []string{"does not have"},
		},
	}
	for name, c := range cases {
		for _, effect := range []core.Effect{core.EffectOutside, core.EffectFacts} {
			t.Run(name+", "+string(effect), func(t *testing.T) {
				t.Parallel()
				tool := &probe{}
				h := open(t, func(n int, _ core.ChatRequest) turn {
					if n < len(c.answers) {
						return c.answers[n]
					}
					return say("done")
				}, func(cfg *engine.Config) {
					cfg.Tools = &box{
						cfg.Tools,
						core.BoundTool{Info: core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: effect, Spec: tool.Spec()}, Tool: tool},
					}
				})
				a := h.agent(func(a *core.Agent) { a.ToolRules = c.rules }, "probe", "conversation_search")
				run, events := h.send(a, "go")
				if run.Status != core.RunCompleted {
					t.Errorf("run %s %+v", run.Status, run.Error)
				}
				if diff := cmp.Diff(append([]string{}, c.ran...), tool.ran()); diff != "" {
					t.Errorf("what reached the tool (-want +got):\n%s", diff)
				}
				refused := errorReturns(events)
				if len(refused) != len(c.refused) {
					t.Fatalf("refused: %q, want %q", refused, c.refused)
				}
				for i, want := range c.refused {
					if !strings.Contains(refused[i], want) {
						t.Errorf("refusal %d is %q, want %q in it", i, refused[i], want)
					}
				}
			})
		}
	}
}

// errorReturns are the texts of the returns that are errors.
func errorReturns(events []core.Event) []string {
	var out []string
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok {
			for _, ret := range r.Returns {
				if ret.IsError {
					out = append(out, ret.Text)
				}
			}
		}
	}
	return out
}
