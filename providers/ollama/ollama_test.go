package ollama_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/ollama"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

func TestAddressesInEverySpelling(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                           "http://127.0.0.1:11434",
		"  ":                         "http://127.0.0.1:11434",
		"example.org":                "http://example.org:11434",
		"example.org:1234":           "http://example.org:1234",
		":1234":                      "http://127.0.0.1:1234",
		"0.0.0.0":                    "http://127.0.0.1:11434",
		"0.0.0.0:1234":               "http://127.0.0.1:1234",
		"[::]:1234":                  "http://[::1]:1234",
		"::1":                        "http://[::1]:11434",
		"[::1]":                      "http://[::1]:11434",
		"[::1]:1234":                 "http://[::1]:1234",
		"192.168.1.7:80":             "http://192.168.1.7:80",
		"http://example.org":         "http://example.org:80",
		"https://example.org":        "https://example.org:443",
		"https://example.org:9":      "https://example.org:9",
		"example.org/ollama":         "http://example.org:11434/ollama",
		"https://example.org/a/b/":   "https://example.org:443/a/b",
		"HTTP://Example.org:1234":    "http://Example.org:1234",
		"http://127.0.0.1:11434/v1":  "http://127.0.0.1:11434",
		"127.0.0.1:11434/v1/":        "http://127.0.0.1:11434",
		"example.org/ollama/api":     "http://example.org:11434/ollama",
		`"127.0.0.1:11434"`:          "http://127.0.0.1:11434",
		"http://user:pw@example.org": "http://example.org:80",
		"ftp://example.org":          "",
		"two words":                  "",
	} {
		got, err := ollama.BaseURL(host)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q %v, want %q", host, got, err, want)
		}
	}
}

// answers starts a server that answers every chat with the same lines, and returns a client and its last request.
func answers(t *testing.T, lines string) (*ollama.Client, func() map[string]any) {
	t.Helper()
	var kept atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept.Store(&body)
		_, _ = io.WriteString(w, lines)
	}))
	t.Cleanup(server.Close)
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	c := ollama.New(protocol.Options{Provider: "ollama", BaseURL: server.URL, HTTP: transport})
	return c, func() map[string]any {
		var sent map[string]any
		if err := json.Unmarshal(*kept.Load(), &sent); err != nil {
			t.Fatal(err)
		}
		return sent
	}
}

const end = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":3}` + "\n"

func say(text string) string {
	raw, _ := json.Marshal(text)
	return `{"message":{"role":"assistant","content":` + string(raw) + `},"done":false}` + "\n"
}

func TestNothingIsLeftToBeDroppedSilently(t *testing.T) {
	t.Parallel()
	c, sent := answers(t, say("ok")+end)
	req := providertest.Ask("qwen3", "hello")
	req.Window = 12345
	req.Settings.MaxOutputTokens, req.Settings.Temperature = 77, new(0.0)
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	body := sent()
	if body["truncate"] != false || body["shift"] != false {
		t.Errorf("truncate %v, shift %v", body["truncate"], body["shift"])
	}
	if diff := cmp.Diff(map[string]any{"num_ctx": 12345.0, "num_predict": 77.0, "temperature": 0.0}, body["options"]); diff != "" {
		t.Error(diff)
	}
	if _, ok := body["think"]; ok {
		t.Error("think was sent without a wish")
	}
}

func TestEffortBecomesWhatTheModelUnderstands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, effort string
		want          any
	}{
		{"qwen3", "none", false},
		{"qwen3", "high", nil},
		{"gpt-oss:20b", "minimal", "low"},
		{"gpt-oss:20b", "medium", "medium"},
		{"gpt-oss:20b", "xhigh", "high"},
		{"gpt-oss:20b", "", nil},
	} {
		client, sent := answers(t, say("ok")+end)
		req := providertest.Ask(c.model, "hello")
		req.Settings.ReasoningEffort = c.effort
		if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
			t.Fatal(err)
		}
		if got := sent()["think"]; got != c.want {
			t.Errorf("%s %q: think %v, want %v", c.model, c.effort, got, c.want)
		}
	}
}

