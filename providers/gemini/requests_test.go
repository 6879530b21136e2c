package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/providertest"
)

// described asks as the resolver does: with what the listing says of the model.
func described(t *testing.T, c *gemini.Client, req core.ChatRequest) core.ChatRequest {
	t.Helper()
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Models {
		if m.Name == req.Model {
			req.Info = core.ModelInfo{Own: m.Own, MaxOutput: m.MaxOutput, ContextWindow: m.Window}
		}
	}
	return req
}

// sent is the part of a request that depends on the model and its settings.
type sent struct {
	Config struct {
		Max         int             `json:"maxOutputTokens"`
		Temperature *float64        `json:"temperature"`
		Thinking    json.RawMessage `json:"thinkingConfig"`
		MIME        string          `json:"responseMimeType"`
		Schema      json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
	Choice   json.RawMessage `json:"toolConfig"`
	Contents []struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"contents"`
}

func lastSent(t *testing.T, s *providertest.Server) sent {
	t.Helper()
	var out sent
	if err := json.Unmarshal(s.Last().Body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnEffortIsALevelOrABudget(t *testing.T) {
	t.Parallel()
	const shown = `"includeThoughts":true`
	for _, c := range []struct{ model, effort, want string }{
		{"gemini-3.8-flash", "", `{` + shown + `}`},
		{"gemini-3.8-flash", "none", `{` + shown + `,"thinkingLevel":"low"}`},
		{"gemini-3.8-flash", "medium", `{` + shown + `,"thinkingLevel":"medium"}`},
		{"gemini-3.8-flash", "xhigh", `{` + shown + `,"thinkingLevel":"high"}`},
		{"gemini-3-pro-preview", "medium", `{` + shown + `,"thinkingLevel":"low"}`},
		{"gemini-3.5-flash", "minimal", `{` + shown + `,"thinkingLevel":"minimal"}`},
		{"gemini-2.5-pro", "", `{` + shown + `}`},
		{"gemini-2.5-pro", "none", `{` + shown + `,"thinkingBudget":128}`},
		{"gemini-2.5-pro", "max", `{` + shown + `,"thinkingBudget":32768}`},
		{"gemini-2.5-flash", "none", `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", "max", `{` + shown + `,"thinkingBudget":24576}`},
		{"gemini-2.5-flash-lite", "low", `{` + shown + `,"thinkingBudget":2048}`},
		{"gemini-2.0-flash", "high", ``},
		{"gemma-4-27b-it", "high", ``},
		{"gemini-flash-latest", "minimal", `{` + shown + `,"thinkingLevel":"low"}`},
	} {
		s := service(t)
		client := newClient(t, s, "k", gemini.Quirks{})
		req := providertest.Ask(c.model, "hello")
		req.Settings.ReasoningEffort = c.effort
		for how, req := range map[string]core.ChatRequest{"by its name": req, "as listed": described(t, client, req)} {
			if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
				t.Errorf("%s %s %q: %v", c.model, how, c.effort, err)
			}
			if got := string(lastSent(t, s).Config.Thinking); got != c.want {
				t.Errorf("%s %s %q: %s", c.model, how, c.effort, got)
			}
		}
		if n := s.Refusals(); n != 0 {
			t.Errorf("%s %q: %d refused", c.model, c.effort, n)
		}
	}
}

func TestALimitLeavesRoomToThinkInABudget(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		model, effort            string
		limit, most, want, think int
	}{
		{"gemini-2.5-pro", "medium", 1000, 0, 1000 + 8192, 8192},
		{"gemini-2.5-pro", "medium", 1000, 3000, 3000, 1500},
		{"gemini-2.5-pro", "medium", 0, 3000, 3000, 1500},
		{"gemini-2.5-pro", "", 1000, 0, 1000, 0},
		{"gemini-3.8-flash", "high", 1000, 0, 1000, 0},
		{"gemini-3.8-flash", "", 0, 0, 0, 0},
		{"gemini-3.8-flash", "", 0, 700, 700, 0},
		{"gemini-2.5-pro", "high", 90_000, 0, 65_536, 16_384},
	} {
		s := service(t)
		client := newClient(t, s, "k", gemini.Quirks{})
		req := described(t, client, providertest.Ask(c.model, "hello"))
		req.Settings.ReasoningEffort, req.Settings.MaxOutputTokens, req.Settings.Temperature = c.effort, c.limit, new(1.5)
		req.Most = c.most
		if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		got := lastSent(t, s).Config
		if got.Max != c.want || *got.Temperature != 1.5 {
			t.Errorf("%d: %+v, want %d", i, got, c.want)
		}
		if budget := fmt.Sprintf(`"thinkingBudget":%d}`, c.think); c.think > 0 && !strings.Contains(string(got.Thinking), budget) {
			t.Errorf("%d: it thinks by %s, want %s", i, got.Thinking, budget)
		}
	}
}

func TestAToolIsForcedByTheMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice core.ToolChoice
		want   string
	}{
		{core.ToolChoice{}, ``},
		{core.ToolChoice{Mode: core.ChoiceRequired}, `{"functionCallingConfig":{"mode":"ANY"}}`},
		{core.ToolChoice{Mode: core.ChoiceNone}, `{"functionCallingConfig":{"mode":"NONE"}}`},
		{
			core.ToolChoice{Mode: core.ChoiceNamed, Name: "clock"},
			`{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["clock"]}}`,
		},
	} {
		s := service(t)
		req := providertest.Ask("gemini-3.8-flash", "hello")
		req.Choice = c.choice
		if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
			t.Error(err)
		}
		if got := string(lastSent(t, s).Choice); got != c.want || len(s.Last().Tools) != 2 {
			t.Errorf("%+v: %s with %v", c.choice, got, s.Last().Tools)
		}
	}
}

func TestWhatAModelRefusesIsLeftOutOfLaterRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := &picky{}
		client := gemini.New(options(refuse), gemini.Quirks{})
		ask := func(change func(*core.ChatRequest)) string {
			req := providertest.Ask("gemini-unheard-of", "hello")
			change(&req)
			if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
				t.Fatal(err)
			}
			return string(refuse.last)
		}
		hard := func(r *core.ChatRequest) { r.Settings.ReasoningEffort = "high" }
		for _, c := range []struct {
			words, field, instead string
			change                func(*core.ChatRequest)
		}{
			{"Thinking level HIGH is not supported for this model.", `"thinkingLevel"`, `"includeThoughts"`, hard},
			{"Thinking is not enabled for models/x", `"includeThoughts"`, `"contents"`, hard},
			{"Function calling mode ANY is not enabled", `"toolConfig"`, "Answer with a call of a tool.", func(r *core.ChatRequest) {
				r.Choice.Mode = core.ChoiceRequired
			}},
			{
				"Developer instruction is not enabled for models/gemma-3-27b-it", `"systemInstruction"`,
				`"contents":[{"role":"user","parts":[{"text":"<system-reminder>\nBe brief.\n</system-reminder>"}]}`,
				func(*core.ChatRequest) {},
			},
			{
				"Function calling with a response mime type: 'application/json' is unsupported", `"responseMimeType"`, `"tools"`,
				func(r *core.ChatRequest) { r.Settings.ResponseFormat = map[string]any{"type": "json_object"} },
			},
		} {
			refuse.words, refuse.field, refuse.times = c.words, c.field, 0
			for range 2 {
				instead := strings.ReplaceAll(c.instead, "\n", `\n`)
				if body := ask(c.change); strings.Contains(body, c.field) || !strings.Contains(body, instead) {
					t.Errorf("%s: %s", c.words, body)
				}
			}
			if refuse.times != 1 {
				t.Errorf("%s: refused %d times", c.words, refuse.times)
			}
		}
		refuse.words = "Unable to submit request because it has a maxOutputTokens value of 90000 but the supported range is from 1 " +
			"(inclusive) to 8193 (exclusive)."
		refuse.field = `"maxOutputTokens":90000`
		long := func(r *core.ChatRequest) { r.Settings.MaxOutputTokens = 90_000 }
		if body := ask(long); !strings.Contains(body, `"maxOutputTokens":8192`) {
			t.Errorf("the limit: %s", body)
		}
		time.Sleep(11 * time.Minute) //nolint:forbidigo // the bubble's clock
		refuse.field = ""
		if body := ask(hard); !strings.Contains(body, `"thinkingLevel"`) {
			t.Errorf("after ten minutes it is tried again: %s", body)
		}
	})
}

func TestWhatTheWireRefusesIsNeverSent(t *testing.T) {
	t.Parallel()
	s := service(t, providertest.Turn{Text: "ok"})
	req := providertest.Ask("gemini-3.8-flash", " \n")
	req.System = "\n"
	req.Messages = append([]core.ChatMessage{{Role: core.ChatAssistant, Text: " "}, {Role: core.ChatReminder, Text: "x"}}, req.Messages...)
	req.Messages = append(req.Messages, providertest.Continue(providertest.Answer{Text: "\n", Calls: []core.ToolCall{
		{ID: "a", Name: "clock"}, {ID: "b", Name: "clock", Arguments: `not JSON`},
	}}, " ")...)
	req.Messages = append([]core.ChatMessage{}, req.Messages...)
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
		t.Error(err)
	}
	begins := providertest.Ask("gemini-3.8-flash", "hello")
	called := providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "clock"}}}
	begins.Messages = append(providertest.Continue(called, "x"), begins.Messages...)
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), begins); err != nil {
		t.Errorf("a thread that begins with a call: %v", err)
	}
}

