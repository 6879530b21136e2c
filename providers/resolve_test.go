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
	"testing/synctest"
	"time"

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
		"gpt-5": core.Invalid, "nobody/x": core.NotFound, "openai/gpt-5": core.Unauthenticated, "anthropic/claude": core.Unsupported,
		"offline/other": core.NotFound,
	} {
		_, _, err := p.Chat(t.Context(), handle, env(map[string]string{"ANTHROPIC_API_KEY": "k"}))
		if core.KindOf(err) != want || core.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", handle, err, core.HintOf(err))
		}
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

func TestAddressesAreToldApartWithoutBeingKept(t *testing.T) {
	t.Parallel()
	p := resolver(t, &contacts{})
	mine := p.Moved(env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "OLLAMA_HOST": "gpu.local"}))
	same := p.Moved(
		env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000", "OPENAI_API_KEY": "k", "OLLAMA_HOST": "http://gpu.local:11434/"}),
	)
	other := p.Moved(env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8001", "OLLAMA_HOST": "nowhere at all"}))
	if diff := cmp.Diff(mine, same); diff != "" || len(mine) != 2 {
		t.Errorf("one address in two spellings (-one +other):\n%s", diff)
	}
	if len(other) != 1 || other["openai"] == mine["openai"] {
		t.Errorf("another address: %q, was %q", other, mine)
	}
	for name, digest := range mine {
		if strings.Contains(digest, "gpu") || strings.Contains(digest, "8000") {
			t.Errorf("the address of %s is kept: %s", name, digest)
		}
	}
	for _, vars := range []map[string]string{{}, {"OPENAI_API_KEY": "k"}, {"OPENAI_BASE_URL": "https://api.openai.com/v1"}} {
		if at := p.Moved(env(vars)); len(at) > 0 {
			t.Errorf("%v moves %q", vars, at)
		}
	}
}

func TestNothingIsContactedThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	var d contacts
	p := resolver(t, &d)
	set := env(map[string]string{"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "GROQ_API_KEY": " "})
	if diff := cmp.Diff(core.Reach{Failed: []string{"GROQ_API_KEY holds no usable key"}}, p.First(t.Context(), set)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY"}, p.Unbuilt(set)); diff != "" {
		t.Error(diff)
	}
	if _, err := p.List(t.Context(), nil); err != nil {
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

func TestListShowsChatModelsInOrderAndOfflineLast(t *testing.T) {
	t.Parallel()
	s, local := providertest.NewServer(t), providertest.NewServer(t)
	s.Models = []providertest.Model{
		{Name: "text-embedding-3-small"},
		{Name: "llama-guard"},
		{Name: "plain", NoTools: true},
		{Name: "other", Window: 9000},
		{Name: "openai/gpt-oss-120b"},
	}
	local.Models = []providertest.Model{
		{Name: "nomic-embed", Embed: true},
		{Name: "tiny:latest", NoTools: true, Window: 2048},
		{Name: "qwen3", Thinking: true, Window: 40960, Running: 32768},
	}
	p := resolver(t, &contacts{}, s, local)
	vars := env(map[string]string{"GROQ_API_KEY": "k", "GROQ_BASE_URL": s.URL, "OLLAMA_HOST": strings.TrimPrefix(local.URL, "http://")})
	list, err := p.List(t.Context(), vars)
	if err != nil {
		t.Fatal(err)
	}
	var got, hidden []string
	list = slices.DeleteFunc(list, func(m core.ModelInfo) bool {
		if m.Hidden != "" {
			hidden = append(hidden, string(m.Handle)+": "+m.Hidden)
		}
		return m.Hidden != ""
	})
	for _, m := range list {
		got = append(got, string(m.Handle))
	}
	why := []string{
		"groq/text-embedding-3-small: its name says embedding",
		"ollama/nomic-embed: its capabilities are embedding, not completion",
	}
	if diff := cmp.Diff(why, hidden); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]string{
			"groq/openai/gpt-oss-120b",
			"groq/other",
			"groq/llama-guard",
			"groq/plain",
			"ollama/qwen3",
			"ollama/tiny:latest",
			"offline/loci",
		},
		got,
	); diff != "" {
		t.Error(diff)
	}
	if m := list[4]; m.ContextWindow != 32768 || !m.Reasoning || !m.Tools || m.ForcedTools {
		t.Errorf("qwen3: %+v", m)
	}
	if m := list[5]; m.ContextWindow != 2048 || m.Tools {
		t.Errorf("tiny: %+v", m)
	}
	before := s.Listings()
	if _, _, err := p.Chat(t.Context(), "groq/other", vars); err != nil || s.Listings() != before {
		t.Errorf("the listing was fetched again: %v", err)
	}
}

func TestTheFirstModelIsThatOfTheFirstReachableProvider(t *testing.T) {
	t.Parallel()
	custom, local := providertest.NewServer(t), providertest.NewServer(t)
	custom.Models = []providertest.Model{{Name: "no-tools", NoTools: true}, {Name: "with-tools"}}
	local.Models = []providertest.Model{{Name: "llama", NoTools: true, Window: 8192}}
	down := providertest.Start()
	down.Close()
	for name, c := range map[string]struct {
		vars map[string]string
		want core.Handle
	}{
		"a custom server, tools first": {
			map[string]string{"OPENAI_BASE_URL": custom.V1(), "OPENAI_API_KEY": "k", "OLLAMA_HOST": local.URL}, "openai/with-tools",
		},
		"a custom server needs no key": {map[string]string{"OPENAI_BASE_URL": custom.V1()}, "openai/with-tools"},
		"an unreachable provider is passed over": {
			map[string]string{"OPENAI_BASE_URL": down.V1(), "OPENAI_API_KEY": "k", "OLLAMA_HOST": local.URL}, "ollama/llama",
		},
		"tools before order": {map[string]string{"OLLAMA_HOST": local.URL, "VLLM_BASE_URL": custom.URL}, "vllm/with-tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := resolver(t, &contacts{}, custom, local, down)
			found := p.First(t.Context(), env(c.vars))
			if !found.OK || found.Info.Handle != c.want ||
				!strings.Contains(found.Because, "; it is asked on this machine, at 127.0.0.1:") {
				t.Errorf("got %+v, want %q", found, c.want)
			}
		})
	}
}

