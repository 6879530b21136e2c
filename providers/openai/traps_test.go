package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// raw is a server that answers with given bytes and keeps the last request.
type raw struct {
	client *openai.Client
	body   atomic.Pointer[[]byte]
	header atomic.Pointer[http.Header]
	asked  atomic.Int64
}

// serve starts a server that answers every request with the same bytes.
func serve(t *testing.T, q openai.Quirks, answer string) *raw {
	t.Helper()
	return serveFunc(t, q, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
}

func serveFunc(t *testing.T, q openai.Quirks, answer http.HandlerFunc) *raw {
	t.Helper()
	r := &raw{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.body.Store(&body)
		r.header.Store(&req.Header)
		r.asked.Add(1)
		answer(w, req)
	}))
	t.Cleanup(server.Close)
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	const key = "sk-key-12345"
	r.client = openai.New(protocol.Options{
		Provider: "vendor", BaseURL: server.URL + "/v1", Values: protocol.Values{"KEY": key}, Idle: time.Minute,
		HTTP: protocol.Signed(transport, server.URL, nil, protocol.Bearer(key)),
	}, q)
	return r
}

// sent returns the last request's body.
func (r *raw) sent(t *testing.T) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(*r.body.Load(), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// message returns a message of the last request.
func (r *raw) message(t *testing.T, i int) map[string]any {
	t.Helper()
	return r.sent(t)["messages"].([]any)[i].(map[string]any)
}

func (r *raw) ask(t *testing.T, req core.ChatRequest) providertest.Answer {
	t.Helper()
	a, err := providertest.Collect(t.Context(), t, r.client, req)
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	return a
}

func (r *raw) fails(t *testing.T, req core.ChatRequest) *core.Error {
	t.Helper()
	_, err := providertest.Collect(t.Context(), t, r.client, req)
	var e *core.Error
	if !errors.As(err, &e) {
		t.Fatalf("no error of ours: %v", err)
	}
	return e
}

const (
	okChunk  = `data: {"choices":[{"index":0,"delta":{"content":"fine"}}]}` + "\n\n"
	endChunk = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done     = "data: [DONE]\n\n"
	whole    = okChunk + endChunk + done
)

func withCall(args, text string) core.ChatRequest {
	req := providertest.Ask("some-model", "hello")
	req.Messages = append(
		req.Messages,
		providertest.Continue(providertest.Answer{Calls: []core.ToolCall{{ID: "call_abc", Name: "clock", Arguments: args}}}, text)...)
	return req
}

func TestTrap01EmptyContentIsSent(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, whole)
	r.ask(t, withCall("{}", ""))
	for _, i := range []int{2, 3} { // the assistant's call, the tool's empty return
		if content, ok := r.message(t, i)["content"]; !ok || content != "" {
			t.Errorf("message %d: content %v, present %v", i, content, ok)
		}
	}
}

func TestTrap02EmptyReasoningIsSentWhereItIsDemanded(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{History: openai.HistoryAlways}, whole)
	r.ask(t, withCall("{}", "x"))
	if got, ok := r.message(t, 2)["reasoning_content"]; !ok || got != "" {
		t.Errorf("reasoning_content %v, present %v", got, ok)
	}
	if _, ok := r.message(t, 1)["reasoning_content"]; ok {
		t.Error("reasoning_content on a user message")
	}
}

func TestTrap03EmptyArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, whole)
	r.ask(t, withCall("", "x"))
	call := r.message(t, 2)["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"name": "clock", "arguments": "{}"}, call); diff != "" {
		t.Error(diff)
	}
}

func TestTrap04TemperatureZeroIsSent(t *testing.T) {
	t.Parallel()
	for _, q := range []openai.Quirks{{}, {Wire: openai.Responses}} {
		answer := whole
		if q.Wire == openai.Responses {
			answer = responsesOK
		}
		r := serve(t, q, answer)
		req := providertest.Ask("some-model", "hello")
		req.Settings.Temperature = new(0.0)
		r.ask(t, req)
		if got, ok := r.sent(t)["temperature"]; !ok || got != 0.0 {
			t.Errorf("wire %q: temperature %v, present %v", q.Wire, got, ok)
		}
	}
}

