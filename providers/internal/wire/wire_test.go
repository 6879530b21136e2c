package wire

import (
	"context"
	"errors"
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
	lines, err := read(strings.NewReader("a\r\n\n" + long + "\nlast"))
	if diff := cmp.Diff([]string{"a", "", long, "last"}, lines); diff != "" || !errors.Is(err, io.EOF) {
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
	} {
		for size := 1; size <= len(text)+1; size++ {
			var s Splitter
			var got [2]string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				r, x := s.Add(rest[:n])
				got[0], got[1], rest = got[0]+r, got[1]+x, rest[n:]
			}
			r, x := s.End()
			got[0], got[1] = got[0]+r, got[1]+x
			if got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}

func TestCallsInTheTextAreFoundHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	offered := func(name string) bool { return name == "clock" || name == "weather" }
	for text, want := range map[string]struct {
		text  string
		calls []core.ToolCall
	}{
		"no calls < here": {"no calls < here", nil},
		"Wait.\n<tool_call>\n{\"name\":\"clock\",\"arguments\":{\"city\":\"Oslo\"}}\n</tool_call>\n<tool_call>{\"name\":\"weather\"}</tool_call>": {
			"Wait.\n",
			[]core.ToolCall{{Name: "clock", Arguments: `{"city":"Oslo"}`}, {Name: "weather", Arguments: "{}"}},
		},
		"<tool_call>{\"name\":\"clock\",\"parameters\":{\"a\":1}}": {"", []core.ToolCall{{Name: "clock", Arguments: `{"a":1}`}}},
		"<tool_call>{\"name\":\"unknown\"}</tool_call>":            {"<tool_call>{\"name\":\"unknown\"}</tool_call>", nil},
		"write <tool_call>not json</tool_call>":                    {"write <tool_call>not json</tool_call>", nil},
		"<tool":                                                    {"<tool", nil},
	} {
		for size := 1; size <= len(text); size++ {
			var c Calls
			var got string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				got, rest = got+c.Add(rest[:n]), rest[n:]
			}
			calls, left := c.End(offered)
			if diff := cmp.Diff(want.calls, calls); diff != "" || got+left != want.text {
				t.Errorf("%q in pieces of %d: %q %s", text, size, got+left, diff)
			}
		}
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
		{429, `{"error":{"message":"Rate limit reached: too many tokens per minute, reduce the length","code":"rate_limit_exceeded"}}`, core.RateLimited},
		{413, `{"error":{"message":"Request too large on tokens per minute (TPM)","code":"rate_limit_exceeded"}}`, core.RateLimited},
		{413, `{"error":{"message":"body too big"}}`, core.TooLong},
		{429, `{"error":{"code":"insufficient_quota"}}`, core.NoCredit},
		{402, `{"error":{"message":"Insufficient Balance"}}`, core.NoCredit},
		{400, `{"error":{"code":"string_above_max_length","message":"maximum context length"}}`, core.Invalid},
		{400, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400}}`, core.TooLong},
		{500, `{"error":"the prompt is longer than the context length currently available to the model"}`, core.TooLong},
		{401, `{"error":{"message":"no"}}`, core.Unauthenticated},
		{403, ``, core.Unauthenticated},
		{400, `{"error":{"message":"Failed to call a function","code":"tool_use_failed"}}`, core.Unavailable},
		{408, ``, core.Timeout},
		{504, `<html>`, core.Timeout},
		{502, `<html>bad gateway</html>`, core.Unavailable},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, core.Unavailable},
		{404, `{"error":"model 'x' not found"}`, core.Invalid},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, core.Invalid},
	} {
		e := who.Status(c.status, http.Header{}, []byte(c.body))
		if e.Kind != c.want || !e.Provider || e.Msg == "" || strings.Contains(e.Msg, "<html>") {
			t.Errorf("%d %s: %s %q", c.status, c.body, e.Kind, e.Msg)
		}
	}
}

func TestTextsOfFailuresAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	who := Who{Provider: "vendor", Key: "sk-0123456789"}
	e := who.Status(400, nil, []byte(`{"error":{"message":"key sk-0123456789\u001b[31m\nis `+strings.Repeat("ü", 5000)+`"}}`))
	if strings.ContainsAny(e.Msg, "\x1b\n") || strings.Contains(e.Msg, "sk-0123456789") || len(e.Msg) > 700 || !strings.HasSuffix(e.Msg, "ü…") {
		t.Errorf("%q", e.Msg)
	}
	e = who.Network(t.Context(), nil, &url.Error{Op: "Post", URL: "http://user:sk-0123456789@host/", Err: errors.New("sk-0123456789 refused")})
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
	for _, s := range []string{`{"error":{"message":"x"}}`, `{"error":"x"}`, `[{"error":{}}]`, `{"message":[1]}`, "<html>", "", "[", `{"error":{"message":{"a":1}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, status := range []int{0, 200, 400, 429, 500} {
			if e := (Who{Provider: "v", Key: "secret-key"}).Status(status, nil, body); e.Kind == "" || e.Msg == "" || strings.Contains(e.Msg, "secret-key") {
				t.Errorf("%d %q: %+v", status, body, e)
			}
		}
	})
}
