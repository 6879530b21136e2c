package providers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/internal/wire"
	"loci/providers/providertest"
)

// fake is a built-in model.
type fake struct{}

func (fake) Stream(context.Context, core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) { yield(core.Delta{End: true, Finish: core.FinishStop}, nil) }
}

func env(vars map[string]string) core.Env {
	return func(name string) (core.Secret, bool) { v, ok := vars[name]; return core.Secret(v), ok }
}

// contacts records what was contacted.
type contacts struct {
	mu        sync.Mutex
	addresses []string
}

// patient waits for every answer to finish, so that slow answers on a busy machine count as answers.
type patient struct{ *http.Transport }

func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	return p.Transport.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
}

// resolver makes a resolver that reaches loopback servers of this test and nothing else.
func resolver(t *testing.T, d *contacts, servers ...*providertest.Server) *providers.Providers {
	t.Helper()
	allowed := []string{}
	for _, s := range servers {
		allowed = append(allowed, strings.TrimPrefix(s.URL, "http://"))
	}
	p := providers.New(
		providers.Config{
			Offline: fake{},
			HTTP: patient{wire.NewTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
				d.mu.Lock()
				d.addresses = append(d.addresses, address)
				d.mu.Unlock()
				if !slices.Contains(allowed, address) {
					return nil, errors.New("not in this test")
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			})},
		},
	)
	t.Cleanup(p.Close)
	return p
}

func TestHandlesThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	p := resolver(t, &contacts{})
	for handle, want := range map[core.Handle]core.Kind{
		"gpt-5": core.Invalid, "nobody/x": core.NotFound, "openai/gpt-5": core.Unauthenticated, "bedrock/gpt-5": core.Unsupported,
		"offline/other": core.NotFound,
	} {
		_, _, err := p.Chat(t.Context(), handle, env(map[string]string{"AZURE_API_KEY": "k"}))
		if core.KindOf(err) != want || core.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", handle, err, core.HintOf(err))
		}
	}
	if _, info, err := p.Chat(t.Context(), "openai/gpt-5", nil); err == nil || info.Handle != "openai/gpt-5" ||
		info.ContextWindow != 400_000 || info.MaxOutput != 128_000 {
		t.Errorf("what is known without a key: %+v %v", info, err)
	}
	if m, info, err := p.Chat(t.Context(), core.OfflineHandle, nil); err != nil || m != (fake{}) || !info.Offline || info.CacheTTL != 0 {
		t.Errorf("offline: %+v %v", info, err)
	}
}

func TestEveryBuiltRowAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range providers.Rows() {
		if row.Protocol == nil || wireOf(row) == "" {
			continue // its own package has the server that it speaks to
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			s := providertest.NewServer(t)
			s.Key = "the-key"
			s.Models = []providertest.Model{{Name: "vendor/some-model", Window: 20_000}}
			p := resolver(t, &contacts{}, s)
			vars := env(map[string]string{row.BaseURLVar: s.URL, row.KeyVars()[0]: "the-key"})
			handle := core.Handle(row.Name + "/vendor/some-model")
			model, info, err := p.Chat(t.Context(), handle, vars)
			if err != nil {
				t.Fatal(err)
			}
			wantWindow := 20_000
			if row.Name == "ollama" {
				wantWindow = 16_384
			}
			if info.Handle != handle || info.Name != "vendor/some-model" || info.Provider != row.Name || info.ContextWindow != wantWindow ||
				!info.Tools {
				t.Errorf("info %+v", info)
			}
			if diff := cmp.Diff(wireOf(row), conversation(t, s, model)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func wireOf(row providers.Row) providertest.Wire {
	switch {
	case row.Protocol.Name() == "ollama":
		return providertest.Ollama
	case row.Protocol.Name() == "anthropic":
		return providertest.Messages
	case row.Name == "azure": // it has deployments, and a header of its own
		return ""
	case row.Name == "google_vertex": // its key is a file
		return ""
	case row.Protocol.Name() == "gemini":
		return providertest.Generate
	case row.Protocol.Name() != "openai":
		return ""
	case row.Name == "xai":
		return providertest.Responses
	}
	return providertest.Chat
}

// conversation runs two steps with calls and one with text, and returns the wire they were asked on.
func conversation(t *testing.T, s *providertest.Server, model core.ChatModel) providertest.Wire {
	t.Helper()
	req := providertest.Ask("vendor/some-model", "CALL weather {\"city\":\"Oslo\"}\nCALL& clock {}\nCALL clock {}\nSAY done")
	for range 2 {
		a, err := providertest.Collect(t.Context(), t, model, req)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, providertest.Continue(a, "")...)
	}
	a, err := providertest.Collect(t.Context(), t, model, req)
	if err != nil || a.Text != "done" {
		t.Fatalf("text %q %v", a.Text, err)
	}
	return s.Last().Wire
}

// sent asks one row with a given request and returns the body that arrived.
func sent(t *testing.T, row string, req core.ChatRequest) map[string]any {
	t.Helper()
	s := providertest.NewServer(t)
	s.Script(providertest.Turn{Text: "ok"})
	p := resolver(t, &contacts{}, s)
	for _, r := range providers.Rows() {
		if r.Name != row {
			continue
		}
		model, _, err := p.Chat(
			t.Context(),
			core.Handle(row+"/"+req.Model),
			env(map[string]string{r.BaseURLVar: s.URL, r.KeyVars()[0]: "k"}),
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := providertest.Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
	}
	var body map[string]any
	if err := json.Unmarshal(s.Last().Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRowsKeepToWhatTheirServersTake(t *testing.T) {
	t.Parallel()
	type fields map[string]any // nil: absent
	named := map[string]any{"type": "function", "function": map[string]any{"name": "clock"}}
	for row, want := range map[string]fields{
		"openai": {"tool_choice": named, "max_tokens": 100.0, "prompt_cache_key": nil, "parallel_tool_calls": false},
		"openrouter": {
			"tool_choice": "required", "max_tokens": 100.0, "reasoning": map[string]any{"effort": "low"}, "prompt_cache_key": nil,
		},
		"deepseek": {"max_tokens": 100.0, "reasoning_effort": "low", "parallel_tool_calls": nil},
		"groq":     {"tool_choice": "required", "max_completion_tokens": 100.0, "max_tokens": nil, "reasoning_effort": "low"},
		"together": {"tool_choice": nil, "parallel_tool_calls": nil, "reasoning_effort": nil},
		"mistral":  {"tool_choice": "any", "stream_options": nil, "reasoning_effort": nil, "parallel_tool_calls": false},
		"cerebras": {"max_completion_tokens": 100.0, "tool_choice": "required"},
		"lmstudio": {"tool_choice": "required", "parallel_tool_calls": nil},
		"vllm":     {"tool_choice": named, "stream_options": map[string]any{"include_usage": true}},
		"sglang":   {"reasoning_effort": "low"},
		"llamacpp": {"tool_choice": "required", "parallel_tool_calls": false},
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			req := providertest.Ask("some-model", "x")
			req.Parallel, req.CacheKey, req.Choice = false, "conv-1", core.ToolChoice{Mode: core.ChoiceNamed, Name: "clock"}
			req.Settings.MaxOutputTokens, req.Settings.Temperature, req.Settings.ReasoningEffort = 100, new(0.5), "low"
			body := sent(t, row, req)
			for field, value := range want {
				if diff := cmp.Diff(value, body[field]); diff != "" {
					t.Errorf("%s: %s", field, diff)
				}
			}
			if body["temperature"] != 0.5 {
				t.Errorf("temperature %v", body["temperature"])
			}
			for _, never := range []string{"frequency_penalty", "presence_penalty", "logit_bias", "service_tier", "top_p", "n", "user"} {
				if v, ok := body[never]; ok {
					t.Errorf("%s %v was sent", never, v)
				}
			}
		})
	}
	if body := sent(t, "llamacpp", providertest.Ask("m", "x")); body["parallel_tool_calls"] != true {
		t.Error("llama.cpp was not told that several calls are welcome")
	}
	req := providertest.Ask("gpt-5-mini", "x")
	req.Settings.MaxOutputTokens, req.Settings.Temperature = 100, new(0.5)
	if body := sent(t, "openai", req); body["max_completion_tokens"] != 100.0 || body["temperature"] != nil {
		t.Errorf("a reasoning model behind a gateway was sent %v", body)
	}
}

func TestMistralGetsItsIDsAndNeverAUserAfterATool(t *testing.T) {
	t.Parallel()
	req := providertest.Ask("m", "x")
	req.Messages = append(req.Messages, providertest.Continue(providertest.Answer{Calls: []core.ToolCall{
		{ID: "call_0123456789abcdef", Name: "clock", Arguments: "{}"}, {ID: "AbCdEf123", Name: "clock", Arguments: "{}"},
	}}, "12:00")...)
	req.Messages = append(req.Messages, core.ChatMessage{Role: core.ChatReminder, Text: "now"})
	body := sent(t, "mistral", req)
	messages := body["messages"].([]any)
	var roles, ids []string
	for _, m := range messages {
		m := m.(map[string]any)
		roles = append(roles, m["role"].(string))
		if id, ok := m["tool_call_id"].(string); ok {
			ids = append(ids, id)
		}
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "tool", "tool", "assistant", "user"}, roles); diff != "" {
		t.Error(diff)
	}
	first := messages[2].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["id"]
	if len(ids) != 2 || len(ids[0]) != 9 || ids[0] != first || ids[1] != "AbCdEf123" {
		t.Errorf("ids %v, the call has %v", ids, first)
	}
}

func TestReasoningGoesBackOnlyWhereItIsWanted(t *testing.T) {
	t.Parallel()
	native := json.RawMessage(`{"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}]}`)
	for row, want := range map[string]map[string]any{
		"deepseek":   {"reasoning_content": "hm"},
		"vllm":       {"reasoning_content": "hm"},
		"openrouter": {"reasoning_details": []any{map[string]any{"type": "reasoning.text", "text": "hm", "signature": "s"}}},
		"groq":       {},
		"cerebras":   {},
		"mistral":    {},
	} {
		req := providertest.Ask("m", "x")
		req.Messages = append(
			req.Messages,
			providertest.Continue(
				providertest.Answer{
					Native:    native,
					Reasoning: "hm",
					Calls:     []core.ToolCall{{ID: "AbCdEf123", Name: "clock", Arguments: "{}"}},
				},
				"12:00",
			)...)
		turn := sent(t, row, req)["messages"].([]any)[2].(map[string]any)
		got := map[string]any{}
		for field, value := range turn {
			if strings.HasPrefix(field, "reasoning") {
				got[field] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", row, diff)
		}
	}
}

func TestNothingIsContactedThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	var d contacts
	p := resolver(t, &d)
	set := env(map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_ACCESS_KEY_ID": "k", "GROQ_API_KEY": " "})
	if diff := cmp.Diff(core.Reach{Failed: []string{"GROQ_API_KEY holds no usable key"}}, p.First(t.Context(), set)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"}, p.Unbuilt(set)); diff != "" {
		t.Error(diff)
	}
	if _, err := p.List(t.Context(), nil, core.ModelQuery{}); err != nil {
		t.Error(err)
	}
	for _, address := range d.addresses {
		if address != "127.0.0.1:11434" {
			t.Errorf("contacted %s", address)
		}
	}
	if len(d.addresses) == 0 {
		t.Error("the local Ollama was not looked for")
	}
}

func TestAProviderWithoutModelsIsNamedThoughAnotherLists(t *testing.T) {
	t.Parallel()
	lists := providertest.NewServer(t)
	lists.Models = []providertest.Model{{Name: "m"}, {Name: "m"}, {Name: "other"}}
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	for body, want := range map[string]string{
		`[]`: "lists no model: name one with --model", `{"data":{"a":1}}`: "answered something that is no list of models",
		`{"data":[{"id":"a"`:                     "answered something that is no list of models",
		`<html></html>`:                          "answered something that is no list of models",
		"":                                       "did not list its models",
		`{"error":{"message":"no key for you"}}`: "did not list its models: no key for you",
		`{"error":"out of order","data":[]}`:     "did not list its models: out of order",
		`{"object":"error","message":"the engine is dead"}`: "did not list its models: the engine is dead",
		`{"error":{"message":"Invalid API key: sk-no"}}`:    "wants a key: set OPENAI_API_KEY",
		`{"error":null,"data":[{"id":"text-embedding-one"}]}`: "lists 1 model, none for chats (text-embedding-one: its name " +
			"says embedding): loci models --all shows them, and any can be named with --model",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body == "" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		vars := env(map[string]string{"VLLM_BASE_URL": lists.URL, "OPENAI_BASE_URL": server.URL + "/v1"})
		silent := []string{"OPENAI_BASE_URL is set, but OpenAI at " + server.URL + "/v1 " + want}
		if diff := cmp.Diff(silent, p.Silent(t.Context(), vars)); diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
		var handles []core.Handle
		models, err := p.List(t.Context(), vars, core.ModelQuery{})
		for _, m := range models {
			if m.Provider == "vllm" {
				handles = append(handles, m.Handle)
			}
		}
		if diff := cmp.Diff([]core.Handle{"vllm/m", "vllm/other"}, handles); err != nil || diff != "" {
			t.Errorf("listed: %v, %s", err, diff)
		}
	}
}

func TestAModelWithoutToolsStillChats(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "tiny", NoTools: true, Window: 8192}}
	p := resolver(t, &contacts{}, s)
	model, info, err := p.Chat(t.Context(), "ollama/tiny", env(map[string]string{"OLLAMA_HOST": s.URL}))
	if err != nil || info.Tools {
		t.Fatalf("%+v %v", info, err)
	}
	req := providertest.Ask("tiny", "hello")
	req.Messages = append(
		req.Messages,
		providertest.Continue(
			providertest.Answer{Text: "Wait.", Calls: []core.ToolCall{{ID: "a", Name: "clock", Arguments: "{}"}}},
			"12:00",
		)...)
	req.Messages = append(req.Messages, core.ChatMessage{Role: core.ChatUser, Text: "and now?"})
	if a, err := providertest.Collect(t.Context(), t, model, req); err != nil || a.Text != "ECHO: and now?" {
		t.Fatalf("%q %v", a.Text, err)
	}
	want := []providertest.Message{
		{Role: "user", Text: "hello"},
		{Role: "assistant", Text: "Wait.\n(called clock with {})"},
		{Role: "user", Text: "<system-reminder>\nclock returned: 12:00\n</system-reminder>"},
		{Role: "user", Text: "and now?"},
	}
	if diff := cmp.Diff(want, s.Last().Messages); diff != "" || len(s.Last().Tools) != 0 {
		t.Errorf("tools %v %s", s.Last().Tools, diff)
	}
}

func TestAKeyIsInNoErrorAndNoLog(t *testing.T) {
	t.Parallel()
	const key = "sk-secret-abcdef0123456789"
	s := providertest.NewServer(t)
	s.Key = "another"
	var logged bytes.Buffer
	p := providers.New(providers.Config{Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	t.Cleanup(p.Close)
	vars := env(map[string]string{"OPENAI_BASE_URL": s.V1(), "OPENAI_API_KEY": key, "OLLAMA_HOST": s.URL, "OLLAMA_API_KEY": key})
	for _, handle := range []core.Handle{"openai/m", "ollama/m"} {
		model, info, err := p.Chat(t.Context(), handle, vars)
		if err != nil {
			t.Fatal(err)
		}
		_, err = providertest.Collect(t.Context(), t, model, providertest.Ask("m", "x"))
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.Unauthenticated || strings.Contains(err.Error()+e.Hint, key) {
			t.Errorf("%s: %v", handle, err)
		}
		if strings.Contains(info.Endpoint, key) {
			t.Errorf("endpoint %q", info.Endpoint)
		}
	}
	if _, err := p.List(t.Context(), vars, core.ModelQuery{}); err != nil {
		t.Error(err)
	}
	if logged.Len() == 0 || strings.Contains(logged.String(), key) {
		t.Errorf("the log holds the key or nothing: %s", logged.String())
	}
}

func TestAWrongKeyNamesItsVariable(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Key = "right"
	p := resolver(t, &contacts{}, s)
	model, _, err := p.Chat(t.Context(), "groq/m", env(map[string]string{"GROQ_API_KEY": "wrong-key", "GROQ_BASE_URL": s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = providertest.Collect(t.Context(), t, model, providertest.Ask("m", "x")); core.HintOf(err) != "check GROQ_API_KEY" {
		t.Errorf("%v, hint %q", err, core.HintOf(err))
	}
}

func TestReasoningThatIsRefusedIsLeftOutOnce(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Reply = func(req providertest.Request) providertest.Turn {
		if strings.Contains(string(req.Body), "sealed") {
			return providertest.Turn{
				Fail: &providertest.Fail{
					Status:  400,
					Code:    "invalid_encrypted_content",
					Message: "The encrypted content could not be verified.",
				},
			}
		}
		return providertest.Turn{Text: "fine"}
	}
	p := resolver(t, &contacts{}, s)
	model, _, err := p.Chat(t.Context(), "xai/grok-4", env(map[string]string{"XAI_API_KEY": "k", "XAI_BASE_URL": s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	req := providertest.Ask("grok-4", "x")
	native := json.RawMessage(
		`{"items":[{"type":"reasoning","encrypted_content":"sealed"},{"type":"function_call","call_id":"a",` +
			`"name":"clock","arguments":"{}"}]}`,
	)
	req.Messages = append(
		req.Messages,
		providertest.Continue(
			providertest.Answer{Native: native, Calls: []core.ToolCall{{ID: "a", Name: "clock", Arguments: "{}"}}},
			"12:00",
		)...)
	if a, err := providertest.Collect(t.Context(), t, model, req); err != nil || a.Text != "fine" {
		t.Errorf("%q %v", a.Text, err)
	}
	if n := len(s.Requests()); n != 2 || req.Messages[1].Native == nil {
		t.Errorf("%d requests; the caller's request was changed: %v", n, req.Messages[1].Native == nil)
	}
}
