package providertest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"loci/core"
)

// suiteForms checks that an answer is the same however its bytes arrive, and that a part of one is never taken for the whole.
func suiteForms(t *testing.T, s Subject) {
	t.Helper()
	turn := Turn{
		Reasoning: "They want — the weather.", Text: "Both: 22 °C.",
		Calls: []Call{
			{ID: "call_1", Name: "weather", Arguments: `{"city":"Ås \"x\""}`},
			{ID: "call_2", Name: "clock", Arguments: `{"city":"Rome"}`},
		},
		Usage: &Usage{Prompt: 100, Completion: 20},
	}
	want := s.one(t, turn)
	get := func(t *testing.T, form Form, turn Turn) (Answer, error) {
		t.Helper()
		server, model := s.start(t, turn)
		server.Form = form
		a, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
		a.Deltas = 0
		return a, err
	}
	want.Deltas = 0
	for name, form := range map[string]Form{
		"CRLF": {CRLF: true}, "gzip": {Gzip: true}, "byte by byte": {Bytes: true}, "all of it": {CRLF: true, Gzip: true},
	} {
		t.Run("bytes: "+name, func(t *testing.T) {
			t.Parallel()
			got, err := get(t, form, turn)
			if err != nil {
				t.Fatal(err)
			}
			if !sameNative(got.Native, want.Native) {
				t.Errorf("native: got %s, want %s", got.Native, want.Native)
			}
			got.Native = want.Native
			same(t, "answer", want, got)
		})
	}
	t.Run("cut at each byte", func(t *testing.T) { t.Parallel(); suiteCuts(t, s) })
	t.Run("garbage in the middle is an error", func(t *testing.T) {
		t.Parallel()
		if a, err := get(t, Form{}, Turn{Text: "half of", Fail: &Fail{Broken: Garbage}}); core.KindOf(err) != core.Unavailable {
			t.Errorf("got %+v, %v", a, err)
		}
	})
	t.Run("a server that stalls is left at the deadline", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "half of", Fail: &Fail{Broken: Stall}})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := Collect(ctx, t, model, Ask(s.Model, "hello")); core.KindOf(err) != core.Timeout {
			t.Errorf("got %v", err)
		}
		idle(t, server)
	})
}

// sameNative compares what a provider keeps, without signatures, which differ as the ids of answers do.
func sameNative(a, b json.RawMessage) bool {
	var x, y any
	return (json.Unmarshal(a, &x) == nil) == (json.Unmarshal(b, &y) == nil)
}

// suiteCuts ends the stream cleanly behind each byte: that is an error, unless only the end of the stream was missing.
func suiteCuts(t *testing.T, s Subject) {
	t.Helper()
	turn := Turn{
		Reasoning: "So.", Text: "22 °C.", Calls: []Call{{ID: "call_1", Name: "clock", Arguments: `{"city":"Ås"}`}},
		Usage: &Usage{Prompt: 100, Completion: 20},
	}
	want := s.one(t, turn)
	server := NewServer(t)
	model := s.New(t, server, "sk-test-key-0123456789")
	whole := false
	for cut := 1; !whole; cut++ {
		server.Form = Form{Cut: cut}
		server.Script(turn)
		got, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
		switch {
		case err == nil:
			if got.Text != want.Text || got.Finish != want.Finish || len(got.Calls) != len(want.Calls) {
				t.Fatalf("cut behind byte %d: %+v", cut, got)
			}
			same(t, "calls", want.Calls, got.Calls)
			whole = got.Usage != nil && *got.Usage == *want.Usage
		case core.KindOf(err) != core.Unavailable || !strings.HasPrefix(want.Text, got.Text):
			t.Fatalf("cut behind byte %d: %q, %v", cut, got.Text, err)
		}
	}
}

// suiteThinking goes through three steps of one turn, each with reasoning, and looks at what goes back.
func suiteThinking(t *testing.T, s Subject) {
	t.Helper()
	server, model := s.start(t)
	req := Ask(s.Model,
		"THINK first thought\nCALL weather {\"city\":\"Oslo\"}\nTHINK second thought\nCALL clock\nTHINK third thought\nSAY done")
	for _, want := range []string{"first thought", "second thought", "third thought"} {
		a, err := Collect(t.Context(), t, model, req)
		if err != nil || a.Reasoning != want {
			t.Fatalf("%q, %v", a.Reasoning, err)
		}
		req.Messages = append(req.Messages, Continue(a, "ok")...)
	}
	prefixes(t, server.Requests())
	for _, thought := range []string{"first thought", "second thought"} {
		if s.Keeps && strings.Count(string(server.Last().Body), thought) != 2 { // one of them is what we asked for
			t.Errorf("%q is not in the third request: %s", thought, server.Last().Body)
		}
	}
}
