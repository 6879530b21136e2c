package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/internal/wire"
	"loci/providers/providertest"
)

// read reads a canned answer.
func read(t *testing.T, body string) (providertest.Answer, error) {
	t.Helper()
	return providertest.Collect(t.Context(), t, anthropic.New(options(canned(body)), anthropic.Quirks{}),
		providertest.Ask("claude-opus-5-5", "x"))
}

func TestAnAnswerIsTheSameStreamedAndNot(t *testing.T) {
	t.Parallel()
	turn := providertest.Turn{
		Reasoning: "They want both.", Text: "Both — <now>.",
		Calls: []providertest.Call{
			{ID: "toolu_1", Name: "weather", Arguments: `{"city":"Ås"}`}, {ID: "toolu_2", Name: "clock", Arguments: `{}`},
		},
	}
	for _, model := range []string{"claude-opus-5-5", "claude-haiku-4-5", "test-model"} {
		for name, change := range map[string]func(*providertest.Turn){
			"calls": func(*providertest.Turn) {}, "sealed": func(t *providertest.Turn) { t.Sealed = true },
			"length": func(t *providertest.Turn) { t.Finish = "length" }, "no usage": func(t *providertest.Turn) { t.NoUsage = true },
			"refused": func(t *providertest.Turn) { t.Finish, t.Refusal, t.Text, t.Calls = "refusal", "Not this.", "", nil },
		} {
			turn := turn
			change(&turn)
			var got []providertest.Answer
			for _, q := range []anthropic.Quirks{{}, {Whole: true}} {
				s := claude(t, turn)
				req := providertest.Ask(model, "hello")
				req.Settings.ReasoningEffort, req.Window = "high", 200_000
				a, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", q), req)
				if err != nil {
					t.Fatalf("%s %s: %v", model, name, err)
				}
				a.Deltas = 0
				got = append(got, a)
			}
			if a := got[0].Usage; a != nil { // the words stream and stream:true are part of what is counted
				a.Prompt, a.Total, a.CacheWrite = got[1].Usage.Prompt, got[1].Usage.Total, got[1].Usage.CacheWrite
			}
			if diff := cmp.Diff(got[1], got[0]); diff != "" {
				t.Errorf("%s %s (-whole +streamed):\n%s", model, name, diff)
			}
		}
	}
}