func TestCallsAreReadAsTheyComeAndAsText(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"without ids": `{"message":{"tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo","a":1}}}]},"done":false}` +
			"\n" +
			`{"message":{"tool_calls":[{"function":{"name":"clock","arguments":{}}}]},"done":false}` + "\n" + end,
		"as JSON in a text": `{"message":{"tool_calls":[{"function":{"name":"weather","arguments":"{\"city\":\"Oslo\",\"a\":1}"}}]}}` +
			"\n" +
			`{"message":{"tool_calls":[{"function":{"name":"clock","arguments":""}}]},"done":false}` + "\n" + end,
		"as text": say("<tool_") + say("call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\",\"a\":1}}</tool_call>\n"+
			"<tool_call>{\"name\":\"clock\"}") + say("</tool_call>") + end,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := answers(t, lines)
			a, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x"))
			if err != nil || len(a.Calls) != 2 || a.Calls[0].ID == a.Calls[1].ID {
				t.Fatalf("%+v %v", a, err)
			}
			if a.Text != "" || a.Calls[0].Arguments != `{"city":"Oslo","a":1}` || a.Calls[1].Name != "clock" ||
				a.Calls[1].Arguments != "{}" {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestCountsAreReadInAnyForm(t *testing.T) {
	t.Parallel()
	for _, counts := range []string{
		`"prompt_eval_count":12,"eval_count":3`, `"prompt_eval_count":"12","eval_count":"3"`, `"prompt_eval_count":12.0,"eval_count":3.0`,
	} {
		c, _ := answers(t, say("fine")+`{"message":{},"done":true,`+counts+"}\n")
		a, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x"))
		if diff := cmp.Diff(&core.Usage{Prompt: 12, Completion: 3, Total: 15}, a.Usage); err != nil || a.Text != "fine" || diff != "" {
			t.Errorf("%s: %q, %v\n%s", counts, a.Text, err, diff)
		}
	}
}

func TestSizesAreReadInAnyForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shown, running string
		want           int
	}{
		"a text that is shown":     {`"8192"`, `0`, 8192},
		"a fraction that is shown": {`8192.0`, `0`, 8192},
		"a text that runs":         {`131072`, `"32768"`, 32768},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := answers(t, `{"models":[{"name":"m","context_length":`+c.running+
				`}],"model_info":{"general.architecture":"x","x.context_length":`+c.shown+`}}`)
			m, err := client.Describe(t.Context(), "m")
			if err != nil || m.Window != c.want {
				t.Errorf("window %d, %v", m.Window, err)
			}
		})
	}
}

func TestACallThatVanishedIsAnEmptyReply(t *testing.T) {
	t.Parallel()
	c, _ := answers(t, end)
	if _, err := providertest.Collect(
		t.Context(),
		t,
		c,
		providertest.Ask("m", "x"),
	); core.KindOf(err) != core.Unavailable ||
		!strings.Contains(err.Error(), "empty") {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerCountsOnlyWithItsEnd(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"no line":          "",
		"no done":          say("half"),
		"a half line":      say("half") + `{"message":{"content":"and a secret ha`,
		"a line too long":  say("half") + strings.Repeat("x", wire.MaxLine+1),
		"an error":         say("half") + `{"error":"llama runner process has terminated: exit status 2"}` + "\n",
		"another protocol": "data: {}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := answers(t, lines)
			_, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x"))
			if core.KindOf(err) != core.Unavailable || strings.Contains(err.Error(), "secret") || len(err.Error()) > 300 {
				t.Errorf("got %v", err)
			}
		})
	}
	c, _ := answers(t, say("half")+`{"error":"the input length exceeds the context length"}`+"\n")
	if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); core.KindOf(err) != core.TooLong {
		t.Errorf("got %v", err)
	}
}

