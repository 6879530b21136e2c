package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestLinesTellACleanEndFromABrokenOne(t *testing.T) {
	t.Parallel()
	read := func(r io.Reader) (lines []string, err error) {
		l := NewLines(r)
		for {
			line, err := l.Next()
			if err != nil {
				_, again := l.Next()
				if !errors.Is(again, err) {
					t.Errorf("first %v, then %v", err, again)
				}
				return lines, err
			}
			lines = append(lines, string(line))
		}
	}
	long := strings.Repeat("x", 100_000)
	lines, err := read(iotest.OneByteReader(strings.NewReader("a\r\n\nb\rc\r\r\n" + long + "\nlast")))
	if diff := cmp.Diff([]string{"a", "", "b", "c", "", long, "last"}, lines); diff != "" || !errors.Is(err, io.EOF) {
		t.Errorf("%v %s", err, diff)
	}
	broke := errors.New("broke")
	lines, err = read(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broke)))
	if diff := cmp.Diff([]string{"a"}, lines); diff != "" || !errors.Is(err, broke) {
		t.Errorf("%v %s", err, diff)
	}
	if _, err = read(strings.NewReader(strings.Repeat("x", MaxLine+1))); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestReasoningInTheTextIsSplitOffHoweverItIsCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"plain text":                           {"", "plain text"},
		"<think>hm</think>\n\nso":              {"hm", "so"},
		"\n<think>\na < b\n</think>so</think>": {"a < b\n", "so</think>"},
		"<think>never closed":                  {"never closed", ""},
		"<thin":                                {"", "<thin"},
		"a <think>late</think>":                {"", "a <think>late</think>"},
		"<think></think>x":                     {"", "x"},
		"":                                     {"", ""},
		"hm\n</think>\n\nso":                   {"hm\n", "so"},
		"hm</think>so </think>":                {"hm", "so </think>"},
		"hm </think>\nso":                      {"hm ", "so"},
		"</think>so":                           {"", "so"},
		"hm</think>":                           {"hm", ""},
		"it ends with </think> and":            {"", "it ends with </think> and"},
		"the mark `</think>` ends it":          {"", "the mark `</think>` ends it"},
		"a <think>x</think>\nb":                {"", "a <think>x</think>\nb"},
	} {
		for size := 1; size <= len(text)+1; size++ {
			var s Splitter
			var got [2]string
			take := func(p Split) {
				if p.Flip {
					got[0], got[1] = got[0]+got[1], ""
				}
				got[0], got[1] = got[0]+p.Reasoning, got[1]+p.Text
			}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				take(s.Add(rest[:n]))
				rest = rest[n:]
			}
			take(s.End())
			if got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}

func TestTextOfAServerThatSwallowsTheMarkWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	s := Splitter{Hold: true}
	pieces, want := []string{"hm", "m\n", "</think>\nfi", "ne"}, []Split{{}, {}, {Reasoning: "hmm\n", Text: "fi"}, {Text: "ne"}}
	for i, p := range pieces {
		if got := s.Add(p); got != want[i] {
			t.Errorf("%q: %+v, want %+v", p, got, want[i])
		}
	}
	s = Splitter{Hold: true}
	if got := s.Add("no thoughts"); got != (Split{}) {
		t.Errorf("got %+v", got)
	}
	if got := s.End(); got != (Split{Text: "no thoughts"}) {
		t.Errorf("at the end %+v", got)
	}
}