func TestWhatIsSetUpAndDoesNotWorkIsNamed(t *testing.T) {
	t.Parallel()
	keyed, empty := providertest.NewServer(t), providertest.NewServer(t)
	keyed.Key, empty.Models = "right", []providertest.Model{}
	mute := providertest.NewServer(t)
	mute.Models = []providertest.Model{{Name: "text-embedding-3-small"}, {Name: "dall-e-3"}}
	down := providertest.Start()
	down.Close()
	for want, vars := range map[string]map[string]string{
		"OPENAI_API_KEY is set, but OpenAI at " + keyed.V1() + " refused it": {
			"OPENAI_BASE_URL": keyed.V1(), "OPENAI_API_KEY": "wrong",
		},
		"OPENAI_BASE_URL is set, but OpenAI at " + keyed.V1() + " wants a key": {"OPENAI_BASE_URL": keyed.V1()},
		"GROQ_API_KEY is set, but Groq at " + down.V1() + " cannot be reached": {
			"GROQ_BASE_URL": down.V1(), "GROQ_API_KEY": "k",
		},
		"VLLM_BASE_URL is set, but vLLM at " + empty.V1() + " lists no model: name one with --model": {"VLLM_BASE_URL": empty.URL},
		"OPENAI_BASE_URL is not the address of a server": {
			"OPENAI_BASE_URL": "nowhere", "OPENAI_API_KEY": "k",
		},
		"VLLM_BASE_URL is set, but vLLM at " + mute.V1() + " lists 2 models, none for chats (text-embedding-3-small: " +
			"its name says embedding): " +
			"loci models --all shows them, and any can be named with --model": {"VLLM_BASE_URL": mute.URL},
	} {
		found := resolver(t, &contacts{}, keyed, empty, mute, down).First(t.Context(), env(vars))
		if diff := cmp.Diff(core.Reach{Failed: []string{want}}, found); diff != "" {
			t.Error(diff)
		}
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
		`{"data":[{"id":"a"`: "answered something that is no list of models",
		`<html></html>`:      "answered something that is no list of models",
		"":                   "did not list its models",
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
		models, err := p.List(t.Context(), vars)
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
	if _, err := p.List(t.Context(), vars); err != nil {
		t.Error(err)
	}
	if logged.Len() == 0 || strings.Contains(logged.String(), key) {
		t.Errorf("the log holds the key or nothing: %s", logged.String())
	}
}

func TestWhatIsNotBuiltIsNamed(t *testing.T) {
	t.Parallel()
	p := resolver(t, &contacts{})
	vars := env(map[string]string{"AWS_ACCESS_KEY_ID": "a", "GEMINI_API_KEY": "g"})
	if diff := cmp.Diff([]string{"GEMINI_API_KEY", "AWS_ACCESS_KEY_ID"}, p.Unbuilt(vars)); diff != "" {
		t.Error(diff)
	}
	for handle, want := range map[core.Handle]string{
		"gemini/gemini-3-pro": "Google Gemini is not supported yet", "google/gemini-3-pro": "Google Gemini is not supported yet",
		"google_ai/gemini-3-pro": "Google Gemini is not supported yet", "aws/claude": "Amazon Bedrock is not supported yet",
		"bedrock/claude": "Amazon Bedrock is not supported yet",
	} {
		if _, _, err := p.Chat(
			t.Context(),
			handle,
			vars,
		); core.KindOf(err) != core.Unsupported || err.Error() != want ||
			!strings.Contains(core.HintOf(err), "openrouter") {
			t.Errorf("%s: %v (%s)", handle, err, core.HintOf(err))
		}
		if _, _, err := p.Embedder(t.Context(), handle, vars); core.KindOf(err) != core.Unsupported {
			t.Errorf("%s embeds: %v", handle, err)
		}
	}
}

// hosts answers for every host from one server and records who was asked.
type hosts struct {
	server *providertest.Server
	mu     sync.Mutex
	asked  []string
}

func (h *hosts) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.asked = append(h.asked, req.URL.Host)
	h.mu.Unlock()
	to := req.Clone(req.Context())
	to.URL.Scheme, to.URL.Host, to.Host = "http", strings.TrimPrefix(h.server.URL, "http://"), ""
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(to)
}

func TestARegionalHostKeepsItsVendorsWire(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]providertest.Wire{
		"https://eu.api.openai.com/v1": providertest.Responses, "https://us.api.openai.com/v1": providertest.Responses,
		"https://api.openai.com/v1":             providertest.Responses,
		"https://api.openai.com.example.com/v1": providertest.Chat, "https://notapi.openai.com/v1": providertest.Chat,
		"http://api.openai.com/v1": providertest.Chat,
		"https://api.x.ai/v1":      providertest.Responses, "https://eu.api.x.ai/v1": providertest.Responses,
		"https://proxy.example.com/v1": providertest.Chat,
	} {
		h := &hosts{server: providertest.NewServer(t)}
		h.server.Script(providertest.Turn{Text: "ok"})
		p := providers.New(providers.Config{HTTP: h})
		t.Cleanup(p.Close)
		vars := env(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": base})
		chat, info, err := p.Chat(t.Context(), "openai/gpt-5.1", vars)
		if err != nil || info.Endpoint != base {
			t.Errorf("%s: %+v %v", base, info, err)
			continue
		}
		if _, err := providertest.Collect(t.Context(), t, chat, providertest.Ask("gpt-5.1", "hi")); err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		if got := h.server.Last().Wire; got != want || !strings.Contains(base, "/"+h.asked[len(h.asked)-1]+"/") {
			t.Errorf("%s is asked on %s, want %s; hosts %v", base, got, want, h.asked)
		}
	}
}

func TestAServersWireAndQuirksAreSetInTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vllm", "openai"} {
		s := providertest.NewServer(t)
		s.Models = []providertest.Model{{Name: "m"}}
		s.Script(providertest.Turn{Text: "ok"})
		rows, err := providers.Configure(providers.Rows(), map[string]map[string]string{name: {"base_url": s.V1(), "wire": "responses"}})
		if err != nil {
			t.Fatal(err)
		}
		p := providers.New(providers.Config{Rows: rows})
		t.Cleanup(p.Close)
		chat, info, err := p.Chat(t.Context(), core.Handle(name+"/m"), env(nil))
		if err != nil || info.Endpoint != s.V1() {
			t.Fatalf("%s: %+v %v", name, info, err)
		}
		if _, err := providertest.Collect(
			t.Context(),
			t,
			chat,
			providertest.Ask("m", "hi"),
		); err != nil ||
			s.Last().Wire != providertest.Responses {
			t.Errorf("%s: %v on %s", name, err, s.Last().Wire)
		}
		if found := p.First(t.Context(), env(nil)); !found.OK || !strings.Contains(found.Because, "providers."+name+".base_url is set") {
			t.Errorf("%s: %+v", name, found)
		}
	}
	for want, settings := range map[string]map[string]map[string]string{
		`there is no provider "nobody"`: {"nobody": {"wire": "chat"}}, "wire cannot be": {"vllm": {"wire": "morse"}},
		`there is no setting "colour"`:    {"vllm": {"colour": "red"}},
		"nothing but base_url can be set": {"ollama": {"wire": "chat"}}, "is not the address": {"vllm": {"base_url": "nowhere"}},
	} {
		if _, err := providers.Configure(
			providers.Rows(),
			settings,
		); core.KindOf(err) != core.Invalid ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

func TestListingIsBoundedInTime(t *testing.T) {
	t.Parallel()
	// Naming a host means knowing about it.
	for host, want := range map[string]time.Duration{"": 300 * time.Millisecond, "127.0.0.1:9": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p, start := providers.New(providers.Config{HTTP: thinker(time.Hour)}), time.Now()
			if p.First(t.Context(), env(map[string]string{"OLLAMA_HOST": host})).OK {
				t.Error("a model was found")
			}
			if d := time.Since(start); d != want {
				t.Errorf("gave the server %q up after %v, want %v", host, d, want)
			}
		})
	}
}

func TestAModelThatOllamaHasNotIsNotFound(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	p := resolver(t, &contacts{}, s)
	vars := env(map[string]string{"OLLAMA_HOST": s.URL})
	_, _, err := p.Chat(t.Context(), "ollama/missing", vars)
	if core.KindOf(err) != core.NotFound || !strings.Contains(core.HintOf(err), "ollama pull missing") {
		t.Errorf("got %v, hint %q", err, core.HintOf(err))
	}
	if _, _, err := p.Chat(t.Context(), "ollama/test-model", vars); err != nil {
		t.Error(err)
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

func TestPreferredModelsComeFirst(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{
		{Name: "aaa"},
		{Name: "google/gemini-9"},
		{Name: "anthropic/claude-sonnet-9"},
		{Name: "anthropic/claude-sonnet"},
	}
	p := resolver(t, &contacts{}, s)
	list, err := p.List(t.Context(), env(map[string]string{"OPENROUTER_API_KEY": "k", "OPENROUTER_BASE_URL": s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff(
		[]string{"anthropic/claude-sonnet", "anthropic/claude-sonnet-9", "google/gemini-9", "aaa", "loci"},
		got,
	); diff != "" {
		t.Error(diff)
	}
	if !list[0].BindsPrefix {
		t.Error("reasoning that is bound to its prefix is not known to be")
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