func TestThinkingGoesBackBesideCalls(t *testing.T) {
	t.Parallel()
	c, sent := answers(t, say("ok")+end)
	thinker, _ := answers(
		t,
		`{"message":{"thinking":"Look it up."},"done":false}`+"\n"+`{"message":{"tool_calls":[{"id":"a","function":{"name":"clock",`+
			`"arguments":{}}}]},"done":false}`+"\n"+end,
	)
	req := providertest.Ask("m", "x")
	a, err := providertest.Collect(t.Context(), t, thinker, req)
	if err != nil || a.Reasoning != "Look it up." {
		t.Fatalf("%+v %v", a, err)
	}
	req.Messages = append(req.Messages, providertest.Continue(a, "12:00")...)
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	messages := sent()["messages"].([]any)
	if diff := cmp.Diff(map[string]any{
		"role":     "assistant",
		"content":  "",
		"thinking": "Look it up.",
		"tool_calls": []any{
			map[string]any{"id": "a", "function": map[string]any{"index": 0.0, "name": "clock", "arguments": map[string]any{}}},
		},
	}, messages[2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		map[string]any{"role": "tool", "content": "12:00", "tool_name": "clock", "tool_call_id": "a"},
		messages[3],
	); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsThatAreNoObjectStayReadable(t *testing.T) {
	t.Parallel()
	c, sent := answers(t, say("ok")+end)
	req := providertest.Ask("m", "x")
	req.Messages = append(
		req.Messages,
		providertest.Continue(
			providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "clock", Arguments: `{"city": "Os`}}},
			"bad arguments",
		)...)
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	call := sent()["messages"].([]any)[2].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"invalid_arguments": `{"city": "Os`}, call["arguments"]); diff != "" {
		t.Error(diff)
	}
}

