package anthropic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/providertest"
)

// notices asks and returns the notices of the answer.
func notices(t *testing.T, m core.ChatModel, req core.ChatRequest) (a providertest.Answer, said []string) {
	t.Helper()
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Notice != nil {
			said = append(said, d.Notice.Text)
		}
		a.Text += d.Text
		if d.Native != nil {
			a.Native = d.Native
		}
		if d.End {
			a.Usage = d.Usage
		}
	}
	return a, said
}

func TestThinkingGoesBackBehindTheSamePrefixAndIsMissedOnceBehindAnother(t *testing.T) {
	t.Parallel()
	s := claude(t)
	client := newClient(t, s, "k", anthropic.Quirks{})
	for range 9 {
		s.Script(providertest.Turn{Reasoning: "Hm, so.", Text: "Yes."})
	}
	req := described(t, client, providertest.Ask("claude-opus-5-5", "first"))
	req.CacheKey = "conv-1"
	for i := range 3 {
		a, said := notices(t, client, req)
		if len(said) > 0 {
			t.Errorf("request %d: %q", i, said)
		}
		req.Messages = append(req.Messages, core.ChatMessage{Role: core.ChatAssistant, Text: a.Text, Native: &core.Native{Data: a.Native}},
			core.ChatMessage{Role: core.ChatUser, Text: "and?"})
	}
	if body := string(s.Last().Body); strings.Count(body, `"signature":`) != 2 {
		t.Errorf("the thinking of two turns goes back: %s", body)
	}
	req.System = "Be long."
	var told []string
	for range 2 {
		a, said := notices(t, client, req)
		if a.Text != "Yes." {
			t.Errorf("the answer is %q", a.Text)
		}
		told = append(told, said...)
	}
	if len(told) != 1 || !strings.Contains(told[0], "3 earlier thoughts") {
		t.Errorf("what was left out is told once: %q", told)
	}
	req.CacheKey = "conv-2"
	if _, said := notices(t, client, req); len(said) != 1 {
		t.Errorf("and of another conversation: %q", said)
	}
	if len(s.Requests()) != 6 {
		t.Errorf("%d requests", len(s.Requests()))
	}
}

func TestThinkingAskedForInWordsOfOneRequestIsNotKept(t *testing.T) {
	t.Parallel()
	s := claude(t)
	client := newClient(t, s, "k", anthropic.Quirks{})
	req := described(t, client, providertest.Ask("claude-opus-5-5",
		"THINK hm\nCALL clock {\"city\":\"Oslo\"}\nTHINK hm\nCALL weather\nTHINK hm\nSAY done"))
	req.CacheKey = "conv-1"
	for i, mode := range []core.ToolChoiceMode{core.ChoiceRequired, core.ChoiceAuto, core.ChoiceAuto} {
		req.Choice.Mode = mode
		var a providertest.Answer
		for d, err := range client.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Notice != nil {
				t.Errorf("step %d: %q", i, d.Notice.Text)
			}
			if d.Call != nil && d.Call.Name != "" {
				a.Calls = append(a.Calls, core.ToolCall{ID: d.Call.ID, Name: d.Call.Name})
			}
			if d.Call != nil {
				a.Calls[d.Call.Index].Arguments += d.Call.Arguments
			}
			a.Text += d.Text
			if d.Native != nil {
				a.Native = d.Native
			}
		}
		if (a.Native == nil) != (mode == core.ChoiceRequired) {
			t.Errorf("step %d keeps %s", i, a.Native)
		}
		req.Messages = append(req.Messages, providertest.Continue(a, "ok")...)
	}
}

func TestTheNextRequestReadsAllOfThePreviousOneFromTheCache(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quirks anthropic.Quirks
		later  time.Duration // between requests
	}{
		"five minutes": {anthropic.Quirks{}, 4 * time.Minute}, "an hour": {anthropic.Quirks{Hour: true}, 50 * time.Minute},
	} {
		s := claude(t)
		now := time.Now()
		s.Now = func() time.Time { return now }
		client := newClient(t, s, "k", c.quirks)
		req := described(t, client, providertest.Ask("claude-opus-5-5", "CALL clock"))
		before := 0
		for i := range 60 {
			a, err := providertest.Collect(t.Context(), t, client, req)
			if err != nil {
				t.Fatal(err)
			}
			u := a.Usage
			if u.Cached == nil || u.CacheWrite == nil || *u.Cached < before || *u.Cached+*u.CacheWrite != u.Prompt {
				t.Fatalf("%s, request %d: %d were sent before, %d read, %d written of %d", name, i, before, *u.Cached, *u.CacheWrite,
					u.Prompt)
			}
			if hour := u.CacheWriteHour != nil && *u.CacheWriteHour == *u.CacheWrite; hour != c.quirks.Hour {
				t.Errorf("%s, request %d: %+v", name, i, u)
			}
			before = u.Prompt
			now = now.Add(c.later)
			var many strings.Builder // more calls than a server looks back
			for j := range i % 40 {
				fmt.Fprintf(&many, "CALL& clock {\"city\":\"%d\"}\n", j)
			}
			req.Messages = append(req.Messages, providertest.Continue(a, "noon")...)
			if len(a.Calls) == 0 {
				req.Messages[len(req.Messages)-1] = core.ChatMessage{Role: core.ChatUser, Text: "THINK hm\n" + many.String() + "SAY done"}
			}
		}
	}
}

func TestThinkingIsLeftBehindWhereItIsTurnedOff(t *testing.T) {
	t.Parallel()
	for model, efforts := range map[string][]string{
		"claude-haiku-4-5": {"high", "none", "high", ""}, "claude-opus-5": {"", "none", "high", "none"}, "claude-sonnet-5-5": {
			"",
			"none", "low",
		},
	} {
		s := claude(t)
		client := newClient(t, s, "k", anthropic.Quirks{})
		req := described(t, client, providertest.Ask(model, "THINK a\nCALL clock\nTHINK b\nCALL clock\nTHINK c\nCALL clock\nSAY done"))
		for i, effort := range efforts {
			req.Settings.ReasoningEffort = effort
			a, err := providertest.Collect(t.Context(), t, client, req)
			if err != nil {
				t.Fatalf("%s, step %d: %v", model, i, err)
			}
			req.Messages = append(req.Messages, providertest.Continue(a, "noon")...)
		}
		if n := len(s.Requests()); n != len(efforts) {
			t.Errorf("%s: %d requests, so something was refused", model, n)
		}
	}
}
