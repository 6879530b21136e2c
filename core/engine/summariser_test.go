package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/compact"
	"loci/core/engine"
)

func TestASummariserThatFailsGivesWayToTheAgentsOwnModel(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		switch {
		case req.Model == "light":
			err := core.E(core.Forbidden, "no access")
			err.Provider = true
			return turn{err: err}
		case strings.HasSuffix(req.CacheKey, "-summary"):
			return say("Own words.")
		}
		return say("ok")
	})
	a := h.agent(nil)
	for i := range 8 {
		h.send(a, fmt.Sprint("message ", i, strings.Repeat(" and words", 20)))
	}
	done, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, map[string]any{"model": "openai/light", "mode": "all"})
	if err != nil || done.Summary != "Own words." || !strings.Contains(done.Notice, "openai/light") ||
		!strings.Contains(done.Notice, "no access") {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestASummariserThatHangsIsNotWaitedForAtEveryTurn(t *testing.T) {
	t.Parallel()
	hung, never := 0, make(chan struct{})
	l := &longTalk{house: open(t, summariser(func(int) turn {
		hung++
		return turn{gate: never}
	}), withDump, func(c *engine.Config) { c.SummaryWait = 10 * time.Millisecond })}
	small(l.house, 4000)
	l.a = l.agent(nil)
	for i := range 12 {
		l.turn(i, strings.Repeat("some words ", 150))
	}
	if hung != 1 || l.failures != 1 || l.evictions < 2 {
		t.Errorf("waited for %d times, %d failures told, %d evictions", hung, l.failures, l.evictions)
	}
	l.later(time.Hour)
	for i := range 6 {
		l.turn(i, strings.Repeat("some words ", 150))
	}
	if hung != 2 {
		t.Errorf("an hour later it was waited for %d times in all", hung)
	}
}

// summaryRequests are the requests for a summary among those sent.
func (h *house) summaryRequests() []core.ChatRequest {
	var out []core.ChatRequest
	for _, r := range h.model.sent() {
		if asksForSummary(r) {
			out = append(out, r)
		}
	}
	return out
}

func TestTheSummarisersOwnSettingsAndPromise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]any
		model    string
		wishes   bool
		turns    int
	}{
		"of a model of its own": {map[string]any{"model": "openai/light"}, "light", true, 3},
		"of the agent's":        {map[string]any{}, "gpt-test", true, 3},
		"of one without a key":  {map[string]any{"model": "other/light"}, "gpt-test", false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(int) turn { return say("Short.") }))
			h.model.missing = map[string]string{"other": "OTHER_KEY"}
			c.settings["mode"] = "all"
			c.settings["prompt_acknowledgement"] = true
			c.settings["model_settings"] = map[string]any{
				"provider_type":     "openai",
				"temperature":       0.2,
				"max_output_tokens": 700.0,
				"reasoning":         map[string]any{"reasoning_effort": "low"},
			}
			a := h.agent(func(a *core.Agent) { a.Extra = map[string]any{compact.ExtraKey: c.settings} })
			for range 3 {
				h.send(a, strings.Repeat("some words ", 30))
			}
			done, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, nil)
			if err != nil || (done.Notice != "") == c.wishes {
				t.Fatalf("%+v, %v", done, err)
			}
			reqs := h.summaryRequests()
			req := reqs[len(reqs)-1]
			if req.Model != c.model || len(req.Messages) != c.turns || req.Messages[1].Role != core.ChatAssistant {
				t.Errorf("asked %s with %+v", req.Model, req.Messages)
			}
			s := req.Settings
			if got := s.Temperature != nil && *s.Temperature == 0.2 && s.MaxOutputTokens == 700 &&
				s.ReasoningEffort == "low"; got != c.wishes {
				t.Errorf("settings %+v", s)
			}
		})
	}
}

func TestASummariserIsAskedWithTheKeysOfWhoAsks(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(int) turn { return say("Short.") }))
	h.model.missing = map[string]string{"other": "OTHER_KEY"}
	a := h.agent(func(a *core.Agent) {
		a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": "all", "model": "other/light"}}
	})
	for range 3 {
		h.send(a, strings.Repeat("some words ", 30))
	}
	env := func(name string) (core.Secret, bool) { return "key", name == "OTHER_KEY" }
	if done, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), env, nil); err != nil || done.Notice != "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if reqs := h.summaryRequests(); len(reqs) != 1 || reqs[0].Model != "light" {
		t.Errorf("asked %+v", reqs)
	}
}

