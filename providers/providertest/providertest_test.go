package providertest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func user(text string) Message { return Message{Role: "user", Text: text} }

func called(names ...string) Message {
	m := Message{Role: "assistant"}
	for _, n := range names {
		m.Calls = append(m.Calls, Call{Name: n})
	}
	return m
}

func TestDirectivesSayWhatToAnswer(t *testing.T) {
	t.Parallel()
	plan := "Saturday, 09:00\nTHINK hm\nCALL a {\"x\":1}\nCALL& b\nTOKENS 5ms\nSLEEP 1s\nSAY one\\ntwo"
	first := Turn{Reasoning: "hm", Calls: []Call{{Name: "a", Arguments: `{"x":1}`}, {Name: "b", Arguments: "{}"}}}
	last := Turn{Text: "one\ntwo", Delay: time.Second, TokenDelay: 5 * time.Millisecond}
	reminder := user("<system-reminder>\nSAY no\n</system-reminder>")
	for name, c := range map[string]struct {
		messages []Message
		tools    []string
		want     Turn
	}{
		"the first turn":             {[]Message{user("SAY earlier"), user(plan)}, nil, first},
		"a reminder is not a person": {[]Message{user(plan), reminder}, nil, first},
		"a reminder before what a person says": {
			[]Message{user("09:00\n<system-reminder>\nSAY no\n</system-reminder>\nSAY x")}, nil, Turn{Text: "x"},
		},
		"the turn after the calls": {[]Message{user(plan), called("a", "b"), {Role: "tool"}, {Role: "tool"}}, nil, last},
		"no directive":             {[]Message{user("09:00\nhow are you")}, nil, Turn{Text: "ECHO: how are you"}},
		"all done":                 {[]Message{user("CALL a"), called("a")}, nil, Turn{Text: "DONE"}},
		"packed by an older agent": {
			[]Message{user(`{"type":"user_message","message":"SAY x"}`), user(`{"type":"heartbeat","message":"SAY y"}`)},
			nil,
			Turn{Text: "x"},
		},
		"through send_message": {
			[]Message{user("SAY x")}, []string{"send_message"}, Turn{Calls: []Call{{Name: "send_message", Arguments: `{"message":"x"}`}}},
		},
		"after it was sent, plainly": {[]Message{user("SAY x"), called("send_message")}, []string{"send_message"}, Turn{Text: "x"}},
		"a finish":                   {[]Message{user("FINISH length\nSAY x")}, nil, Turn{Text: "x", Finish: "length"}},
		"many words":                 {[]Message{user("LONG 3")}, nil, Turn{Text: "word word word"}},
		"nobody spoke":               {nil, nil, Turn{Text: "DONE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(t)
			if diff := cmp.Diff(c.want, s.Directives(Request{Messages: c.messages, Tools: c.tools})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsPassAfterTheirTimes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]Fail{
		"429x2 retry-after=3": {Status: 429, RetryAfter: "3"},
		"truncatex2":          {Broken: Truncate},
		"disconnectx2":        {Broken: Disconnect},
		"503x2":               {Status: 503},
	} {
		s := NewServer(t)
		req := Request{Messages: []Message{user("ERROR " + code + "\nSAY fine")}}
		for range 2 {
			got := s.Directives(req)
			if got.Fail == nil {
				t.Fatalf("%s: no failure", code)
			}
			if diff := cmp.Diff(want, *got.Fail); diff != "" {
				t.Errorf("%s: %s", code, diff)
			}
		}
		if got := s.Directives(req); got.Fail != nil || got.Text != "fine" {
			t.Errorf("%s: the third time %+v", code, got)
		}
	}
}

func TestWhatTheServicesRefuseIsRefused(t *testing.T) {
	t.Parallel()
	s := NewServer(t)
	for path, bodies := range map[string][]string{
		"/v1/chat/completions": {
			`{`, `{"messages":[{"role":"user"}]}`, `{"messages":[{"role":"tool","content":"x","tool_call_id":"a"}]}`,
			`{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"user","content":"x"}]}`,
			`{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f"}}]}]}`,
		},
		"/v1/responses": {
			`{"input":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`,
			`{"input":[{"type":"function_call_output","call_id":"a"}]}`,
			`{"input":[{"type":"reasoning","id":"rs"}]}`,
		},
		"/v1/messages": {
			`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","max_tokens":9,"messages":[],"seed":1}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"x"}]}`,
			`{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":9},"messages":[{"role":"user","content":"x"}]}`,
		},
		"/api/chat": {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`},
	} {
		for _, body := range bodies {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Anthropic-Version", "2023-06-01")
			resp, err := http.DefaultClient.Do(req) //nolint:forbidigo // a test
			if err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), "error") {
				t.Errorf("%s %s: %d %s", path, body, resp.StatusCode, said)
			}
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d refused requests were kept", n)
	}
}
