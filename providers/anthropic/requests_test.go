package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/providertest"
)

// claude returns a server with models of each generation.
func claude(t *testing.T, turns ...providertest.Turn) *providertest.Server {
	t.Helper()
	s := providertest.NewServer(t)
	s.Models = append(providertest.ClaudeModels(), s.Models...)
	s.Script(turns...)
	return s
}

// described asks as the resolver does: with what the listing says of the model.
func described(t *testing.T, c *anthropic.Client, req core.ChatRequest) core.ChatRequest {
	t.Helper()
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Models {
		if m.Name == req.Model {
			req.Info = core.ModelInfo{Own: m.Own, MaxOutput: m.MaxOutput, BindsPrefix: m.Binds, ContextWindow: m.Window}
			req.Window = m.Window
		}
	}
	return req
}

// sent is the part of a request that depends on the model and its settings.
type sent struct {
	Max         int             `json:"max_tokens"`
	Thinking    json.RawMessage `json:"thinking"`
	Output      json.RawMessage `json:"output_config"`
	Choice      json.RawMessage `json:"tool_choice"`
	Temperature *float64        `json:"temperature"`
}

func lastSent(t *testing.T, s *providertest.Server) sent {
	t.Helper()
	var out sent
	if err := json.Unmarshal(s.Last().Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const bound = `,"block_binding":{"prefix_mismatch_behavior":"drop_block"}}`

func TestAnEffortIsAskedForInTheWayThatTheModelHas(t *testing.T) {
	t.Parallel()
	const adaptive, summary = `{"type":"adaptive","display":"summarized"`, `{"type":"adaptive","display":"summarized"}`
	for _, c := range []struct{ model, effort, thinking, output string }{
		{"claude-opus-5-5", "", adaptive + bound, ""},
		{"claude-opus-5-5", "none", adaptive + bound, `{"effort":"low"}`},
		{"claude-opus-5-5", "minimal", adaptive + bound, `{"effort":"low"}`},
		{"claude-opus-5-5", "xhigh", adaptive + bound, `{"effort":"xhigh"}`},
		{"claude-sonnet-5-5", "none", `{"type":"between_tools"}`, `{"effort":"low"}`},
		{"claude-sonnet-5-5", "high", adaptive + bound, `{"effort":"high"}`},
		{"claude-opus-5", "", summary, ""},
		{"claude-opus-5", "none", `{"type":"disabled"}`, ""},
		{"claude-opus-4-8", "", "", ""},
		{"claude-opus-4-8", "none", "", ""},
		{"claude-opus-4-8", "medium", summary, `{"effort":"medium"}`},
		{"claude-sonnet-4-6", "xhigh", summary, `{"effort":"high"}`},
		{"claude-haiku-4-5", "", "", ""},
		{"claude-haiku-4-5", "medium", `{"type":"enabled","budget_tokens":8192}`, ""},
		{"test-model", "", "", ""},
		{"test-model", "none", `{"type":"disabled"}`, ""},
		{"test-model", "low", `{"type":"enabled","budget_tokens":2048}`, ""},
	} {
		s := claude(t)
		client := newClient(t, s, "k", anthropic.Quirks{})
		req := providertest.Ask(c.model, "hello")
		req.Settings.ReasoningEffort = c.effort
		for how, req := range map[string]core.ChatRequest{"by its name": req, "as listed": described(t, client, req)} {
			req.Window = 200_000
			if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
				t.Errorf("%s %s %q: %v", c.model, how, c.effort, err)
			}
			got := lastSent(t, s)
			if string(got.Thinking) != c.thinking || string(got.Output) != c.output {
				t.Errorf("%s %s %q: thinking %s, output %s", c.model, how, c.effort, got.Thinking, got.Output)
			}
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%s %q: %d requests", c.model, c.effort, n)
		}
	}
}

func TestATemperatureIsSentOnlyWhereItIsTaken(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]*float64{
		"claude-opus-5-5": nil, "claude-opus-4-8": nil, "claude-sonnet-4-6": new(1.0), "claude-haiku-4-5": new(1.0), "test-model": new(1.0),
	} {
		s := claude(t)
		req := providertest.Ask(model, "hello")
		req.Settings.Temperature = new(1.5) // others go up to 2, this wire up to 1
		if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", anthropic.Quirks{}), req); err != nil {
			t.Errorf("%s: %v", model, err)
		}
		if diff := cmp.Diff(want, lastSent(t, s).Temperature); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

func TestAForcedToolIsForcedOrAskedForInWords(t *testing.T) {
	t.Parallel()
	named := core.ToolChoice{Mode: core.ChoiceNamed, Name: "clock"}
	for _, c := range []struct {
		model, effort string
		choice        core.ToolChoice
		parallel      bool
		want, words   string
	}{
		{"claude-sonnet-4-6", "", named, true, `{"type":"tool","name":"clock"}`, ""},
		{"claude-sonnet-4-6", "", core.ToolChoice{Mode: core.ChoiceRequired}, false, `{"type":"any","disable_parallel_tool_use":true}`, ""},
		{"claude-sonnet-4-6", "", core.ToolChoice{Mode: core.ChoiceNone}, true, `{"type":"none"}`, ""},
		{"claude-sonnet-4-6", "", core.ToolChoice{}, false, `{"type":"auto","disable_parallel_tool_use":true}`, ""},
		{"claude-sonnet-4-6", "", core.ToolChoice{}, true, "", ""},
		{"claude-haiku-4-5", "high", named, true, `{"type":"tool","name":"clock"}`, ""},
		{"claude-opus-5-5", "", named, true, "", "Answer with a call of clock."},
		{
			"claude-opus-5-5", "",
			core.ToolChoice{Mode: core.ChoiceRequired},
			false, `{"type":"auto","disable_parallel_tool_use":true}`,
			"Answer with a call",
		},
	} {
		s := claude(t)
		client := newClient(t, s, "k", anthropic.Quirks{})
		req := providertest.Ask(c.model, "hello")
		req.Choice, req.Parallel, req.Settings.ReasoningEffort, req.Window = c.choice, c.parallel, c.effort, 200_000
		if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
			t.Errorf("%s: %v", c.model, err)
		}
		last := s.Last()
		if got := string(lastSent(t, s).Choice); got != c.want ||
			c.words != "" != strings.Contains(last.Messages[len(last.Messages)-1].Text, "Answer with") {
			t.Errorf("%s %+v: %s, %+v", c.model, c.choice, got, last.Messages)
		}
	}
}