func TestFailuresHaveTheirKinds(t *testing.T) {
	t.Parallel()
	who := Who{Provider: "vendor"}
	for _, c := range []struct {
		status int
		body   string
		want   core.Kind
	}{
		{
			429, `{"error":{"message":"Rate limit reached: too many tokens per minute, reduce the length","code":"rate_limit_exceeded"}}`,
			core.RateLimited,
		},
		{413, `{"error":{"message":"Request too large on tokens per minute (TPM)","code":"rate_limit_exceeded"}}`, core.RateLimited},
		{413, `{"error":{"message":"body too big"}}`, core.TooLong},
		{429, `{"error":{"code":"insufficient_quota"}}`, core.NoCredit},
		{402, `{"error":{"message":"Insufficient Balance"}}`, core.NoCredit},
		{400, `{"error":{"code":"string_above_max_length","message":"maximum context length"}}`, core.Invalid},
		{
			400, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400}}`,
			core.TooLong,
		},
		{500, `{"error":"the prompt is longer than the context length currently available to the model"}`, core.TooLong},
		{401, `{"error":{"message":"no"}}`, core.Unauthenticated},
		{403, ``, core.Unauthenticated},
		{400, `{"error":{"message":"Failed to call a function","code":"tool_use_failed"}}`, core.Unavailable},
		{408, ``, core.Timeout},
		{504, `<html>`, core.Timeout},
		{502, `<html>bad gateway</html>`, core.Unavailable},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, core.Unavailable},
		{404, `{"error":"model 'x' not found"}`, core.NotFound},
		{400, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, core.NotFound},
		{404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, core.NotFound},
		{404, `{"detail":"Not Found"}`, core.Invalid},
		{404, `<html>the model page</html>`, core.Invalid},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, core.Invalid},
		{
			400,
			`{"error":"Trying to keep the first 5012 tokens when context the overflows. However, the model is loaded with context ` +
				`length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or ` +
				`provide a shorter input"}`, core.TooLong,
		},
		{
			403,
			`{"error":{"code":403,"message":"x requires moderation","metadata":{"reasons":["violence"],"flagged_input":"…",` +
				`"provider_name":"OpenAI"}}}`, core.Invalid,
		},
		{403, `{"error":{"message":"Your input was flagged by our safety filter"}}`, core.Invalid},
		{500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, core.Invalid},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, core.Unavailable},
	} {
		e := who.Status(c.status, http.Header{}, []byte(c.body))
		if e.Kind != c.want || !e.Provider || e.Msg == "" || strings.Contains(e.Msg, "<html>") {
			t.Errorf("%d %s: %s %q", c.status, c.body, e.Kind, e.Msg)
		}
	}
}

func TestWhatAServerSaidIsFoundInEveryShape(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`<!DOCTYPE html><html><head><title>502 Bad Gateway &amp; more</title></head><body>nginx</body></html>`: "502 Bad Gateway & more",
		`<html><body><h1 class="x">Upstream is down</h1></body></html>`:                                        "Upstream is down",
		`<html></html>`:          "bad gateway",
		`upstream connect error`: "upstream connect error",
		`"just a text"`:          "just a text",
		"event: error\ndata: {\"error\":{\"message\":\"boom\"}}\n\n":                           "boom",
		`{"detail":[{"loc":["body","messages",0],"msg":"field required"},{"msg":"too long"}]}`: "body.messages.0: field required; too long",
		`{"errors":[{"message":"no capacity"}]}`:                                               "no capacity",
		`{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"engine ` +
			`gone\"}}","provider_name":"X"}}}`: "Provider returned error: engine gone (X)",
		`{"error":{"message":"Provider returned error","code":502,` +
			`"metadata":{"raw":"plain words"}}}`: "Provider returned error: plain words",
	} {
		if e := (Who{Provider: "vendor"}).Status(502, nil, []byte(body)); e.Msg != "vendor: "+want {
			t.Errorf("%s: %q", body, e.Msg)
		}
	}
	deep := `{"error":{"message":"a","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"Please try again in 3s\",` +
		`\"code\":\"rate_limit_exceeded\"}}"}}}`
	if e := (Who{Provider: "v"}).InBand([]byte(deep)); e.Kind != core.RateLimited || e.RetryAfter != 3*time.Second {
		t.Errorf("%s %v", e.Kind, e.RetryAfter)
	}
}

