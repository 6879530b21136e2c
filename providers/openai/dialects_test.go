package openai_test

import (
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

func chunk(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

func args(piece string) string {
	return calls(fmt.Sprintf(`{"index":0,"function":{"arguments":%q}}`, piece))
}

func TestAnswersInOddFormsAreRead(t *testing.T) {
	t.Parallel()
	oslo := []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}}
	open := calls(`{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}`)
	wholeCall := `{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`
	for name, c := range map[string]struct {
		answer string
		want   providertest.Answer
	}{
		"[DONE] without a finish": {okChunk + done, providertest.Answer{Text: "fine"}},
		"a finish that is null": {
			`data: {"choices":[{"delta":{"content":"fine"},"finish_reason":null}]}` + "\n\n" + done, providertest.Answer{Text: "fine"},
		},
		"whole, without a finish": {`{"choices":[{"message":{"content":"fine"}}]}`, providertest.Answer{Text: "fine"}},
		"a call, then [DONE]":     {open + args(`{"city":"Oslo"}`) + done, providertest.Answer{Calls: oslo}},
		"counts as texts": {
			okChunk + `data: {"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":3.0,` +
				`"prompt_tokens_details":{"cached_tokens":"2"},"completion_tokens_details":{"reasoning_tokens":1.0}}}` + "\n\n" + done,
			providertest.Answer{Text: "fine", Usage: &core.Usage{Prompt: 7, Completion: 3, Total: 10, Cached: new(2), Reasoning: new(1)}},
		},
		"counts of nothing": {
			okChunk + `data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":null}}` + "\n\n" + done,
			providertest.Answer{Text: "fine"},
		},
		"fields of other types": {
			`data: {"id":7,"choices":[{"index":"0","delta":{"content":"fine","refusal":false},"finish_reason":"stop"}]}` + "\n\n",
			providertest.Answer{Text: "fine"},
		},
		"indices as texts": {
			calls(`{"index":"0","id":"a","function":{"name":"weather","arguments":"{\"city\":"}}`) +
				calls(`{"index":"1","id":"b","function":{"name":"clock","arguments":"{}"}}`) +
				calls(`{"index":"0","function":{"arguments":"\"Oslo\"}"}}`) + endChunk,
			providertest.Answer{Calls: append(oslo[:1:1], core.ToolCall{ID: "b", Name: "clock", Arguments: "{}"})},
		},
		"the older form of a call": {
			chunk(`{"function_call":{"name":"weather","arguments":""}}`) +
				chunk(`{"function_call":{"name":"weather","arguments":"{\"city\":"}}`) +
				chunk(`{"function_call":{"arguments":"\"Oslo\"}"}}`) +
				`data: {"choices":[{"delta":{},"finish_reason":"function_call"}]}` + "\n\n",
			providertest.Answer{Calls: oslo},
		},
		"a call with an empty name": {
			calls(`{"index":0,"id":"a","type":"function","function":{"name":"","arguments":"{\"city\":"}}`) +
				calls(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`) + endChunk,
			providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: core.NoToolName, Arguments: `{"city":"Oslo"}`}}},
		},
		"the older form, whole": {
			`{"choices":[{"message":{"content":null,"function_call":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},` +
				`"finish_reason":"function_call"}]}`, providertest.Answer{Calls: oslo},
		},
		"a call in both forms": {
			chunk(`{"tool_calls":[`+wholeCall+`],"function_call":{"name":"weather","arguments":"{}"}}`) + endChunk,
			providertest.Answer{Calls: oslo},
		},
		"cumulative arguments": {
			open + args(`{"ci`) + args(`{"city":`) + args(`{"city":"Oslo"}`) + endChunk, providertest.Answer{Calls: oslo},
		},
		"nested, not cumulative": {
			open + args(`{"a":`) + args(`{"a":1}`) + args(`}`) + endChunk,
			providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"a":{"a":1}}`}}},
		},
		"arguments whole once more": {
			open + args(`{"city":`) + args(`"Oslo"}`) + args(`{"city":"Oslo"}`) + endChunk, providertest.Answer{Calls: oslo},
		},
		"arguments in pieces, twice": {
			open + args(`{"city":`) + args(`"Oslo"}`) + args(`{"city":`) + args(`"Oslo"}`) + endChunk, providertest.Answer{Calls: oslo},
		},
		"an empty object first": {open + args(`{}`) + args(`{"city":`) + args(`"Oslo"}`) + endChunk, providertest.Answer{Calls: oslo}},
		"an empty object alone": {
			open + args(`{}`) + endChunk, providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{}`}}},
		},
		"an object in a text": {
			open + args(`{"x":"{}"`) + args(`,"y":"}"}`) + endChunk,
			providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"x":"{}","y":"}"}`}}},
		},
		"arguments in quotes": {
			open + args(`"{\"city\":`) + args(`\"Oslo\"}"`) + endChunk, providertest.Answer{Calls: oslo},
		},
		"arguments in quotes, whole": {
			`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"weather",` +
				`"arguments":"\"{\\\"city\\\":\\\"Oslo\\\"}\""}}]},"finish_reason":"tool_calls"}]}`,
			providertest.Answer{Calls: oslo},
		},
		"a text that is no object": {
			open + args(`"Oslo"`) + endChunk, providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "weather", Arguments: `"Oslo"`}}},
		},
		"a name in two pieces": {
			calls(`{"index":0,"id":"a","function":{"name":"weat"}}`) + calls(`{"index":0,"function":{"name":"her"}}`) +
				args(`{"city":"Oslo"}`) + endChunk, providertest.Answer{Calls: oslo},
		},
		"the same, with the id in both": {
			calls(`{"index":0,"id":"a","function":{"name":"weat","arguments":""}}`) +
				calls(`{"index":0,"id":"a","function":{"name":"her","arguments":"{\"city\":\"Oslo\"}"}}`) + endChunk,
			providertest.Answer{Calls: oslo},
		},
		"a name that has only begun": {
			calls(`{"index":0,"id":"a","function":{"name":"wea"}}`) + endChunk,
			providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "wea"}}},
		},
		"functions.NAME": {
			calls(strings.Replace(wholeCall, "weather", "functions.weather", 1)) + endChunk, providertest.Answer{Calls: oslo},
		},
		"functions.NAME:0": {
			calls(strings.Replace(wholeCall, "weather", "functions.weather:0", 1)) + endChunk, providertest.Answer{Calls: oslo},
		},
		"marks of a channel": {
			calls(strings.Replace(wholeCall, "weather", "weather<|channel|>commentary", 1)) + endChunk, providertest.Answer{Calls: oslo},
		},
		"marks of a channel before it": {
			calls(strings.Replace(wholeCall, "weather", "<|channel|>commentary to=functions.weather <|constrain|>json", 1)) + endChunk,
			providertest.Answer{Calls: oslo},
		},
		"thoughts without their mark": {
			chunk(`{"content":"hm"}`) + chunk(`{"content":"m\n</thi"}`) + chunk(`{"content":"nk>\n\nfi"}`) + chunk(`{"content":"ne"}`) +
				endChunk, providertest.Answer{Reasoning: "hmm\n", Text: "fine"},
		},
		"the same, whole": {
			`{"choices":[{"message":{"content":"hmm</think>fine"},"finish_reason":"stop"}]}`,
			providertest.Answer{Reasoning: "hmm", Text: "fine"},
		},
		"several lines of data": {
			"data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"fine\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n" + done,
			providertest.Answer{Text: "fine"},
		},
		"no blank lines":         {strings.ReplaceAll(okChunk+endChunk+done, "\n\n", "\n"), providertest.Answer{Text: "fine"}},
		"carriage returns alone": {strings.ReplaceAll(okChunk+endChunk+done, "\n", "\r"), providertest.Answer{Text: "fine"}},
		"fields of events": {
			"id: 1\nretry: 3000\nevent: ping\ndata: ping\n\nevent: message\n" + okChunk + endChunk + done,
			providertest.Answer{Text: "fine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, openai.Quirks{}, c.answer).ask(t, providertest.Ask("m", "x"))
			c.want.Finish, c.want.Deltas = core.FinishStop, got.Deltas
			if len(got.Calls) == 1 && len(c.want.Calls) == 1 && strings.HasPrefix(got.Calls[0].ID, "call_") {
				got.Calls[0].ID = "a" // the older form has none
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsUnderOneIDAreToldApart(t *testing.T) {
	t.Parallel()
	weather, clock := `"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}`, `"function":{"name":"clock",`+
		`"arguments":"{\"city\":\"Rome\"}"}`
	again := `"function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}`
	item := func(n int, args string) string {
		return fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"a","name":"weather","arguments":%q}`, n, args)
	}
	event := func(kind string, n int, item string) string {
		return fmt.Sprintf("data: {\"type\":\"response.output_item.%s\",\"output_index\":%d,\"item\":%s}\n\n", kind, n, item)
	}
	completed := `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n"
	for name, c := range map[string]struct {
		wire   openai.Wire
		answer string
	}{
		"other indices":      {openai.Chat, calls(`{"index":0,"id":"a",`+weather+`}`) + calls(`{"index":1,"id":"a",`+clock+`}`) + endChunk},
		"other indices only": {openai.Chat, calls(`{"index":0,"id":"a",`+weather+`}`) + calls(`{"index":1,"id":"a",`+again+`}`) + endChunk},
		"everything at 0":    {openai.Chat, calls(`{"index":0,"id":"a",`+weather+`}`) + calls(`{"index":0,"id":"a",`+clock+`}`) + endChunk},
		"whole": {
			openai.Chat,
			`{"choices":[{"message":{"tool_calls":[{"id":"a",` + weather + `},{"id":"a",` + again + `}]},"finish_reason":"tool_calls"}]}`,
		},
		"items one by one": {
			openai.Responses,
			event("added", 0, item(0, "")) + event("done", 0, item(0, `{"city":"Oslo"}`)) + event("added", 1, item(1, "")) +
				event("done", 1, item(1, `{"city":"Rome"}`)) + completed,
		},
		"items interleaved": {
			openai.Responses,
			event("added", 0, item(0, "")) + event("added", 1, item(1, "")) + event("done", 0, item(0, `{"city":"Oslo"}`)) +
				event("done", 1, item(1, `{"city":"Rome"}`)) + completed,
		},
		"items at once": {
			openai.Responses, event("done", 0, item(0, `{"city":"Oslo"}`)) + event("done", 1, item(1, `{"city":"Rome"}`)) + completed,
		},
		"a whole response": {
			openai.Responses, `{"status":"completed","output":[` + item(0, `{"city":"Oslo"}`) + "," + item(1, `{"city":"Rome"}`) + `]}`,
		},
		"the same item twice": {
			openai.Responses, event("done", 0, item(0, `{"city":"Oslo"}`)) + event("done", 1, item(0, `{"city":"Rome"}`)) + completed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serve(t, openai.Quirks{Wire: c.wire}, c.answer).ask(t, providertest.Ask("m", "x"))
			if len(a.Calls) != 2 || a.Calls[0].ID != "a" || a.Calls[1].ID == "a" || a.Calls[0].Arguments != `{"city":"Oslo"}` ||
				a.Calls[1].Arguments != `{"city":"Rome"}` {
				t.Errorf("calls %+v", a.Calls)
			}
			if a.Native != nil {
				t.Errorf("the items would go back as they came: %s", a.Native)
			}
		})
	}
}