func TestWhatAModelRefusesIsLeftOutOfLaterRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := &picky{}
		client := anthropic.New(options(refuse), anthropic.Quirks{})
		ask := func(change func(*core.ChatRequest)) string {
			req := providertest.Ask("claude-unheard-of-4-5", "hello")
			req.Window, req.Info.MaxOutput = 200_000, 64_000
			change(&req)
			if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
				t.Fatal(err)
			}
			return string(refuse.last)
		}
		warm := func(r *core.ChatRequest) { r.Settings.Temperature = new(.5) }
		forced := func(r *core.ChatRequest) { r.Choice.Mode = core.ChoiceRequired }
		for words, c := range map[string]struct {
			change func(*core.ChatRequest)
			field  string
		}{
			"`temperature` is deprecated for this model": {warm, `"temperature"`},
			"tool_choice: not for this model":            {forced, `"tool_choice"`},
			"\"thinking.type.enabled\" is not supported": {func(r *core.ChatRequest) { r.Settings.ReasoningEffort = "high" }, `"thinking"`},
			"tools.1.cache_control: not permitted":       {func(*core.ChatRequest) {}, `"cache_control"`},
		} {
			refuse.words, refuse.field = words, c.field
			for range 2 {
				if body := ask(c.change); strings.Contains(body, c.field) {
					t.Errorf("%s: sent again: %s", words, body)
				}
			}
			if refuse.times != 1 {
				t.Errorf("%s: refused %d times", words, refuse.times)
			}
			refuse.times = 0
		}
		refuse.words, refuse.field = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens", `"max_tokens":32000`
		if body := ask(func(r *core.ChatRequest) { r.Info.MaxOutput = 32_000 }); !strings.Contains(body, `"max_tokens":8192`) {
			t.Errorf("the limit: %s", body)
		}
		time.Sleep(11 * time.Minute) //nolint:forbidigo // the bubble's clock
		refuse.field = ""
		if body := ask(warm); !strings.Contains(body, `"temperature"`) {
			t.Errorf("after ten minutes it is tried again: %s", body)
		}
	})
}

func TestIDsFromElsewhereAreMadeLegal(t *testing.T) {
	t.Parallel()
	s := claude(t, providertest.Turn{Text: "ok"})
	req := providertest.Ask("claude-sonnet-4-6", "hello")
	req.Messages = append(req.Messages, providertest.Continue(providertest.Answer{Calls: []core.ToolCall{
		{ID: "functions.clock:0", Name: "clock", Arguments: `{}`}, {ID: strings.Repeat("x", 300), Name: "clock", Arguments: `not JSON`},
	}}, "noon")...)
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", anthropic.Quirks{}), req); err != nil {
		t.Fatal(err)
	}
	m := s.Last().Messages
	if len(m) != 4 || m[1].Calls[0].ID != m[2].CallID || m[1].Calls[1].ID != m[3].CallID || m[1].Calls[1].Arguments != "{}" {
		t.Errorf("%+v", m)
	}
}