func TestWhatMayBeLeftOutIsToldFromOtherErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]Refusal{
		`{"error":{"message":"request argument supplied: stream_options"}}`:                                        RefusedUsage,
		`{"error":{"message":"System role not supported"}}`:                                                        RefusedSystem,
		`{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model."}}`: RefusedSystem,
		`{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`:                                   RefusedTools,
		`{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and ` +
			`--tool-call-parser to be set"}`: RefusedTools,
		`{"error":{"message":"No endpoints found that support tool use."}}`:                                       RefusedTools,
		`{"error":{"message":"No endpoints found that support the provided 'tool_choice' value."}}`:               RefusedChoice,
		`{"error":{"message":"Tool choice is required, but model did not call a tool","code":"tool_use_failed"}}`: "",
		`{"error":{"message":"gemma does not support tool calling"}}`:                                             RefusedTools,
		`{"error":{"message":"This model does not support tool_choice=required"}}`:                                RefusedChoice,
		`{"error":{"message":"deepseek-reasoner does not support this tool_choice"}}`:                             RefusedChoice,
		`{"error":{"message":"request argument supplied: tools: 'tool_choice' unsupported"}}`:                     RefusedTools,
		`{"error":{"message":"Unsupported parameter: 'reasoning.summary'"}}`:                                      RefusedSummary,
		`{"error":{"message":"No endpoints found that support image input"}}`:                                     RefusedImages,
		`{"object":"error","message":"my-model is not a multimodal model"}`:                                       RefusedImages,
		`{"error":{"message":"messages[1].content must be a string"}}`:                                            RefusedImages,
		`{"error":{"message":"messages is empty"}}`:                                                               "",
	} {
		if got := Refused((Who{Provider: "v"}).Status(400, nil, []byte(body))); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func TestNamesOfToolsAreFoundInsideOfMarks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"weather": "weather", "functions.weather": "weather", "functions.weather:0": "weather", "weather<|channel|>commentary": "weather",
		"<|channel|>commentary to=functions.weather<|constrain|>json": "weather", "weather<|": "weather",
		"functions.other": "functions.other", "we$ather": "we$ather",
		"": core.NoToolName, " ": core.NoToolName,
	} {
		if got := ToolName(name, []string{"weather", "clock"}); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestTextsOfFailuresAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	who := Who{Provider: "vendor", Secrets: []core.Secret{"sk-0123456789"}}
	e := who.Status(400, nil, []byte(`{"error":{"message":"key sk-0123456789\u001b[31m\nis `+strings.Repeat("ü", 5000)+`"}}`))
	if strings.ContainsAny(e.Msg, "\x1b\n") || strings.Contains(e.Msg, "sk-0123456789") || len(e.Msg) > 700 ||
		!strings.HasSuffix(e.Msg, "ü…") {
		t.Errorf("%q", e.Msg)
	}
	e = who.Network(
		t.Context(),
		nil,
		&url.Error{Op: "Post", URL: "http://user:sk-0123456789@host/", Err: errors.New("sk-0123456789 refused")},
	)
	if strings.Contains(e.Error(), "sk-0123456789") || e.Kind != core.Unavailable {
		t.Errorf("%q", e.Error())
	}
}

func TestAPauseIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"2": 2 * time.Second, "0.5": 500 * time.Millisecond, "": 0, "-3": 0, "soon": 0, "1e300": 24 * time.Hour,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second,
		} {
			if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	})
}

func TestALimitThatIsResetIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		header := func(pairs ...string) http.Header {
			h := http.Header{}
			for i := 0; i < len(pairs); i += 2 {
				h.Set(pairs[i], pairs[i+1])
			}
			return h
		}
		in := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
		for name, c := range map[string]struct {
			header http.Header
			said   string
			want   time.Duration
		}{
			"in words":         {nil, "Rate limit reached. Please try again in 2.5s. Visit", 2500 * time.Millisecond},
			"in milliseconds":  {nil, "Please try again in 120ms.", 120 * time.Millisecond},
			"in minutes":       {nil, "Please try again in 1m2.5s.", 62500 * time.Millisecond},
			"in long words":    {nil, "quota: retry after 20 seconds", 20 * time.Second},
			"in a bare number": {nil, "please retry in 7", 7 * time.Second},
			"not said":         {nil, "try again later", 0},
			"the header first": {header("Retry-After", "1"), "try again in 9s", time.Second},
			"a span": {
				header("x-ratelimit-reset-requests", "6m0s", "x-ratelimit-remaining-requests", "3", "x-ratelimit-reset-tokens", "7.66s",
					"x-ratelimit-remaining-tokens", "0"), "", 7660 * time.Millisecond,
			},
			"milliseconds of Unix": {header("X-RateLimit-Reset", fmt.Sprint(in(4*time.Second))), "", 4 * time.Second},
			"seconds of Unix":      {header("X-RateLimit-Reset", fmt.Sprint(in(4*time.Second)/1000)), "", 4 * time.Second},
			"seconds":              {header("RateLimit-Reset", "12"), "", 12 * time.Second},
			"a date": {
				header("anthropic-ratelimit-tokens-reset", time.Now().Add(5*time.Second).UTC().Format(time.RFC3339)), "", 5 * time.Second,
			},
			"nonsense": {header("x-ratelimit-reset", "soon-ish"), "", 0},
			"the past": {header("x-ratelimit-reset", "900000000"), "", 0},
		} {
			body := `{"error":{"message":"` + c.said + `"}}`
			if e := (Who{Provider: "v"}).Status(429, c.header, []byte(body)); e.RetryAfter != c.want || e.Kind != core.RateLimited {
				t.Errorf("%s: %s %v, want %v", name, e.Kind, e.RetryAfter, c.want)
			}
		}
	})
}

