package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

const responsesOK = `data: {"type":"response.created","response":{"status":"in_progress","created_at":1.5}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}

data: {"type":"response.output_text.delta","item_id":"msg_1","delta":"fine"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant",` +
	`"content":[{"type":"output_text","text":"fine"}]}}

data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12,` +
	`"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens_details":{"reasoning_tokens":1}}}}

`

func calls(n string) string {
	return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + n + `]}}]}` + "\n\n"
}

func TestCallsArePutTogetherWhateverAServerSends(t *testing.T) {
	t.Parallel()
	two := []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "b", Name: "clock", Arguments: `{"city":"Rome"}`}}
	for name, stream := range map[string]string{
		"everything at index 0": calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`) +
			calls(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`) +
			calls(`{"index":0,"id":"b","function":{"name":"clock","arguments":"{\"city\":\"Rome\"}"}}`),
		"no index": calls(`{"id":"a","function":{"name":"weather","arguments":""}}`) +
			calls(`{"function":{"arguments":"{\"city\":\"Oslo\"}"}}`) +
			calls(`{"id":"b","function":{"name":"clock","arguments":"{\"city\":"}}`) + calls(`{"function":{"arguments":"\"Rome\"}"}}`),
		"interleaved, the id " +
			"in every piece": calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\""}},{"index":1,"id":"b",`+
			`"function":{"name":"clock","arguments":"{\"city\":"}}`) +
			calls(`{"index":0,"id":"a","function":{"arguments":":\"Oslo\"}"}}`) +
			calls(`{"index":1,"id":"b","function":{"arguments":"\"Rome\"}"}}`),
		"arguments as objects": calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":{"city":"Oslo"}}},{"index":1,` +
			`"id":"b","function":{"name":"clock","arguments":{"city":"Rome"}}}`),
		"id before name": calls(`{"index":0,"id":"a","function":{"arguments":""}}`) +
			calls(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`) +
			calls(`{"index":1,"id":"b","function":{"name":"clock","arguments":"{\"city\":\"Rome\"}"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(
				t,
				openai.Quirks{},
				stream+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n"+done,
			).ask(t, providertest.Ask("m", "x"))
			if diff := cmp.Diff(two, a.Calls); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("no ids at all", func(t *testing.T) {
		t.Parallel()
		a := serve(
			t,
			openai.Quirks{},
			calls(`{"function":{"name":"weather","arguments":"{}"}}`)+calls(`{"function":{"name":"clock","arguments":"{}"}}`)+endChunk+done,
		).ask(t, providertest.Ask("m", "x"))
		if len(a.Calls) != 2 || a.Calls[0].ID == a.Calls[1].ID {
			t.Errorf("calls %+v", a.Calls)
		}
	})
}

func TestARefusalIsText(t *testing.T) {
	t.Parallel()
	a := serve(
		t,
		openai.Quirks{},
		`data: {"choices":[{"index":0,"delta":{"refusal":"I cannot."}}]}`+"\n\n"+endChunk+done,
	).ask(t, providertest.Ask("m", "x"))
	if a.Text != "I cannot." {
		t.Errorf("text %q", a.Text)
	}
}

func TestARefusalIsAFinishOfItsOwnOnBothWires(t *testing.T) {
	t.Parallel()
	delta, refusal := `data: {"choices":[{"index":0,"delta":{"refusal":"I cannot."}}]}`+"\n\n", `data: {"choices":[{"index":0,`+
		`"delta":{},"finish_reason":"refusal"}]}`+"\n\n"
	completed := `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n"
	item := `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}`
	for name, c := range map[string]struct {
		wire       openai.Wire
		body, text string
	}{
		"chat, in a field":    {openai.Chat, delta + endChunk + done, "I cannot."},
		"chat, by its finish": {openai.Chat, refusal + done, ""},
		"responses, as it comes": {
			openai.Responses, `data: {"type":"response.refusal.delta","item_id":"msg_1","delta":"I cannot."}` + "\n\n" + completed,
			"I cannot.",
		},
		"responses, as one piece": {
			openai.Responses, `data: {"type":"response.output_item.done","output_index":0,"item":` + item + "}\n\n" + completed,
			"I cannot.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, openai.Quirks{Wire: c.wire}, c.body).ask(t, providertest.Ask("m", "x"))
			if a.Finish != core.FinishRefused || a.Text != c.text {
				t.Errorf("finish %q, text %q", a.Finish, a.Text)
			}
		})
	}
}

func TestAFilteredReplySaysSo(t *testing.T) {
	t.Parallel()
	a := serve(
		t,
		openai.Quirks{},
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`+"\n\n"+done,
	).ask(t, providertest.Ask("m", "x"))
	if a.Finish != core.FinishFiltered {
		t.Errorf("finish %q", a.Finish)
	}
}

func TestUsageIsFoundWhereVendorsPutIt(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]core.Usage{
		`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_cache_hit_tokens":3}}`: {
			Prompt: 5, Completion: 2, Total: 7, Cached: new(3),
		},
		`{"choices":[],"x_groq":{"usage":{"prompt_tokens":5,"completion_tokens":2}}}`: {Prompt: 5, Completion: 2, Total: 7},
	} {
		a := serve(t, openai.Quirks{}, okChunk+endChunk+"data: "+body+"\n\n"+done).ask(t, providertest.Ask("m", "x"))
		if diff := cmp.Diff(&want, a.Usage); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAConnectionThatBreaksAfterTheFinishIsNoError(t *testing.T) {
	t.Parallel()
	r := serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, okChunk+endChunk)
		_ = http.NewResponseController(w).Flush()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	if a := r.ask(t, providertest.Ask("m", "x")); a.Text != "fine" {
		t.Errorf("text %q", a.Text)
	}
}

func TestAServerThatDoesNotStreamIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, q := range []openai.Quirks{{Whole: true, History: openai.HistoryCalls}, {Whole: true, Wire: openai.Responses}} {
		s := providertest.NewServer(t)
		s.Script(providertest.Turn{
			Reasoning: "hm",
			Text:      "Both.",
			Calls: []providertest.Call{
				{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`},
				{ID: "b", Name: "clock", Arguments: `{}`},
			},
			Usage: &providertest.Usage{Prompt: 3, Completion: 4},
		})
		a, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", q), providertest.Ask("m", "x"))
		if err != nil {
			t.Fatal(err)
		}
		want := []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "b", Name: "clock", Arguments: `{}`}}
		if diff := cmp.Diff(want, a.Calls); diff != "" || a.Text != "Both." || a.Reasoning != "hm" || a.Usage == nil || a.Usage.Total != 7 {
			t.Errorf("wire %q: %+v %s", q.Wire, a, diff)
		}
		if s.Last().Stream {
			t.Error("it was asked to stream")
		}
	}
}

func TestASilentServerIsATimeout(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Script(providertest.Turn{Text: "a b c d", TokenDelay: time.Minute})
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	c := openai.New(protocol.Options{Provider: "slow", BaseURL: s.V1(), HTTP: transport, Idle: 50 * time.Millisecond}, openai.Quirks{})
	if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); core.KindOf(err) != core.Timeout {
		t.Errorf("got %v", err)
	}
}

func TestALineOverTheBoundIsAnError(t *testing.T) {
	t.Parallel()
	r := serve(
		t,
		openai.Quirks{},
		`data: {"choices":[{"index":0,"delta":{"content":"`+strings.Repeat("x", wire.MaxLine)+`"}}]}`+"\n\n"+whole,
	)
	if e := r.fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable || len(e.Error()) > 2000 {
		t.Errorf("got %s, %d bytes", e.Kind, len(e.Error()))
	}
}

func TestResponsesAsksForWhatItNeedsAgain(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{Wire: openai.Responses, CacheKey: true}, responsesOK)
	req := providertest.Ask("gpt-5-mini", "hello")
	req.CacheKey, req.Parallel = "conv-1", false
	req.Settings.ReasoningEffort, req.Settings.MaxOutputTokens, req.Settings.Temperature = "low", 500, new(0.5)
	req.Choice = core.ToolChoice{Mode: core.ChoiceNamed, Name: "clock"}
	req.Settings.ResponseFormat = map[string]any{
		"type":        "json_schema",
		"json_schema": map[string]any{"name": "n", "schema": map[string]any{"type": "object"}, "strict": true},
	}
	a := r.ask(t, req)
	if diff := cmp.Diff(
		&core.Usage{Prompt: 10, Completion: 2, Total: 12, Cached: new(4), CacheWrite: new(3), Reasoning: new(1)},
		a.Usage,
	); diff != "" {
		t.Error(diff)
	}
	body := r.sent(t)
	tool := body["tools"].([]any)[0].(map[string]any)
	if strict, ok := tool["strict"]; !ok || strict != false {
		t.Errorf("strict %v, present %v", strict, ok)
	}
	delete(body, "tools")
	want := map[string]any{
		"model":               "gpt-5-mini",
		"stream":              true,
		"store":               false,
		"instructions":        "Be brief.",
		"prompt_cache_key":    "conv-1",
		"include":             []any{"reasoning.encrypted_content"},
		"reasoning":           map[string]any{"effort": "low", "summary": "auto"},
		"max_output_tokens":   500.0,
		"parallel_tool_calls": false,
		"tool_choice":         map[string]any{"type": "function", "name": "clock"},
		"input":               []any{map[string]any{"type": "message", "role": "user", "content": "hello"}},
		"text": map[string]any{
			"format": map[string]any{"type": "json_schema", "name": "n", "schema": map[string]any{"type": "object"}, "strict": true},
		},
	}
	if diff := cmp.Diff(want, body); diff != "" { // no temperature: the family reasons
		t.Error(diff)
	}
}

func TestReasoningItemsGoBackVerbatim(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Script(
		providertest.Turn{Reasoning: "Look it up.", Calls: []providertest.Call{{ID: "call_1", Name: "clock", Arguments: "{}"}}},
		providertest.Turn{Text: "Noon."},
		providertest.Turn{Text: "Yes."},
	)
	c := newClient(t, s, "k", openai.Quirks{Wire: openai.Responses})
	req := providertest.Ask("gpt-5-mini", "What time is it?")
	a, err := providertest.Collect(t.Context(), t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	more := providertest.Continue(a, "12:00")
	req.Messages = append(req.Messages, more...)
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	var sent struct{ Input []json.RawMessage }
	if err := json.Unmarshal(s.Last().Body, &sent); err != nil {
		t.Fatal(err)
	}
	var native struct{ Items []json.RawMessage }
	if err := json.Unmarshal(a.Native, &native); err != nil || len(native.Items) != 2 {
		t.Fatalf("native %s %v", a.Native, err)
	}
	for i, item := range native.Items {
		if diff := cmp.Diff(string(item), string(sent.Input[i+1])); diff != "" {
			t.Error(diff)
		}
	}
	if !strings.Contains(string(sent.Input[1]), `"encrypted_content":"sealed-`) {
		t.Errorf("no sealed reasoning in %s", sent.Input[1])
	}
	req.Messages[1].Native = nil // where it may not be replayed, the normalised form goes out
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	if body := string(s.Last().Body); strings.Contains(body, "sealed-") || !strings.Contains(body, `"call_id":"call_1"`) {
		t.Errorf("body %s", body)
	}
}

func TestASummaryThatIsRefusedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{Wire: openai.Responses}, responsesOK)
	var refusing *raw
	refusing = serveFunc(t, openai.Quirks{Wire: openai.Responses}, func(w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(string(*refusing.body.Load()), "summary") {
			w.WriteHeader(400)
			_, _ = io.WriteString(
				w,
				`{"error":{"message":"Your account must be verified to generate reasoning summaries.","code":"unsupported_value"}}`,
			)
			return
		}
		_, _ = io.WriteString(w, responsesOK)
	})
	if a := refusing.ask(t, providertest.Ask("gpt-5", "x")); a.Text != "fine" {
		t.Errorf("text %q", a.Text)
	}
	refusing.ask(t, providertest.Ask("gpt-5", "x"))
	if n := refusing.asked.Load(); n != 3 {
		t.Errorf("%d requests for two answers, want 3", n)
	}
	r.ask(t, providertest.Ask("gpt-5", "x"))
	if n := r.asked.Load(); n != 1 {
		t.Errorf("%d requests where nothing is refused", n)
	}
}