func TestSchemasSurviveTheTypesOfTheWire(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"string","description":"B"},"a":{"type":["string","null"],` +
			`"enum":["x"]}},"required":["b"]}`: `{"type":"object","required":["b"],"properties":{"b":{"type":"string",` +
			`"description":"B"},"a":{"type":["string","null"],"enum":["x"]}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","description":"How many.","minimum":1,` +
			`"default":5}}}`: `{"type":"object","properties":{"n":{"type":"integer","description":"How many. (default: 5, minimum: 1)"}}}`,
		`{"type":"object","properties":{"o":{"$ref":"#/$defs/O"}},"$defs":{"O":{"type":"object",` +
			`"properties":{"x":{"type":"number"}},"required":["x"]}}}`: `{"type":"object","properties":{"o":{"type":"object",` +
			`"properties":{"x":{"type":"number"}},"required":["x"]}}}`,
		`{"type":"object","properties":{"v":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`: `{"type":"object","properties":{"v":{` +
			`"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
		``:                          `{"type":"object","properties":{}}`,
		`{"type":"object"}`:         `{"type":"object","properties":{}}`,
		`{"properties":{"a":true}}`: `{"type":"object","properties":{}}`,
	} {
		c, sent := answers(t, say("ok")+end)
		req := providertest.Ask("m", "x")
		req.Tools = []core.ToolSpec{{Name: "t", Description: "d", Parameters: json.RawMessage(schema)}}
		if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
			t.Fatal(err)
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		got := sent()["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["parameters"]
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s: %s", schema, diff)
		}
	}
	loop := json.RawMessage(
		`{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object",` +
			`"properties":{"next":{"$ref":"#/$defs/N"}}}}}`,
	)
	c, sent := answers(t, say("ok")+end)
	req := providertest.Ask("m", "x")
	req.Tools = []core.ToolSpec{{Name: "t", Parameters: loop}}
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil || sent()["tools"] == nil {
		t.Errorf("a schema that refers to itself: %v", err)
	}
}

func TestTheWindowIsThatOfTheRunningModelFirst(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{
		{Name: "running", Window: 131072, Running: 32768, NumCtx: 9000},
		{Name: "running-small", Window: 131072, Running: 4096},
		{Name: "running-whole", Window: 4096, Running: 4096},
		{Name: "modelfile", Window: 131072, NumCtx: 65536},
		{Name: "idle", Window: 131072},
		{Name: "small", Window: 2048},
		{Name: "unknown"},
		{Name: "embed", Embed: true, Window: 512},
	}
	list, err := newClient(t, s, "").List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, m := range list.Models {
		if m.Hidden == "" {
			got[m.Name] = m.Window
		}
	}
	want := map[string]int{
		"running":       32768,
		"running-small": ollama.DefaultWindow,
		"running-whole": 4096,
		"modelfile":     65536,
		"idle":          ollama.DefaultWindow,
		"small":         2048,
		"unknown":       ollama.DefaultWindow,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestThoughtsWithoutTheirMarkAreThoughts(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Script(providertest.Turn{Text: "They say hello.\n</think>\n\nHello there!"})
	a, err := providertest.Collect(t.Context(), t, newClient(t, s, ""), providertest.Ask("test-model", "x"))
	if err != nil || a.Reasoning != "They say hello.\n" || a.Text != "Hello there!" {
		t.Errorf("reasoning %q, text %q, %v", a.Reasoning, a.Text, err)
	}
}

func TestAModelStaysLoadedAsLongAsTheSettingSays(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]any{"": nil, "30m": "30m0s", "always": -1.0} {
		var kept atomic.Pointer[[]byte]
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			kept.Store(&body)
			_, _ = io.WriteString(w, say("ok")+end)
		}))
		t.Cleanup(server.Close)
		settings := map[string]string{"keep_alive": value}
		if value == "" {
			clear(settings)
		}
		p, err := ollama.Protocol{}.Set(settings)
		if err != nil {
			t.Fatal(err)
		}
		transport := wire.NewTransport(nil)
		t.Cleanup(transport.CloseIdleConnections)
		c, err := p.Open(protocol.Options{Provider: "ollama", BaseURL: server.URL, HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); err != nil {
			t.Fatal(err)
		}
		var sent map[string]any
		if err := json.Unmarshal(*kept.Load(), &sent); err != nil || sent["keep_alive"] != want {
			t.Errorf("%q: keep_alive %v, want %v (%v)", value, sent["keep_alive"], want, err)
		}
	}
	for _, wrong := range []string{"soon", "-5m", "1ms", "9999h"} {
		if _, err := (ollama.Protocol{}).Set(map[string]string{"keep_alive": wrong}); core.KindOf(err) != core.Invalid {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestAFormOfTheAnswerLeavesToolsCallable(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"type": "json_schema", "json_schema": map[string]any{"schema": map[string]any{"type": "object"}}}
	for _, tools := range []bool{true, false} {
		c, sent := answers(t, say("ok")+end)
		req := providertest.Ask("m", "x")
		req.Settings.ResponseFormat = schema
		if !tools {
			req.Tools = nil
		}
		if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
			t.Fatal(err)
		}
		messages, _ := sent()["messages"].([]any)
		last, _ := messages[len(messages)-1].(map[string]any)["content"].(string)
		if forced, asked := sent()["format"] != nil, strings.Contains(last, `{"type":"object"}`); forced == tools || asked != tools {
			t.Errorf("with tools %v: format %v, last message %q", tools, sent()["format"], last)
		}
	}
}

func TestNoModelIsLeftOutOfTheListInSilence(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/api/tags":
			_, _ = io.WriteString(w, `{"models":[{"name":"a"},{"model":"b","size":"odd"},{"name":7},`+
				`{"name":"old","capabilities":["embedding"]},{"name":"c"}]}`)
		case strings.Contains(string(body), `"c"`):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"model 'c' not found"}`)
		case strings.Contains(string(body), `"old"`):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, `{"capabilities":["completion","tools"]}`)
		}
	}))
	t.Cleanup(server.Close)
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	c := ollama.New(protocol.Options{Provider: "ollama", BaseURL: server.URL, HTTP: transport})
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range list.Models {
		got[m.Name] = m.Hidden
	}
	want := map[string]string{
		"a": "", "b": "", "row-3": "its row in the server's list has no name that can be read",
		"old": "its capabilities are embedding, not completion", "c": "the server does not describe it: model 'c' not found",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
