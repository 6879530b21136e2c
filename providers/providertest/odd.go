package providertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"loci/core"
)

// suiteOdd checks how a protocol handles servers that deviate slightly from their documentation.
func suiteOdd(t *testing.T, s Subject) {
	t.Helper()
	oslo := []core.ToolCall{{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}}
	for _, name := range []string{"functions.weather", "weather<|channel|>commentary", "functions.weather:0"} {
		t.Run("the name of a tool inside of marks: "+name, func(t *testing.T) {
			t.Parallel()
			a := s.one(t, Turn{Calls: []Call{{ID: "call_1", Name: name, Arguments: `{"city":"Oslo"}`}}})
			same(t, "calls", oslo, a.Calls)
		})
	}
	t.Run("two calls under one id", func(t *testing.T) {
		t.Parallel()
		a := s.one(
			t,
			Turn{
				Calls: []Call{
					{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`},
					{ID: "call_1", Name: "clock", Arguments: `{"city":"Rome"}`},
				},
			},
		)
		if len(a.Calls) != 2 || a.Calls[0] != oslo[0] || a.Calls[1].Name != "clock" || a.Calls[1].ID == "call_1" {
			t.Errorf("calls %+v", a.Calls)
		}
		if a.Native != nil {
			t.Errorf("they would go back as they came: %s", a.Native)
		}
	})
	t.Run("answers that all count from the same id", func(t *testing.T) { t.Parallel(); suiteRepeatedIDs(t, s) })
	for said, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 2.5s.": 2500 * time.Millisecond,
		"Too many requests, retry after 3 seconds":      3 * time.Second,
	} {
		t.Run("a pause in words: "+said, func(t *testing.T) {
			t.Parallel()
			_, model := s.start(t, Turn{Fail: &Fail{Status: 429, Message: said}})
			_, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
			var e *core.Error
			if !errors.As(err, &e) || e.Kind != core.RateLimited || e.RetryAfter != want {
				t.Errorf("got %#v", err)
			}
		})
	}
	for said, want := range map[string]core.Kind{
		"Loading model": core.Unavailable, "server busy, please try again.  maximum pending requests exceeded": core.Unavailable,
		"test-model does not support tools": core.Invalid, "Trying to keep the first 5012 tokens when context the overflows.": core.TooLong,
	} {
		t.Run("what a server says: "+said, func(t *testing.T) {
			t.Parallel()
			_, model := s.start(t, Turn{Fail: &Fail{Status: 503, Message: said}})
			if _, err := Collect(t.Context(), t, model, Ask(s.Model, "hello")); core.KindOf(err) != want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// suiteRepeatedIDs uses a server that names every call call_0: what is sent back must tell the calls apart, each with
// its own return.
func suiteRepeatedIDs(t *testing.T, s Subject) {
	t.Helper()
	call := Turn{Reasoning: "Look.", Calls: []Call{{ID: "call_0", Name: "weather", Arguments: `{"city":"Oslo"}`}}}
	server, model := s.start(t, call, call, call, Turn{Text: "done"})
	req := Ask(s.Model, "go")
	for i := range 4 {
		a, err := Collect(t.Context(), t, model, req)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, Continue(a, fmt.Sprint("return ", i))...)
	}
	prefixes(t, server.Requests())
	calls, returns := map[string]bool{}, map[string]string{}
	for _, m := range server.Last().Messages {
		for _, c := range m.Calls {
			calls[c.ID] = true
		}
		if m.CallID != "" {
			returns[m.CallID] = m.Text
		}
	}
	if len(calls) != 3 || len(returns) != 3 || !calls["call_0"] || returns["call_0"] == returns["call_0_1"] {
		t.Errorf("calls %v, returns %v", calls, returns)
	}
	for id := range returns {
		if !calls[id] {
			t.Errorf("the return of %s has no call", id)
		}
	}
}