func TestUsageIsCumulativeAndKnowsBothLifetimes(t *testing.T) {
	t.Parallel()
	want := &core.Usage{
		Prompt: 18, Completion: 7, Total: 25, Cached: new(5), CacheWrite: new(3), CacheWriteHour: new(2),
	}
	for name, last := range map[string]string{
		"left out": `{"output_tokens":7}`,
		"repeated": `{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":7}`,
		"zero":     `{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}`,
		"odd":      `{"input_tokens":10,"output_tokens":7,"cache_creation":"none"}`,
	} {
		a, err := read(t, start+text+strings.Replace(stop, `{"output_tokens":7}`, last, 1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.Usage); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEveryEndIsTold(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		finish core.Finish
		empty  core.Kind // if there was nothing before it
		native bool
	}{
		"end_turn": {core.FinishStop, core.Unavailable, true}, "tool_use": {core.FinishStop, core.Unavailable, true},
		"max_tokens": {core.FinishLength, "", false}, "model_context_window_exceeded": {core.FinishLength, core.TooLong, false},
		"refusal": {core.FinishRefused, "", false}, "something_new": {core.FinishStop, core.Unavailable, true},
	} {
		a, err := read(t, start+text+strings.Replace(stop, "end_turn", reason, 1))
		if err != nil || a.Finish != c.finish || a.Text != "Hello" || (a.Native != nil) != c.native {
			t.Errorf("%s: %+v, %v", reason, a, err)
		}
		if a, err = read(t, start+strings.Replace(stop, "end_turn", reason, 1)); core.KindOf(err) != c.empty && (err != nil ||
			c.empty != "") {
			t.Errorf("%s without an answer: %+v, %v", reason, a, err)
		}
	}
	why := strings.Replace(stop, `"end_turn"`, `"refusal","stop_details":{"type":"refusal","explanation":"Not this."}`, 1)
	if a, err := read(t, start+why); err != nil || a.Text != "Not this." || a.Finish != core.FinishRefused {
		t.Errorf("a refusal that says why: %+v, %v", a, err)
	}
}

func TestAPausedTurnGoesOn(t *testing.T) {
	t.Parallel()
	s := claude(t, providertest.Turn{Reasoning: "Slow.", Text: "One, ", Finish: "pause_turn"}, providertest.Turn{
		Text:   "two, ",
		Finish: "pause_turn",
	},
		providertest.Turn{Text: "three.", Calls: []providertest.Call{{
			ID: "toolu_1", Name: "clock",
			Arguments: "{}",
		}}}, providertest.Turn{Text: "ok"})
	client := newClient(t, s, "k", anthropic.Quirks{})
	req := described(t, client, providertest.Ask("claude-opus-5-5", "count"))
	a, err := providertest.Collect(t.Context(), t, client, req)
	if err != nil || a.Text != "One, two, three." || len(a.Calls) != 1 || a.Finish != core.FinishStop {
		t.Fatalf("%+v, %v", a, err)
	}
	r := s.Requests()
	if last := r[2].Messages[len(r[2].Messages)-1]; last.Role != "assistant" || last.Text != "One, two, " {
		t.Errorf("what was said goes back: %+v", last)
	}
	if a.Usage.Completion < 3 || a.Usage.Prompt < 2*len(r[0].Body)/8 {
		t.Errorf("the usage of all three: %+v", a.Usage)
	}
	req.Messages = append(req.Messages, providertest.Continue(a, "noon")...)
	if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
		t.Errorf("the whole turn goes back: %v", err)
	}
	for range 20 {
		s.Script(providertest.Turn{Text: "x", Finish: "pause_turn"})
	}
	if a, err := providertest.Collect(t.Context(), t, client, providertest.Ask("claude-opus-5-5", "on")); err != nil || len(a.Text) != 11 {
		t.Errorf("one that never ends: %q, %v", a.Text, err)
	}
}

func TestABlockThatCannotGoBackAsItCameDoesNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		kept bool
	}{
		"text":     {start + text + stop, true},
		"thinking": {start + thought + strings.ReplaceAll(text, `"index":0`, `"index":1`) + stop, true},
		"without a signature": {start + strings.ReplaceAll(thought, `"s1"`, `""`) + strings.ReplaceAll(text, `"index":0`,
			`"index":1`) + stop, false},
		"a call that is half":     {start + call + stop, false},
		"a kind of delta unknown": {start + strings.ReplaceAll(text, "text_delta", "song_delta") + text + stop, false},
		"a block that is no block": {start + "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":7}\n\n" + text +
			stop, false},
		"another's block, whole": {
			start + "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"new\",\"x\":[1]}}\n\n" + text +
				stop, true,
		},
	} {
		a, err := read(t, c.body)
		if err != nil || (a.Native != nil) != c.kept {
			t.Errorf("%s: %s, %v", name, a.Native, err)
		}
	}
}