func TestTrap05AnErrorBodyUnderStatus200IsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"Provider returned error","code":502}}`,
		"\n  {\"error\": {\"message\": \"Provider returned error\", \"code\": 502}}\n",
		`data: {"error":{"message":"Provider returned error","code":502}}`,
	} {
		e := serve(t, openai.Quirks{}, body).fails(t, providertest.Ask("m", "x"))
		if e.Kind != core.Unavailable || !strings.Contains(e.Msg, "Provider returned error") {
			t.Errorf("%q: %s %q", body, e.Kind, e.Msg)
		}
	}
	if e := serve(t, openai.Quirks{}, "").fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable {
		t.Errorf("an empty body: %v", e)
	}
}

func TestTrap06AnErrorInsideAChunkWithChoicesIsAnError(t *testing.T) {
	t.Parallel()
	r := serve(
		t,
		openai.Quirks{},
		okChunk+`data: {"error":{"code":429,"message":"upstream limit"},"choices":[{"index":0,"delta":{"content":""},`+
			`"finish_reason":"error"}]}`+"\n\n"+done,
	)
	if e := r.fails(t, providertest.Ask("m", "x")); e.Kind != core.RateLimited || !strings.Contains(e.Msg, "upstream limit") {
		t.Errorf("got %s %q", e.Kind, e.Msg)
	}
	r = serve(t, openai.Quirks{}, okChunk+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`+"\n\n"+done)
	if e := r.fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable {
		t.Errorf("got %v", e)
	}
}

func TestTrap07AStreamThatEndsWithoutItsFinishIsAnError(t *testing.T) {
	t.Parallel()
	half := calls(`{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`)
	for _, answer := range []string{okChunk, half, half + done} {
		if e := serve(t, openai.Quirks{}, answer).fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable {
			t.Errorf("chat: got %v", e)
		}
	}
	events := strings.SplitAfter(responsesOK, "\n\n")
	if e := serve(
		t,
		openai.Quirks{Wire: openai.Responses},
		strings.Join(events[:3], ""),
	).fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable {
		t.Errorf("responses: got %v", e)
	}
}

func TestTrap08ALastLineWithoutItsEndIsRead(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, okChunk+`data: {"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"stop"}]}`)
	if a := r.ask(t, providertest.Ask("m", "x")); a.Text != "fine!" {
		t.Errorf("text %q", a.Text)
	}
}

func TestTrap09ThousandsOfCommentsAreNoError(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, strings.Repeat(": PROCESSING\n\n", 5000)+whole)
	if a := r.ask(t, providertest.Ask("m", "x")); a.Text != "fine" {
		t.Errorf("text %q", a.Text)
	}
}

func TestTrap10ReasoningIsReadUnderBothNames(t *testing.T) {
	t.Parallel()
	for _, delta := range []string{
		`{"reasoning":"hm"}`, `{"reasoning_content":"hm"}`, `{"reasoning":"hm","reasoning_content":"hm"}`,
		`{"content":"<think>hm</think>\n\n"}`,
	} {
		r := serve(t, openai.Quirks{}, `data: {"choices":[{"index":0,"delta":`+delta+`}]}`+"\n\n"+whole)
		if a := r.ask(t, providertest.Ask("m", "x")); a.Reasoning != "hm" || a.Text != "fine" {
			t.Errorf("%s: reasoning %q text %q", delta, a.Reasoning, a.Text)
		}
	}
}

func TestTrap11RetryAfterOfAFailureIsKept(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{"Retry-After": 3 * time.Second, "Retry-After-Ms": 3 * time.Millisecond} {
		r := serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, "3")
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
		})
		if e := r.fails(t, providertest.Ask("m", "x")); e.RetryAfter != want || e.Kind != core.RateLimited {
			t.Errorf("%s: %v %s", name, e.RetryAfter, e.Kind)
		}
	}
}