func TestARunSaysThatItsSummariserCouldNotBeUsed(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(int) turn { return say("Short.") }))
	small(h, 4000)
	h.model.missing = map[string]string{"other": "OTHER_KEY"}
	a := h.agent(func(a *core.Agent) {
		a.Extra = map[string]any{compact.ExtraKey: map[string]any{"model": "other/light"}}
	})
	var order []string
	for len(order) == 0 {
		_, events := h.send(a, strings.Repeat("some words ", 60))
		for _, ev := range events {
			switch b := ev.Body.(type) {
			case core.Compacting:
				order = append(order, "compacting")
			case core.Notice:
				order = append(order, b.Kind)
				if !strings.Contains(b.Text, "other/light") || !strings.Contains(b.Text, "OTHER_KEY") ||
					!strings.Contains(b.Text, "openai/gpt-test wrote it") {
					t.Errorf("notice %q", b.Text)
				}
			case core.Summary:
				order = append(order, "summary")
			default: // of the answer
			}
		}
	}
	if diff := cmp.Diff([]string{"compacting", "summariser", "summary"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASummariserWithASmallerWindowIsAskedForLess(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		if !asksForSummary(req) {
			return say(strings.Repeat("words ", 300))
		}
		if core.EstimateTokens(req.Messages[0].Text) > 3100 {
			err := core.E(core.TooLong, "too long")
			err.Provider = true
			return turn{err: err}
		}
		return say(strings.Repeat("They spoke. ", 20))
	})
	small(h, 8000)
	a := h.agent(nil)
	for range 12 {
		h.send(a, strings.Repeat("some words ", 60))
	}
	done, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, map[string]any{"mode": "all"})
	if err != nil || !strings.HasPrefix(done.Summary, "They spoke.") {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestASummaryFarTooShortForWhatItReplacesIsMadeAnewOnce(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("They spoke of herons by the mill. ", 12)
	for name, c := range map[string]struct {
		second string
		asked  int
		fails  bool
	}{
		"and then is long enough": {good, 2, false},
		"and then is refused":     {"Done again.", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(n int) turn {
				if n == 1 {
					return say("They talked.")
				}
				return say(c.second)
			}))
			a := h.agent(nil)
			for range 12 {
				h.send(a, strings.Repeat("some words ", 300))
			}
			conv := core.DefaultConversation(a.ID)
			done, err := h.engine.Compact(t.Context(), conv, nil, map[string]any{"mode": "all"})
			if (err != nil) != c.fails || !c.fails && done.Summary != strings.TrimSpace(good) {
				t.Errorf("got %+v, %v", done, err)
			}
			if err != nil && !strings.Contains(err.Error(), "too short a summary twice") {
				t.Errorf("it says %v", err)
			}
			reqs := h.summaryRequests()
			if len(reqs) != c.asked {
				t.Fatalf("asked %d times", len(reqs))
			}
			first, again := reqs[0].Messages, reqs[1].Messages
			if len(again) != len(first)+2 || again[len(first)].Text != "They talked." ||
				!strings.Contains(again[len(first)+1].Text, "too short") {
				t.Errorf("asked again with %+v", again[len(first):])
			}
			if rows, err := h.store.Messages().Context(t.Context(), conv); err != nil || c.fails != (len(rows) > 2) {
				t.Errorf("%d rows in the window, %v", len(rows), err)
			}
		})
	}
}

// TestASummariserThatGivesNoTokenIsGivenUpEarly fails on the test's patience if the summariser is waited for to the end.
func TestASummariserThatGivesNoTokenIsGivenUpEarly(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]core.Delta{
		"from the beginning": nil,
		"in the middle":      {{Text: "They"}},
		"but for notices":    {{Notice: &core.Notice{Kind: "retry", Text: "Retrying in 1 second."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(int) turn { return turn{deltas: before, gate: make(chan struct{})} }), func(c *engine.Config) {
				c.SummaryWait, c.SummaryQuiet = time.Hour, time.Millisecond
			})
			a := h.agent(nil)
			for range 3 {
				h.send(a, "some words")
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := h.engine.Compact(ctx, core.DefaultConversation(a.ID), nil, map[string]any{"mode": "all"})
			if core.KindOf(err) != core.Timeout || !strings.Contains(err.Error(), "no token") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestASlowSummariserIsGivenThreeTimesWhatItsSpeedPredicts(t *testing.T) {
	t.Parallel()
	cached := 9000
	usage := core.Usage{Prompt: 1000, Completion: 1, Total: 1001}
	var h *house
	h = open(t, func(int, core.ChatRequest) turn {
		h.later(20 * time.Second)
		return turn{deltas: []core.Delta{{Text: "ok"}}, usage: &usage}
	})
	a := h.agent(nil)
	near := func(when string, want time.Duration) {
		t.Helper()
		if got := h.engine.Patience("openai/gpt-test", 2000); got < want || got > want+time.Second {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	near("unknown", 20*time.Second)
	h.send(a, "one") // 50 tokens a second
	near("after a cold prompt", 2*time.Minute)
	if got := h.engine.Patience("openai/gpt-test", 100); got != 20*time.Second {
		t.Errorf("for a short prompt: %s", got)
	}
	usage.Prompt = 10_000
	h.send(a, "two") // nobody says how much of it was cached
	near("after a warm prompt", 2*time.Minute)
	for range 3 { // 1000 new tokens of 10,000 each
		usage.Cached = &cached
		h.send(a, "three")
	}
	near("after prompts that were cached", 2*time.Minute)
	usage.Cached = nil
	for range 3 {
		h.later(time.Hour)
		h.send(a, "four")
	}
	near("of a faster model", 20*time.Second)
}