func TestASchemaForTheAnswerIsSentWhereItIsTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		tools bool
		want  string
	}{
		{"gemini-3.8-flash", true, `{"properties":{"a":{"$x":1}},"type":"object"}`},
		{"gemini-2.5-pro", true, ``},
		{"gemini-2.5-pro", false, `{"properties":{"a":{"$x":1}},"type":"object"}`},
	} {
		s := service(t, providertest.Turn{Text: "{}"})
		req := providertest.Ask(c.model, "hello")
		if !c.tools {
			req.Tools = nil
		}
		req.Settings.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{"schema": map[string]any{
			"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "minLength": 1}},
		}}}
		if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.want, `"$x":1`, `"description":"(minLength: 1)","type":"string"`)
		if got := lastSent(t, s).Config; string(got.Schema) != want || (got.MIME == "application/json") != (want != "") {
			t.Errorf("%s: %s %s", c.model, got.MIME, got.Schema)
		}
	}
}

func TestModelsAreListedWithTheirSizesOverPages(t *testing.T) {
	t.Parallel()
	s := service(t)
	for range 1500 {
		s.Models = append(s.Models, providertest.Model{Name: "gemini-x-tts"})
	}
	s.Models = append(
		s.Models, providertest.Model{Name: "gemma-3-27b-it", Window: 131_072}, providertest.Model{Name: "gemini-3-pro-image-preview"})
	list, err := newClient(t, s, "k", gemini.Quirks{}).List(t.Context())
	if err != nil || len(list.Models) != len(s.Models) || s.Listings() != 2 {
		t.Fatalf("%d models in %d requests: %v", len(list.Models), s.Listings(), err)
	}
	type facts struct {
		Window, Output                   int
		Tools, Forced, Reasoning, Embeds bool
		Images                           core.ImageInput
		Hidden                           string
	}
	got := map[string]facts{}
	for _, m := range list.Models {
		got[m.Name] = facts{m.Window, m.MaxOutput, m.Tools, m.Forced, m.Reasoning, m.Embeds, m.Images, m.Hidden}
	}
	for name, want := range map[string]facts{
		"gemini-3.8-flash":     {1_048_576, 65_536, true, true, true, false, core.ImagesTaken, ""},
		"gemini-embedding-001": {2_048, 0, true, true, false, true, core.ImagesTaken, "it makes embeddings"},
		"gemma-3-27b-it":       {131_072, 0, false, false, false, false, "", ""},
		"gemini-x-tts":         {0, 0, true, true, true, false, core.ImagesTaken, "it speaks"},
		"gemini-3-pro-image-preview": {
			0, 0, true, true, true, false, core.ImagesTaken, "it makes images, videos or music",
		},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEveryFormOfAnAddressWorks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h:1":                "http://h:1/v1beta",
		"http://h:1/":               "http://h:1/v1beta",
		"http://h:1/v1beta":         "http://h:1/v1beta",
		"http://h:1/v1beta/":        "http://h:1/v1beta",
		"http://h:1/v1":             "http://h:1/v1",
		"http://h:1/v1beta/models":  "http://h:1/v1beta",
		"http://h:1/v1beta/models/": "http://h:1/v1beta",
		"http://h:1/v1beta/models/gemini-3.8-flash:generateContent?key=x": "http://h:1/v1beta",
		"https://h/google":           "https://h/google/v1beta",
		"https://h/google/v1beta":    "https://h/google/v1beta",
		"http://[::1]:8":             "http://[::1]:8/v1beta",
		"https://h/models":           "https://h/v1beta",
		"https://h/a/v1beta/models/": "https://h/a/v1beta",
	} {
		if got, err := (gemini.Quirks{}).Address("X", text); err != nil || got != want {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	for _, text := range []string{"h:1", "ftp://h", "http://u:p@h"} {
		if _, err := (gemini.Quirks{}).Address("X", text); err == nil {
			t.Errorf("%s is no address", text)
		}
	}
}

func TestTextsAreEmbeddedInOneRequest(t *testing.T) {
	t.Parallel()
	s := service(t)
	client := newClient(t, s, "k", gemini.Quirks{})
	got, err := client.Embed(t.Context(), "gemini-embedding-001", []string{"one", "two", "one", " "})
	if err != nil || len(got) != 4 || cmp.Diff(got[0], got[2]) != "" || cmp.Diff(got[0], got[1]) == "" || len(got[3]) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	for body, want := range map[string]string{
		`{"embeddings":[{"values":[1,null]}]}`: "holes", `{"embeddings":[]}`: "1 texts with 0", `{"embeddings":1}`: "cannot be read",
	} {
		_, err := gemini.New(options(canned(body)), gemini.Quirks{}).Embed(t.Context(), "x", []string{"one"})
		if core.KindOf(err) != core.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