func TestServersThatAreAlmostRight(t *testing.T) {
	t.Parallel()
	filled := strings.ReplaceAll(call, `"input":{}`, `"input":{"city":"Oslo"}`)
	filled = filled[:strings.Index(filled, "\n\n")+2]
	for name, body := range map[string]string{
		"no start, no names":       strings.ReplaceAll(text+stop, "event: ", ": "),
		"no blank lines":           strings.ReplaceAll(start+text+stop, "\n\n", "\n"),
		"no message_stop":          strings.Split(start+text+stop, "event: message_stop")[0],
		"a mark of bytes in front": "\ufeff" + whole,
		"pings":                    strings.ReplaceAll(start+text+stop, "\n\n", "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"),
		"an unknown event":         start + "event: weather\ndata: {\"type\":\"weather\",\"delta\":\"sun\"}\n\n" + text + stop,
		"text in the start": start + strings.ReplaceAll(strings.Split(text, "event: content_block_delta")[0], `"text":""`,
			`"text":"Hello"`) + stop,
		"arguments in the start": start + text + filled + stop,
	} {
		a, err := read(t, body)
		if err != nil || a.Text != "Hello" || a.Finish != core.FinishStop {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if name == "arguments in the start" && (len(a.Calls) != 1 || a.Calls[0].Arguments != `{"city":"Oslo"}`) {
			t.Errorf("%s: %+v", name, a.Calls)
		}
	}
}

func TestErrorsAreClassifiedAndInTheServersWords(t *testing.T) {
	t.Parallel()
	says := func(kind, words string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + words + `"}}`
	}
	const spent = `{"type":"error","error":{"type":"rate_limit_error","message":"Limit",` +
		`"details":{"error_code":"enforced_spend_limit_reached"}}}`
	for _, c := range []struct {
		status int
		body   string
		want   core.Kind
	}{
		{529, says("overloaded_error", "Overloaded"), core.Unavailable},
		{500, says("api_error", "Internal server error"), core.Unavailable},
		{429, says("rate_limit_error", "You exceeded your rate limit"), core.RateLimited},
		{429, spent, core.NoCredit},
		{402, says("billing_error", "Pay first"), core.NoCredit},
		{400, says("invalid_request_error", "Your credit balance is too low"), core.NoCredit},
		{400, says("invalid_request_error", "You have reached your specified API usage limits."), core.NoCredit},
		{400, says("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), core.TooLong},
		{400, says("invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000"), core.TooLong},
		{413, says("request_too_large", "Request exceeds the maximum size"), core.TooLong},
		{404, says("not_found_error", "model: claude-opus-9"), core.NotFound},
		{403, says("permission_error", "Your key may not"), core.Unauthenticated},
		{401, says("authentication_error", "invalid x-api-key"), core.Unauthenticated},
		{200, "event: error\ndata: " + says("overloaded_error", "Overloaded"), core.Unavailable},
		{200, "event: error\ndata: " + says("rate_limit_error", "Slow down"), core.RateLimited},
		{200, says("overloaded_error", "Overloaded"), core.Unavailable},
		{200, "<html><title>A proxy</title></html>", core.Unavailable},
	} {
		client := anthropic.New(options(answering{c.status, c.body}), anthropic.Quirks{})
		_, err := providertest.Collect(t.Context(), t, client, providertest.Ask("claude-opus-5-5", "x"))
		if core.KindOf(err) != c.want {
			t.Errorf("%d %s: %q: %v", c.status, c.body, core.KindOf(err), err)
		}
	}
}

// answering answers with a status and a body.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := canned(a.body).RoundTrip(req)
	resp.StatusCode = a.status
	return resp, err
}

// slow sends a piece over and over, with a pause before each.
type slow struct {
	piece string
	pause time.Duration
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: &slowBody{s, req, false}}, nil
}

type slowBody struct {
	slow
	req   *http.Request
	begun bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		return copy(p, start), nil
	}
	select {
	case <-time.After(b.pause):
		return copy(p, b.piece), nil
	case <-b.req.Context().Done():
		return 0, b.req.Context().Err()
	}
}

func (*slowBody) Close() error { return nil }

var _ io.ReadCloser = (*slowBody)(nil)

func TestAServerThatSaysNothingIsLeft(t *testing.T) {
	t.Parallel()
	ping := "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	for name, c := range map[string]struct {
		from slow
		want error
		kind core.Kind
		took time.Duration
	}{
		"silence":  {slow{"", time.Hour}, nil, core.Timeout, wire.DefaultIdle},
		"pings":    {slow{ping, 20 * time.Second}, wire.ErrComments, core.Unavailable, wire.DefaultComments},
		"comments": {slow{": still here\n\n", 20 * time.Second}, wire.ErrComments, core.Unavailable, wire.DefaultComments},
		"pieces of nothing": {
			slow{"data: {\"type\":\"later\"}\n\n", 20 * time.Second},
			wire.ErrComments, core.Unavailable,
			wire.DefaultComments,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := providertest.Collect(t.Context(), t, anthropic.New(options(c.from), anthropic.Quirks{}),
				providertest.Ask("claude-opus-5-5", "x"))
			took := time.Since(begun)
			if core.KindOf(err) != c.kind || c.want != nil && !errors.Is(err, c.want) || took < c.took || took > c.took+time.Minute {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
	}
}