func TestACallWhoseIDsDifferIsOneCall(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][3]string{
		"other items":    {`"id":"fc_1","call_id":"a"`, `"fc_2"`, `"id":"fc_3","call_id":"a"`},
		"other call ids": {`"id":"fc_1","call_id":"a"`, `"fc_1"`, `"id":"fc_1","call_id":"b"`},
		"all of them":    {`"id":"fc_1","call_id":"a"`, `"fc_2"`, `"id":"fc_3","call_id":"b"`},
		"no items":       {`"call_id":"a"`, `""`, `"call_id":"a"`},
	} {
		stream := `data: {"type":"response.output_item.added","output_index":"0","item":{"type":"function_call",` + ids[0] +
			`,"name":"weather","arguments":""}}` + "\n\n" +
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":` + ids[1] + `,"delta":"{\"city\":"}` +
			"\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call",` + ids[2] +
			`,"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}` + "\n\n" +
			`data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":"4","output_tokens":2.0}}}` +
			"\n\n"
		a := serve(t, openai.Quirks{Wire: openai.Responses}, stream).ask(t, providertest.Ask("m", "x"))
		if diff := cmp.Diff([]core.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"Oslo"}`}}, a.Calls); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(&core.Usage{Prompt: 4, Completion: 2, Total: 6}, a.Usage); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// packed answers with a stream that is packed although nobody asked for it.
func TestAPackedStreamIsReadOnBothWires(t *testing.T) {
	t.Parallel()
	for wire, answer := range map[openai.Wire]string{openai.Chat: whole, openai.Responses: responsesOK} {
		r := serveFunc(t, openai.Quirks{Wire: wire}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "deflate")
			z := zlib.NewWriter(w)
			for _, event := range strings.SplitAfter(answer, "\n\n") {
				_, _ = io.WriteString(z, event)
				_ = z.Flush()
			}
			_ = z.Close()
		})
		if a := r.ask(t, providertest.Ask("m", "x")); a.Text != "fine" {
			t.Errorf("%q: text %q", wire, a.Text)
		}
	}
}

func TestErrorsInWordsKeepTheirWords(t *testing.T) {
	t.Parallel()
	page := "<html><head><title>504 upstream timed out</title></head><body>x</body></html>"
	for name, c := range map[string]struct {
		answer, want string
		kind         core.Kind
	}{
		"an event in plain text": {okChunk + "event: error\ndata: the engine has died\n\n", "the engine has died", core.Unavailable},
		"an event with a page":   {"event: error\ndata: " + page + "\n\n", "504 upstream timed out", core.Unavailable},
		"an event with JSON": {
			"event: error\n" + `data: {"message":"too many requests, try again in 2s"}` + "\n\n", "too many requests", core.RateLimited,
		},
		"data in plain text":     {"data: upstream connect error\n\n", "upstream connect error", core.Unavailable},
		"a page in place of it":  {"\n" + page + "\n", "504 upstream timed out", core.Unavailable},
		"words in place of it":   {"no healthy upstream\n", "no healthy upstream", core.Unavailable},
		"words behind a comment": {": hello\n\nserver busy\n", "server busy", core.Unavailable},
		"a text as JSON":         {`data: {"error":"boom in words"}` + "\n\n", "boom in words", core.Unavailable},
		"what a server behind it": {
			`data: {"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too ` +
				`long\"}}","provider_name":"X"}}}` + "\n\n", "prompt is too long (X)", core.TooLong,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wire := range []openai.Wire{openai.Chat, openai.Responses} {
				if e := serve(
					t,
					openai.Quirks{Wire: wire},
					c.answer,
				).fails(t, providertest.Ask("m", "x")); e.Kind != c.kind ||
					!strings.Contains(e.Msg, c.want) {
					t.Errorf("%q: %s %q", wire, e.Kind, e.Msg)
				}
			}
		})
	}
}

