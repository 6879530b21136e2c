package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/compact"
)

// summariser answers summary requests with a function of their number, and everything else with words.
func summariser(summary func(n int) turn) func(int, core.ChatRequest) turn {
	asked := 0
	return func(n int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		if strings.HasSuffix(req.CacheKey, "-summary") || last.Role == core.ChatReminder && strings.Contains(last.Text, "summary that will take the place") {
			asked++
			return summary(asked)
		}
		if last.Role == core.ChatUser && strings.Contains(last.Text, "use a tool") {
			return calling("conversation_search", map[string]any{"query": "words", "limit": 20})
		}
		return say(strings.Repeat(fmt.Sprint("answer ", n, " "), 30))
	}
}

func small(h *house, window int) {
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: window, Tools: true, CacheTTL: 5 * time.Minute}
}

func TestCompactionOverTwoHundredTurns(t *testing.T) {
	t.Parallel()
	broken := core.E(core.Unavailable, "down")
	broken.Provider = true
	modes := []compact.Mode{compact.SlidingWindow, compact.All, compact.SelfAll, compact.SelfSlidingWindow}
	summaries := map[string]func(int) turn{
		"good":    func(n int) turn { return say(fmt.Sprint("The user told of the blue heron. Summary ", n, ".")) },
		"failing": func(int) turn { return turn{err: broken} },
		"empty":   func(int) turn { return turn{} },
		"endless": func(int) turn { return say(strings.Repeat("on and on ", 20_000)) },
	}
	for _, mode := range modes {
		for name, summary := range summaries {
			for _, window := range []int{4000, 8000} {
				turns := 40
				if name == "good" && mode == compact.SlidingWindow {
					turns = longRun(200)
				} else if window != 4000 {
					continue
				}
				t.Run(fmt.Sprint(mode, "/", name, "/", window), func(t *testing.T) {
					t.Parallel()
					h := open(t, summariser(summary))
					small(h, window)
					a := h.agent(func(a *core.Agent) { a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(mode)}} })
					made := 0
					for i := range turns {
						text := fmt.Sprint("turn ", i, " ", strings.Repeat("some words ", 20))
						switch {
						case i == 0:
							text = "the blue heron nests by the mill"
						case i%10 == 3:
							text = "use a tool"
						case i%25 == 7:
							text += strings.Repeat("x", 50_000)
						}
						run, events := h.send(a, text)
						if run.Status != core.RunCompleted {
							t.Fatalf("turn %d: %s %+v", i, run.StopReason, run.Error)
						}
						compacting := false
						for _, ev := range events {
							switch b := ev.Body.(type) {
							case core.Compacting:
								compacting = true
							case core.Summary:
								made++
								if !compacting || b.Stats == nil || b.Stats.TokensAfter >= b.Stats.TokensBefore {
									t.Errorf("turn %d: summary out of order or without effect: %+v", i, b.Stats)
								}
							default: // of the answer
							}
						}
					}
					if made > turns/5 || name == "good" && made == 0 || (name == "failing" || name == "empty") && made > 0 {
						t.Errorf("%d summaries in %d turns", made, turns)
					}
					for i, req := range h.model.sent() {
						validHistory(t, i, req)
					}
					hits, err := h.store.Messages().Match(t.Context(), core.SearchQuery{Text: "blue heron mill"}, core.MessageFilter{Agent: a.ID})
					if err != nil || len(hits) == 0 || !strings.Contains(hits[0].Message.PlainText(), "heron") {
						t.Errorf("the fact of turn 1 is not found: %v", err)
					}
				})
			}
		}
	}
}

func TestCompactionOnRequest(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(int) turn { return say("They spoke of herons.") }))
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	if _, err := h.engine.Compact(t.Context(), conv, nil, nil); core.KindOf(err) != core.Invalid {
		t.Errorf("an empty conversation: %v", err)
	}
	for i := range 10 {
		h.send(a, fmt.Sprint("message ", i, strings.Repeat(" and words", 20)))
	}
	done, err := h.engine.Compact(t.Context(), conv, nil, map[string]any{"mode": "all"})
	if err != nil || done.Summary != "They spoke of herons." || done.Stats.MessagesBefore != 20 || done.Stats.MessagesAfter != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if n := len(h.list(a)); n != 22 {
		t.Errorf("%d messages listed: nothing may be lost, and the summary is one more", n)
	}
	run, _ := h.send(a, "go on")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if run.Status != core.RunCompleted || len(last.Messages) != 2 || !strings.Contains(last.Messages[0].Text, "herons") || !strings.Contains(last.Messages[0].Text, "20 messages") {
		t.Errorf("after it was sent %+v", last.Messages)
	}
}

func TestCompactionOnRequestIsBusyWhileARunIsActive(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	var e *core.Error
	if _, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, nil); !errors.As(err, &e) || e.Kind != core.Busy {
		t.Errorf("got %v", err)
	}
	close(gate)
	h.follow(run.ID)
}

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
	if err != nil || done.Summary != "Own words." || !strings.Contains(done.Notice, "openai/light") || !strings.Contains(done.Notice, "no access") {
		t.Errorf("got %+v, %v", done, err)
	}
}
