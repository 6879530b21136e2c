package providers_test

import (
	"fmt"
	"strings"
	"testing"

	"loci/core"
	"loci/core/request"
	"loci/providers/providertest"
)

// thread is a conversation as it is stored.
type thread struct{ rows []core.InContext }

func (th *thread) add(m core.Message) { th.rows = append(th.rows, core.InContext{Message: m}) }

func (th *thread) user(text string) {
	th.add(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(text)}})
}

// answered stores an answer of a model and, unless they were interrupted, the returns of its calls.
func (th *thread) answered(a providertest.Answer, info core.ModelInfo, interrupted bool) {
	m := core.Message{Role: core.RoleAssistant}
	if a.Reasoning != "" {
		m.Content = append(m.Content, core.Content{Type: core.ContentReasoning, Text: a.Reasoning})
	}
	if a.Text != "" {
		m.Content = append(m.Content, core.Text(a.Text))
	}
	returns := core.Message{Role: core.RoleTool}
	for _, c := range a.Calls {
		m.Content = append(m.Content, core.Content{Type: core.ContentCall, Call: &c})
		returns.Returns = append(returns.Returns, core.ToolReturn{CallID: c.ID, Name: c.Name, Text: "done"})
	}
	if a.Native != nil {
		m.Native = &core.Native{Provider: info.Provider, Endpoint: info.Endpoint, Model: info.Name, Prefix: "p", Data: a.Native}
	}
	th.add(m)
	if len(a.Calls) > 0 && !interrupted {
		th.add(returns)
	}
}

func TestAThreadStaysValidWhenItsModelIsSwitched(t *testing.T) {
	t.Parallel()
	handles := []core.Handle{
		"openai/gpt-4o", "openai/gpt-5-mini", "anthropic/claude-opus-5-5", "anthropic/claude-haiku-4-5", "ollama/qwen3",
		"gemini/gemini-3.8-flash", "google_ai/gemini-2.5-pro",
	}
	for _, first := range handles {
		for _, second := range handles {
			t.Run(fmt.Sprint(first, " and ", second), func(t *testing.T) {
				t.Parallel()
				switched(t, first, second)
			})
		}
	}
}

// switched talks to one model, to another and to the first again: several calls with reasoning, calls of one id in each
// answer, and a call that was interrupted.
func switched(t *testing.T, first, second core.Handle) {
	t.Helper()
	s := providertest.NewServer(t)
	s.Models = append(providertest.ClaudeModels(), providertest.GeminiModels()...)
	s.Models = append(s.Models, providertest.Model{Name: "qwen3", Window: 32_768, Thinking: true})
	p := resolver(t, &contacts{}, s)
	vars := env(map[string]string{
		"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": s.V1(), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": s.URL,
		"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": s.URL,
		"OLLAMA_HOST": strings.TrimPrefix(s.URL, "http://"),
	})
	calls := func(a, b string) []providertest.Call {
		return []providertest.Call{
			{ID: a, Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: b, Name: "clock", Arguments: `{"city":"Ås"}`},
		}
	}
	var th thread
	for turn, handle := range []core.Handle{first, second, first} {
		chat, info, err := p.Chat(t.Context(), handle, vars)
		if err != nil {
			t.Fatal(err)
		}
		s.Script(
			providertest.Turn{Reasoning: "Think of both.", Text: "Both.", Calls: calls("functions.weather:0", "call_0")},
			providertest.Turn{Reasoning: "And once more.", Calls: calls("call_0", "call_1")},
			providertest.Turn{Reasoning: "Enough.", Text: "Done."},
			providertest.Turn{Calls: calls("call_0", "call_1")}, // interrupted
		)
		th.user(fmt.Sprint("turn ", turn))
		for step := range 4 {
			if step == 3 {
				th.user("again")
			}
			parts := request.Parts{
				Model: info.Name, Info: info, System: "Be brief.", Tools: providertest.Ask("", "").Tools, Parallel: true, Prefix: "p",
				Conversation: "conv-1", Rows: th.rows,
			}
			parts.Settings.ReasoningEffort = "high"
			a, err := providertest.Collect(t.Context(), t, chat, parts.Request())
			if err != nil {
				t.Fatalf("turn %d of %s, step %d: %v", turn, handle, step, err)
			}
			th.answered(a, info, step == 3)
		}
	}
	if n, asked := s.Refusals(), len(s.Requests()); n > 0 || asked != 12 {
		t.Errorf("%d requests were refused, %d taken", n, asked)
	}
	for _, r := range s.Requests() {
		if r.Dropped > 0 {
			t.Errorf("thinking was dropped: %s", r.Body)
		}
	}
}