func TestWhatTheWireRefusesIsNeverSent(t *testing.T) {
	t.Parallel()
	s := claude(t, providertest.Turn{Text: "ok"})
	req := providertest.Ask("claude-sonnet-4-6", " \n")
	req.System = "\n"
	req.Messages = append([]core.ChatMessage{{Role: core.ChatAssistant, Text: " "}, {Role: core.ChatReminder, Text: "x"}}, req.Messages...)
	req.Messages = append(req.Messages, providertest.Continue(providertest.Answer{Text: "\n", Calls: []core.ToolCall{{
		ID:   "a",
		Name: "clock",
	}}}, " ")...)
	req.Tools = append(req.Tools, core.ToolSpec{Name: "bare"}, core.ToolSpec{Name: "odd", Parameters: json.RawMessage(`{"anyOf":[]}`)})
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", anthropic.Quirks{}), req); err != nil {
		t.Error(err)
	}
}

func TestALimitLeavesRoomToThinkAndToFit(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		model, effort             string
		window, limit, most, want int
	}{
		{"claude-haiku-4-5", "medium", 200_000, 1000, 0, 1000 + 8192},
		{"claude-haiku-4-5", "medium", 200_000, 1000, 3000, 3000},
		{"claude-haiku-4-5", "medium", 200_000, 600, 600, 600},
		{"claude-haiku-4-5", "", 200_000, 1000, 0, 1000},
		{"claude-haiku-4-5", "", 200_000, 0, 0, 50_000},
		{"claude-opus-5-5", "", 1_000_000, 0, 0, 128_000},
		{"claude-opus-5-5", "", 1_000_000, 0, 700, 700},
		{"claude-opus-5-5", "", 8192, 0, 0, 2048},
		{"claude-opus-5-5", "", 1_000_000, 900_000, 0, 128_000},
	} {
		s := claude(t)
		client := newClient(t, s, "k", anthropic.Quirks{})
		req := described(t, client, providertest.Ask(c.model, "hello"))
		req.Settings.ReasoningEffort, req.Settings.MaxOutputTokens, req.Window, req.Most = c.effort, c.limit, c.window, c.most
		if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if got := lastSent(t, s).Max; got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

func TestASchemaForTheAnswerIsSent(t *testing.T) {
	t.Parallel()
	s := claude(t, providertest.Turn{Text: "{}"})
	req := providertest.Ask("claude-opus-5-5", "hello")
	req.Settings.ResponseFormat = map[string]any{
		"type": "json_schema",
		"json_schema": map[string]any{"schema": map[string]any{
			"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer", "minimum": 1}},
		}},
	}
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", anthropic.Quirks{}), req); err != nil {
		t.Fatal(err)
	}
	if got := string(lastSent(t, s).Output); got != `{"format":{"type":"json_schema","schema":{"additionalProperties":false,`+
		`"properties":{"n":{"description":"(minimum: 1)","type":"integer"}},"type":"object"}}}` {
		t.Error(got)
	}
}

func TestAModelIsListedWithItsSizesOverPages(t *testing.T) {
	t.Parallel()
	s := claude(t)
	for i := range 1500 {
		s.Models = append(s.Models, providertest.Model{Name: fmt.Sprint("model-", i)})
	}
	list, err := newClient(t, s, "k", anthropic.Quirks{}).List(context.WithoutCancel(t.Context()))
	if err != nil || len(list.Models) != len(s.Models) || s.Listings() != 2 {
		t.Fatalf("%d models in %d requests: %v", len(list.Models), s.Listings(), err)
	}
	m := list.Models[0]
	if m.Name != "claude-opus-5-5" || m.Window != 1_000_000 || m.MaxOutput != 128_000 || m.Forced || !m.Binds || !m.Reasoning || !m.Tools {
		t.Errorf("%+v", m)
	}
	if m := list.Models[4]; m.Name != "claude-sonnet-4-6" || !m.Forced || m.Binds {
		t.Errorf("%+v", m)
	}
}

func TestEveryFormOfAnAddressWorks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h:1":                          "http://h:1/v1",
		"http://h:1/":                         "http://h:1/v1",
		"http://h:1/v1":                       "http://h:1/v1",
		"http://h:1/v1/":                      "http://h:1/v1",
		"http://h:1/v1/messages":              "http://h:1/v1",
		"http://h:1/v1/messages/count_tokens": "http://h:1/v1",
		"http://h:1/v1/models":                "http://h:1/v1",
		"https://h/anthropic":                 "https://h/anthropic/v1",
		"https://h/anthropic/v1":              "https://h/anthropic/v1",
		"http://[::1]:8":                      "http://[::1]:8/v1",
		"https://h/api/anthropic/v1/messages": "https://h/api/anthropic/v1",
	} {
		if got, err := (anthropic.Quirks{}).Address("X", text); err != nil || got != want {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	if _, err := (anthropic.Quirks{}).Address("X", "h:1"); err == nil {
		t.Error("h:1 is no address")
	}
}
