package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"loci/core"
)

// Answer is a complete answer, assembled from its deltas.
type Answer struct {
	Text      string
	Reasoning string
	Calls     []core.ToolCall
	Finish    core.Finish
	Usage     *core.Usage
	Native    json.RawMessage
	Deltas    int
}

// Collect asks and assembles the answer. It checks what core.ChatModel promises of a sequence: one end or one error,
// nothing after it, calls that open with an id and a name, at most one kind of piece per delta.
func Collect(ctx context.Context, tb testing.TB, m core.ChatModel, req core.ChatRequest) (Answer, error) {
	tb.Helper()
	var a Answer
	var failed error
	ended := false
	for d, err := range m.Stream(ctx, req) {
		if ended || failed != nil {
			tb.Errorf("the sequence went on after its end: %+v %v", d, err)
		}
		if err != nil {
			failed = err
			continue
		}
		a.Deltas++
		a.add(tb, d)
		ended = d.End
	}
	if !ended && failed == nil {
		tb.Error("the sequence stopped without an end or an error")
	}
	var e *core.Error
	if failed != nil && (!errors.As(failed, &e) || !e.Provider) {
		tb.Errorf("an error that is not the provider's: %#v", failed)
	}
	return a, failed
}

func (a *Answer) add(tb testing.TB, d core.Delta) {
	tb.Helper()
	if set := btoi(d.Text != "") + btoi(d.Reasoning != "") + btoi(d.Call != nil); set > 1 {
		tb.Errorf("a delta with several kinds of pieces: %+v", d)
	}
	if d.Thought {
		a.Reasoning, a.Text = a.Reasoning+a.Text, ""
	}
	a.Text += d.Text
	a.Reasoning += d.Reasoning
	if d.Native != nil {
		a.Native = d.Native
	}
	if d.End {
		a.Finish, a.Usage = d.Finish, d.Usage
	}
	c := d.Call
	switch {
	case c == nil:
	case c.Index == len(a.Calls):
		if c.ID == "" || c.Name == "" {
			tb.Errorf("a call opens without an id or a name: %+v", c)
		}
		a.Calls = append(a.Calls, core.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	case c.Index < len(a.Calls):
		a.Calls[c.Index].Arguments += c.Arguments
	default:
		tb.Errorf("call %d before call %d", c.Index, len(a.Calls))
	}
}

// same compares deeply and shows both values as JSON.
func same(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if reflect.DeepEqual(want, got) {
		return
	}
	w, _ := json.Marshal(want) // values that can't be shown still differ
	g, _ := json.Marshal(got)
	tb.Errorf("%s: got %s, want %s", what, g, w)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Subject is what the suite tests.
type Subject struct {
	New      func(t *testing.T, s *Server, key core.Secret) core.ChatModel
	Model    string // the name to ask for
	HasUsage bool   // reports cached and reasoning tokens
	Enforces string // a model that takes a schema of the answer; empty: Model
	Keeps    bool   // what the model thought goes back to it
}

// Ask is a small request with two tools.
func Ask(model, text string) core.ChatRequest {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	return core.ChatRequest{
		Model:    model,
		System:   "Be brief.",
		Parallel: true,
		Window:   8192,
		Messages: []core.ChatMessage{{Role: core.ChatUser, Text: text}},
		Tools: []core.ToolSpec{
			{Name: "weather", Description: "Tells the weather.", Parameters: schema},
			{Name: "clock", Description: "Tells the time.", Parameters: schema},
		},
	}
}

// Suite runs the tests that every protocol must pass.
func Suite(t *testing.T, subject Subject) {
	t.Helper()
	t.Run("answers", func(t *testing.T) { t.Parallel(); suiteAnswers(t, subject) })
	t.Run("calls", func(t *testing.T) { t.Parallel(); suiteCalls(t, subject) })
	t.Run("requests", func(t *testing.T) { t.Parallel(); suiteRequests(t, subject) })
	t.Run("failures", func(t *testing.T) { t.Parallel(); suiteFailures(t, subject) })
	t.Run("stops", func(t *testing.T) { t.Parallel(); suiteStops(t, subject) })
	t.Run("forms", func(t *testing.T) { t.Parallel(); suiteForms(t, subject) })
	t.Run("thinking over three steps", func(t *testing.T) { t.Parallel(); suiteThinking(t, subject) })
	t.Run("odd servers", func(t *testing.T) { t.Parallel(); suiteOdd(t, subject) })
	t.Run("structured output", func(t *testing.T) { t.Parallel(); suiteStructured(t, subject) })
	t.Run("calls in the text", func(t *testing.T) { t.Parallel(); suiteTexts(t, subject) })
}

// start starts a server and a model of the subject.
func (s Subject) start(t *testing.T, turns ...Turn) (*Server, core.ChatModel) {
	t.Helper()
	server := NewServer(t)
	server.Script(turns...)
	return server, s.New(t, server, "sk-test-key-0123456789")
}

// one asks once and expects an answer.
func (s Subject) one(t *testing.T, turn Turn) Answer {
	t.Helper()
	_, model := s.start(t, turn)
	a, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	return a
}

func suiteAnswers(t *testing.T, s Subject) {
	t.Helper()
	t.Run("text arrives in pieces and whole", func(t *testing.T) {
		t.Parallel()
		a := s.one(t, Turn{Text: "It is <sunny> & warm — 22 °C, \"really\"."})
		if a.Text != "It is <sunny> & warm — 22 °C, \"really\"." || a.Finish != core.FinishStop || a.Deltas < 4 {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("reasoning is told from text", func(t *testing.T) {
		t.Parallel()
		a := s.one(t, Turn{Reasoning: "They said hello.", Text: "Hello!"})
		if a.Reasoning != "They said hello." || a.Text != "Hello!" {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("a reply at the output limit says so", func(t *testing.T) {
		t.Parallel()
		if a := s.one(t, Turn{Text: "It is", Finish: "length"}); a.Finish != core.FinishLength {
			t.Errorf("finish %q", a.Finish)
		}
	})
	t.Run("usage is what the server reports", func(t *testing.T) {
		t.Parallel()
		want := &core.Usage{Prompt: 100, Completion: 20, Total: 120}
		turn := Turn{Text: "x", Usage: &Usage{Prompt: 100, Completion: 20}}
		if s.HasUsage {
			turn.Usage.Cached, turn.Usage.Reasoning = new(64), new(0)
			want.Cached, want.Reasoning = new(64), new(0)
		}
		same(t, "usage", want, s.one(t, turn).Usage)
	})
	t.Run("details that are not reported stay unknown", func(t *testing.T) {
		t.Parallel()
		u := s.one(t, Turn{Text: "x", Usage: &Usage{Prompt: 1, Completion: 1}}).Usage
		if u == nil || u.Cached != nil || u.Reasoning != nil || u.CacheWrite != nil {
			t.Errorf("usage %+v", u)
		}
	})
	t.Run("usage that is not reported is nil", func(t *testing.T) {
		t.Parallel()
		if u := s.one(t, Turn{Text: "x", NoUsage: true}).Usage; u != nil {
			t.Errorf("usage %+v", u)
		}
	})
}

func suiteCalls(t *testing.T, s Subject) {
	t.Helper()
	t.Run("a call arrives with id, name and arguments", func(t *testing.T) {
		t.Parallel()
		a := s.one(t, Turn{Calls: []Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}}})
		want := []core.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}}
		same(t, "calls", want, a.Calls)
		same(t, "finish", core.FinishStop, a.Finish)
	})
	t.Run("parallel calls stay apart and in order, beside text", func(t *testing.T) {
		t.Parallel()
		a := s.one(
			t,
			Turn{
				Text: "Both.",
				Calls: []Call{
					{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`},
					{ID: "call_2", Name: "clock", Arguments: `{"city":"Rome"}`},
				},
			},
		)
		want := []core.ToolCall{
			{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`},
			{ID: "call_2", Name: "clock", Arguments: `{"city":"Rome"}`},
		}
		same(t, "calls", want, a.Calls)
		same(t, "text", "Both.", a.Text)
	})
	t.Run("a turn goes on over several steps with returns", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t)
		req := Ask(s.Model, "CALL weather {\"city\":\"Oslo\"}\nCALL& clock {\"city\":\"Oslo\"}\nCALL weather {\"city\":\"Rome\"}\nSAY done")
		var steps int
		for ; steps < 10; steps++ {
			a, err := Collect(t.Context(), t, model, req)
			if err != nil {
				t.Fatalf("step %d: %v", steps, err)
			}
			if len(a.Calls) == 0 {
				if a.Text != "done" {
					t.Errorf("text %q", a.Text)
				}
				break
			}
			req.Messages = append(req.Messages, Continue(a, "")...)
		}
		if steps != 2 {
			t.Errorf("%d steps before the text, want 2", steps)
		}
		prefixes(t, server.Requests())
	})
	t.Run("each of several calls that nobody wanted at once has its return", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t)
		req := Ask(s.Model, "CALL weather {\"city\":\"Oslo\"}\nCALL& clock {\"city\":\"Oslo\"}\nSAY done")
		req.Parallel = false
		a, err := Collect(t.Context(), t, model, req)
		if err != nil || len(a.Calls) != 2 {
			t.Fatalf("%d calls, %v", len(a.Calls), err)
		}
		next := Continue(a, "snow")
		second := &next[1].Returns[1]
		second.Text, second.IsError = "Only the first call was run.", true
		req.Messages = append(req.Messages, next...)
		if a, err = Collect(t.Context(), t, model, req); err != nil || a.Text != "done" {
			t.Fatalf("then %q, %v", a.Text, err)
		}
		body := string(server.Requests()[1].Body)
		for _, sent := range []string{"weather", "snow", "clock", second.Text} {
			if !strings.Contains(body, sent) {
				t.Errorf("%q is not sent: %s", sent, body)
			}
		}
		for _, r := range next[1].Returns { // where calls have ids, each is named by its call and by its return
			if n := strings.Count(body, r.CallID); n == 1 {
				t.Errorf("%s is called and not answered: %s", r.CallID, body)
			}
		}
		prefixes(t, server.Requests())
	})
}

// Continue returns the messages that follow an answer: the assistant's turn and a return for each of its calls.
func Continue(a Answer, text string) []core.ChatMessage {
	turn := core.ChatMessage{Role: core.ChatAssistant, Text: a.Text, Reasoning: a.Reasoning, Calls: a.Calls}
	if a.Native != nil {
		turn.Native = &core.Native{Data: a.Native}
	}
	returns := core.ChatMessage{Role: core.ChatTool}
	for _, c := range a.Calls {
		returns.Returns = append(returns.Returns, core.ChatReturn{CallID: c.ID, Name: c.Name, Text: text})
	}
	return []core.ChatMessage{turn, returns}
}

// marks are what says how far a prompt is cached, which may move: they are no part of it.
var marks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// prefixes checks that each request begins with the bytes of the previous one, in tools and messages.
func prefixes(t *testing.T, requests []Request) {
	t.Helper()
	var before map[string]json.RawMessage
	for i, r := range requests {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(marks.ReplaceAll(r.Body, nil), &body); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			for _, field := range []string{"tools", "instructions", "system", "systemInstruction"} {
				if string(before[field]) != string(body[field]) {
					t.Errorf("request %d: %s differs", i, field)
				}
			}
			for _, field := range []string{"messages", "input", "contents"} {
				old := strings.TrimSuffix(string(before[field]), "]")
				if !strings.HasPrefix(string(body[field]), old) {
					t.Errorf("request %d: %s does not begin with those before:\n%s\n%s", i, field, old, body[field])
				}
			}
		}
		before = body
	}
}

func suiteRequests(t *testing.T, s Subject) {
	t.Helper()
	t.Run("system, messages and tools arrive", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "ok"})
		req := Ask(s.Model, "hello")
		req.Messages = append([]core.ChatMessage{
			{Role: core.ChatUser, Text: "first"},
			{Role: core.ChatAssistant, Text: "yes"},
			{Role: core.ChatReminder, Text: "The block human has changed."},
			core.Asked("Monday, 09:00", "second", "It changed again."),
			{Role: core.ChatAssistant, Text: "no"},
		}, req.Messages...)
		if _, err := Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
		got := server.Last()
		want := []Message{
			{Role: "user", Text: "first"},
			{Role: "assistant", Text: "yes"},
			{Role: "user", Text: "<system-reminder>\nThe block human has changed.\n</system-reminder>"},
			{Role: "user", Text: "Monday, 09:00\n<system-reminder>\nIt changed again.\n</system-reminder>\nsecond"},
			{Role: "assistant", Text: "no"},
			{Role: "user", Text: "hello"},
		}
		same(t, "messages", want, got.Messages)
		same(
			t,
			"system, model and tools",
			[]any{"Be brief.", s.Model, []string{"weather", "clock"}},
			[]any{got.System, got.Model, got.Tools},
		)
	})
	t.Run("empty returns and empty arguments are sent as such", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "ok"})
		req := Ask(s.Model, "hello")
		req.Messages = append(req.Messages, Continue(Answer{Calls: []core.ToolCall{{ID: "call_1", Name: "clock"}}}, "")...)
		if _, err := Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
		want := []Message{
			{Role: "user", Text: "hello"},
			{Role: "assistant", Calls: []Call{{ID: "call_1", Name: "clock", Arguments: "{}"}}},
			{Role: "tool", CallID: "call_1"},
		}
		same(t, "messages", want, server.Last().Messages)
	})
	suiteBytes(t, s)
}

func suiteBytes(t *testing.T, s Subject) {
	t.Helper()
	t.Run("equal requests have equal bytes", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "a"}, Turn{Text: "b"})
		req := Ask(s.Model, "hello <b>&</b>")
		req.Messages = append(
			req.Messages,
			Continue(Answer{Calls: []core.ToolCall{{ID: "call_1", Name: "clock", Arguments: `{"z":1,"a":{"y":2,"b":3}}`}}}, "x")...)
		for range 2 {
			if _, err := Collect(t.Context(), t, model, req); err != nil {
				t.Fatal(err)
			}
		}
		r := server.Requests()
		same(t, "bytes", string(r[0].Body), string(r[1].Body))
	})
	t.Run("no tools means none", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "a"})
		req := Ask(s.Model, "hello")
		req.Tools = nil
		if _, err := Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{`"tools"`, `"tool_choice"`, `"toolConfig"`, `"parallel_tool_calls"`} {
			if strings.Contains(string(server.Last().Body), field) {
				t.Errorf("%s was sent", field)
			}
		}
	})
}