func TestAServerThatSwallowsAMarkIsKnownAfterItsFirstAnswer(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{}, chunk(`{"content":"hm"}`)+chunk(`{"content":"m\n"}`)+chunk(`{"content":"</think>\n\nfine"}`)+endChunk)
	for _, want := range []int{1, 0} {
		flips, text := 0, ""
		for d, err := range r.client.Stream(t.Context(), providertest.Ask("m", "x")) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Thought {
				flips, text = flips+1, ""
			}
			text += d.Text
		}
		if flips != want || text != "fine" {
			t.Errorf("%d times taken back, want %d: %q", flips, want, text)
		}
	}
}

// held answers with some bytes and then stays open until the request ends.
type held struct {
	answer string
	beat   time.Duration // a keep-alive comes as often
	alive  string        // what it is; "": a comment
}

func (h held) RoundTrip(req *http.Request) (*http.Response, error) {
	body := &heldBody{ctx: req.Context(), from: strings.NewReader(h.answer), beat: h.beat, alive: h.alive}
	if body.alive == "" {
		body.alive = ": waiting\n\n"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: req}, nil
}

type heldBody struct {
	ctx   context.Context
	from  *strings.Reader
	beat  time.Duration
	alive string
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.from.Len() > 0 {
		return b.from.Read(p)
	}
	var beat <-chan time.Time
	if b.beat > 0 {
		timer := time.NewTimer(b.beat)
		defer timer.Stop()
		beat = timer.C
	}
	select {
	case <-beat:
		return copy(p, b.alive), nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (*heldBody) Close() error { return nil }

func TestAnAnswerThatStaysOpenEnds(t *testing.T) {
	t.Parallel()
	counted := `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n"
	for name, c := range map[string]struct {
		wire   openai.Wire
		answer string
		beat   time.Duration
		want   time.Duration
	}{
		"with finish and usage":         {openai.Chat, okChunk + endChunk + counted, 0, 2 * time.Second},
		"with comments behind them":     {openai.Chat, okChunk + endChunk + counted, time.Second, 2 * time.Second},
		"with a finish alone":           {openai.Chat, okChunk + endChunk, 0, 10 * time.Second},
		"with [DONE]":                   {openai.Chat, whole, 0, 0},
		"with the end of the responses": {openai.Responses, responsesOK, time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := openai.New(
					protocol.Options{Provider: "vendor", BaseURL: "http://vendor.test/v1", HTTP: held{answer: c.answer, beat: c.beat}},
					openai.Quirks{Wire: c.wire},
				)
				start := time.Now()
				a, err := providertest.Collect(t.Context(), t, client, providertest.Ask("m", "x"))
				if err != nil || a.Text != "fine" || time.Since(start) != c.want {
					t.Errorf("after %v: %q %v", time.Since(start), a.Text, err)
				}
			})
		})
	}
}

func TestKeepAlivesAloneEndAStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alive     string
		set, want time.Duration
	}{
		"comments":                 {"", 0, 15 * time.Minute},
		"comments for a minute":    {"", time.Minute, time.Minute},
		"empty pieces":             {chunk(`{"content":""}`), time.Minute, time.Minute},
		"pieces of nothing at all": {chunk(`{}`), time.Minute, time.Minute},
		"events without a piece":   {`data: {"choices":[]}` + "\n\n", time.Minute, time.Minute},
		"pieces without a delta":   {`data: {"choices":[{"index":0,"delta":null}]}` + "\n\n", time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := openai.New(
					protocol.Options{
						Provider: "vendor",
						BaseURL:  "http://vendor.test/v1",
						HTTP:     held{okChunk, 10 * time.Second, c.alive},
						Comments: c.set,
					},
					openai.Quirks{},
				)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				start := time.Now()
				_, err := providertest.Collect(ctx, t, client, providertest.Ask("m", "x"))
				took := time.Since(start)
				if !errors.Is(err, wire.ErrComments) || core.HintOf(err) == "" || took < c.want || took > c.want+30*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestAnAnswerThatIsSlowIsNotKeptAliveAlone(t *testing.T) {
	t.Parallel()
	for name, beat := range map[string]string{
		"text": chunk(`{"content":"x"}`), "reasoning": chunk(`{"content":"","reasoning_content":"x"}`),
		"arguments": calls(`{"index":0,"id":"c","function":{"name":"memory_insert","arguments":"x"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := openai.New(
					protocol.Options{
						Provider: "vendor", BaseURL: "http://vendor.test/v1", Comments: time.Minute,
						HTTP: held{okChunk, 50 * time.Second, beat},
					},
					openai.Quirks{},
				)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				_, err := providertest.Collect(ctx, t, client, providertest.Ask("m", "x"))
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}