func TestTrap12NamesThatTheLibraryRefusesAreAsked(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"o3-my-local", "gpt-6-sol", "gpt-6.1-sol", "gpt-5", "text-davinci-003"} {
		r := serve(t, openai.Quirks{}, whole)
		req := providertest.Ask(model, "hello")
		req.Settings.Temperature, req.Settings.MaxOutputTokens = new(0.3), 100
		r.ask(t, req)
		if got := r.sent(t)["model"]; got != model {
			t.Errorf("model %v, want %s", got, model)
		}
	}
}

func TestTrap13AnErrorAfterACommentKeepsItsText(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, ": keep-alive\n\nevent: error\n"+`data: {"error":{"message":"upstream died","code":502}}`+"\n\n")
	if e := r.fails(t, providertest.Ask("m", "x")); !strings.Contains(e.Msg, "upstream died") {
		t.Errorf("got %q", e.Msg)
	}
}

func TestTrap14AnErrorInAnyShapeIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{ "error": {"message":"boom"}}`, `{"error":"boom"}`, `{"id":"x","error" : {"message":"boom"},"choices":[]}`,
	} {
		if e := serve(t, openai.Quirks{}, "data: "+body+"\n\n").fails(t, providertest.Ask("m", "x")); !strings.Contains(e.Msg, "boom") {
			t.Errorf("%s: %q", body, e.Msg)
		}
	}
	fine := `data: {"error":null,"choices":[{"index":0,"delta":{"content":"the word \"error\" "}}]}` + "\n\n" + whole
	if a := serve(t, openai.Quirks{}, fine).ask(t, providertest.Ask("m", "x")); a.Text != `the word "error" fine` {
		t.Errorf("text %q", a.Text)
	}
}

func TestTrap15ContentInPartsIsRead(t *testing.T) {
	t.Parallel()
	r := serve(
		t,
		openai.Quirks{},
		`data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},`+
			`{"type":"text","text":"so "}]}}]}`+"\n\n"+whole,
	)
	if a := r.ask(t, providertest.Ask("m", "x")); a.Reasoning != "hm" || a.Text != "so fine" {
		t.Errorf("reasoning %q text %q", a.Reasoning, a.Text)
	}
}

func TestTrap16AnErrorEventOfResponsesIsAnError(t *testing.T) {
	t.Parallel()
	start := `data: {"type":"response.created","response":{"status":"in_progress"}}` + "\n\n"
	for body, kind := range map[string]core.Kind{
		`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`: core.TooLong,
		`{"type":"error","error":{"code":"rate_limit_exceeded",` +
			`"message":"slow down"}}`: core.RateLimited,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error",` +
			`"message":"boom"}}}`: core.Unavailable,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}`: core.Invalid,
		`{"type":"response.failed","response":{"status":"failed","error":null}}`:                                     core.Unavailable,
	} {
		if e := serve(
			t,
			openai.Quirks{Wire: openai.Responses},
			start+"event: x\ndata: "+body+"\n\n",
		).fails(t, providertest.Ask("m", "x")); e.Kind != kind {
			t.Errorf("%s: %s %q", body, e.Kind, e.Msg)
		}
	}
}

func TestTrap17ListingsInEveryFormAreRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]protocol.Model{
		`[{"id":"meta/llama","type":"chat","context_length":8192},{"id":"bge","type":"embedding"}]`: {
			{Name: "meta/llama", Window: 8192, Tools: true, Forced: true},
			{Name: "bge", Tools: true, Forced: true, Embeds: true, Hidden: "it is listed as embedding"},
		},
		`{"data":[{"id":"a/b","context_length":200000,"top_provider":{"context_length":32000,"max_completion_tokens":4000},` +
			`"supported_parameters":["tools","reasoning"]}]}`: {
			{Name: "a/b", Window: 32000, MaxOutput: 4000, Tools: true, Forced: true, Reasoning: true},
		},
		`{"data":[{"id":"gone","active":false,"context_window":9},{"id":"here","active":true,"context_window":131072,` +
			`"max_completion_tokens":32768}]}`: {
			{Name: "gone", Window: 9, Tools: true, Forced: true, Hidden: "it is not active"},
			{Name: "here", Window: 131072, MaxOutput: 32768, Tools: true, Forced: true},
		},
		`{"data":[{"id":"m","max_context_length":32768,"capabilities":{"completion_chat":true,"function_calling":false}}]}`: {
			{Name: "m", Window: 32768},
		},
		`{"models":[{"id":"v","max_model_len":4096}]}`: {{Name: "v", Window: 4096, Tools: true, Forced: true}},
		`{"data":[{"id":"text-embedding-3"},{"id":"whisper-1"},{"id":"my-guardian-7b"},{"id":"mediocre-7b"},{"id":"watts-8b"},` +
			`{"id":"tts-chat-8b"}]}`: {
			{Name: "text-embedding-3", Tools: true, Forced: true, Embeds: true, Hidden: "its name says embedding"},
			{Name: "whisper-1", Tools: true, Forced: true, Hidden: "its name says whisper"},
			{Name: "my-guardian-7b", Tools: true, Forced: true},
			{Name: "mediocre-7b", Tools: true, Forced: true},
			{Name: "watts-8b", Tools: true, Forced: true},
			{Name: "tts-chat-8b", Tools: true, Forced: true},
		},
		`{"data":[{"id":"text","context_length":"32768"},{"id":7},{"id":"odd","active":"yes","top_provider":[]},"x",{"id":"none",` +
			`"context_length":"many"},{"id":"float","max_model_len":4096.0}]}`: {
			{Name: "text", Window: 32768, Tools: true, Forced: true},
			{Name: "row-2", Hidden: "its row in the server's list has no name that can be read"},
			{Name: "odd", Tools: true, Forced: true},
			{Name: "row-4", Hidden: "its row in the server's list has no name that can be read"},
			{Name: "none", Tools: true, Forced: true},
			{Name: "float", Window: 4096, Tools: true, Forced: true},
		},
		`{"data":[{"id":"a","max_input_tokens":200000,"max_output_tokens":64000,"capabilities":["completion","tools","thinking"]},` +
			`{"id":"tts-chat","capabilities":["chat"]},
		{"id":"v","capabilities":["embedding"]},{"id":"w","mode":"embedding"},{"id":"x","mode":"chat"}]}`: {
			{Name: "a", Window: 200000, MaxOutput: 64000, Tools: true, Forced: true, Reasoning: true},
			{Name: "tts-chat", Tools: true, Forced: true},
			{Name: "v", Tools: true, Forced: true, Embeds: true, Hidden: "its capabilities leave out chatting"},
			{Name: "w", Tools: true, Forced: true, Embeds: true, Hidden: "it is listed as embedding"},
			{Name: "x", Tools: true, Forced: true},
		},
	} {
		got, err := serve(t, openai.Quirks{}, body).client.List(t.Context())
		for i := range got.Models {
			got.Models[i].ToolsGuess = false // see TestWhetherAModelHasToolsIsAGuessUnlessTheServerSaysSo
		}
		if diff := cmp.Diff(want, got.Models); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
	if _, err := serve(t, openai.Quirks{}, "<html>").client.List(t.Context()); core.KindOf(err) != core.Unavailable {
		t.Errorf("a page in place of a listing: %v", err)
	}
}

func TestTrap18ErrorsWithoutTheUsualShapeKeepTheirText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"code":"Client specified an invalid argument","error":"maximum prompt length is 131072"}`: "maximum prompt length is 131072",
		`{"object":"error","message":"Prompt too large for model with 32768 maximum context length",` +
			`"code":"3051"}`: "too large for model with",
		`{"object":"error","message":"This model's maximum context length is 4096 tokens",` +
			`"type":"BadRequestError","code":400}`: "maximum context length",
		`[{"error":{"code":400,"message":"the input token count (9) exceeds the maximum",` +
			`"status":"INVALID_ARGUMENT"}}]`: "input token count",
		`plain words: prompt is too long`:                     "prompt is too long",
		`{"detail":"longer than the model's context length"}`: "longer than",
	} {
		r := serveFunc(
			t,
			openai.Quirks{},
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); _, _ = io.WriteString(w, body) },
		)
		if e := r.fails(t, providertest.Ask("m", "x")); e.Kind != core.TooLong || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: %s %q", body, e.Kind, e.Msg)
		}
	}
}