func TestAPackedAnswerIsUnpacked(t *testing.T) {
	t.Parallel()
	const said = "data: hello\n\n"
	var zlibbed, raw, gzipped bytes.Buffer
	z := zlib.NewWriter(&zlibbed)
	f, _ := flate.NewWriter(&raw, 5)
	g := gzip.NewWriter(&gzipped)
	for _, w := range []io.WriteCloser{z, f, g} {
		_, _ = io.WriteString(w, said)
		_ = w.Close()
	}
	for name, c := range map[string]struct {
		how  string
		body []byte
	}{
		"zlib": {"deflate", zlibbed.Bytes()}, "raw": {"Deflate", raw.Bytes()}, "gzip": {"gzip", gzipped.Bytes()},
		"plain": {"identity", []byte(said)},
	} {
		resp := &http.Response{Header: http.Header{"Content-Encoding": {c.how}}, Body: io.NopCloser(bytes.NewReader(c.body))}
		Unpack(resp)
		if got, err := io.ReadAll(resp.Body); string(got) != said || err != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	resp := &http.Response{Header: http.Header{"Content-Encoding": {"br"}}, Body: io.NopCloser(strings.NewReader("x"))}
	Unpack(resp)
	_, err := io.ReadAll(resp.Body)
	if e := (Who{Provider: "v"}).Network(t.Context(), nil, err); e.Kind != core.Unavailable || !strings.Contains(e.Msg, "br") {
		t.Errorf("%v", e)
	}
}

func TestAWatchCountsOnlyWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch(t.Context(), time.Second)
		defer w.Stop()
		r, pipe := io.Pipe()
		go func() { _, _ = pipe.Write([]byte("x")) }()
		if _, err := w.Reader(r).Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		pause, cancel := context.WithTimeout(t.Context(), time.Minute) // a slow consumer
		defer cancel()
		<-pause.Done()
		if err := w.Context().Err(); err != nil {
			t.Errorf("the watch ended: %v", err)
		}
		stop := context.AfterFunc(w.Context(), func() { _ = r.CloseWithError(w.Context().Err()) })
		defer stop()
		_, err := w.Reader(r).Read(make([]byte, 1))
		if e := (Who{Provider: "v"}).Network(t.Context(), w, err); e.Kind != core.Timeout {
			t.Errorf("got %v", e)
		}
	})
}

func FuzzErrorBodies(f *testing.F) {
	for _, s := range []string{
		`{"error":{"message":"x"}}`, `{"error":"x"}`, `[{"error":{}}]`, `{"message":[1]}`, "<html>", "", "[",
		`{"error":{"message":{"a":1}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, status := range []int{0, 200, 400, 429, 500} {
			if e := (Who{Provider: "v", Secrets: []core.Secret{"secret-key"}}).Status(
				status,
				nil,
				body,
			); e.Kind == "" || e.Msg == "" ||
				strings.Contains(e.Msg, "secret-key") {
				t.Errorf("%d %q: %+v", status, body, e)
			}
		}
	})
}

func TestARequestTooLongForAModelIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	const said = `{"error":{"message":"the input is too long","code":"context_length_exceeded"}}`
	for name, e := range map[string]*core.Error{
		"a status": (Who{Provider: "v"}).Status(400, nil, []byte(said)), "in the stream": (Who{Provider: "v"}).InBand([]byte(said)),
	} {
		if e.Kind != core.TooLong || !strings.Contains(core.HintOf(e), "a model with a larger context window") {
			t.Errorf("%s: %v, %q", name, e, core.HintOf(e))
		}
	}
}
