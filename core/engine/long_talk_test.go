package engine_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/compact"
	"loci/core/engine"
)

// manyTurns makes the talks of TestCompactionOverTwoHundredTurns as long as its name says, every one of them:
//
//	go test ./core/engine -run CompactionOverTwoHundredTurns -timeout 30m -v -turns 200
var manyTurns = flag.Int("turns", 0, "how many turns a conversation has in every mode of compaction, with every summariser; 0: a selection")

// longTalk is a conversation of many turns at a small window, and what it counted.
type longTalk struct {
	*house
	a         core.Agent
	attempts  []int // the turns in which a summary was begun
	summaries int
	evictions int
	failures  int // said in a notice
}

func (l *longTalk) turn(i int, text string) {
	l.t.Helper()
	run, events := l.send(l.a, text)
	if run.Status != core.RunCompleted {
		l.t.Fatalf("turn %d: %s %+v", i, run.StopReason, run.Error)
	}
	var order []string
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case core.Compacting:
			order = append(order, "compacting")
			l.attempts = append(l.attempts, i)
		case core.Summary:
			order = append(order, "summary")
			l.summaries++
			if b.Stats == nil || b.Stats.TokensAfter >= b.Stats.TokensBefore || b.Stats.MessagesAfter > b.Stats.MessagesBefore {
				l.t.Errorf("turn %d: summary without effect: %+v", i, b.Stats)
			}
		case core.Notice:
			order = append(order, b.Kind)
			switch b.Kind {
			case "summary_failed":
				l.failures++
			case "evicted":
				l.evictions++
			}
		case core.Stop:
			order = append(order, "stop")
		default: // of the answer
		}
	}
	if told := strings.Join(order, " "); !inOrder.MatchString(told) {
		l.t.Errorf("turn %d was told as %s", i, told)
	}
}

// inOrder is how a turn tells of a message that is cut, and then of its compactions: each begins and then either ends with a
// summary or fails, and what had to leave is evicted; nothing comes behind the answer's end.
var inOrder = regexp.MustCompile(`^(cut )?((compacting (summary|summary_failed evicted)|evicted) )*stop$`)

// sparse reports whether no five turns in a row asked for two summaries.
func (l *longTalk) sparse() bool {
	for i := 1; i < len(l.attempts); i++ {
		if l.attempts[i]-l.attempts[i-1] < 5 {
			return false
		}
	}
	return true
}

func TestCompactionOverTwoHundredTurns(t *testing.T) {
	t.Parallel()
	broken := core.E(core.Unavailable, "down")
	broken.Provider = true
	never := make(chan struct{})
	summaries := map[string]func(int) turn{
		"good": func(n int) turn {
			return say(fmt.Sprint("The user told of a bird. Summary ", n, ".", strings.Repeat(" They spoke.", 20)))
		},
		"failing": func(int) turn { return turn{err: broken} },
		"empty":   func(int) turn { return turn{} },
		"hanging": func(int) turn { return turn{deltas: []core.Delta{{Text: "The"}}, gate: never} },
		"endless": func(int) turn { return say(strings.Repeat("on and on ", 20_000)) },
		"partial": func(int) turn { return turn{deltas: []core.Delta{{Text: strings.Repeat("half a", 9)}}, err: broken} },
	}
	modes := []compact.Mode{
		compact.SlidingWindow,
		compact.All,
		compact.SelfAll,
		compact.SelfSlidingWindow,
		compact.StaticBuffer,
		compact.PartialEvict,
	}
	for _, mode := range modes {
		for name, summary := range summaries {
			for _, window := range []int{4000, 8000} {
				turns := compactionTurns(mode, name, window)
				if turns == 0 {
					continue
				}
				t.Run(fmt.Sprint(mode, "/", name, "/", window), func(t *testing.T) {
					t.Parallel()
					l := &longTalk{house: open(t, summariser(summary), withDump, func(c *engine.Config) {
						if name == "hanging" {
							c.SummaryWait = 50 * time.Millisecond
						}
					})}
					small(l.house, window)
					l.a = l.agent(func(a *core.Agent) {
						a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(mode), "message_buffer_limit": 20}}
					}, "memory_insert", "conversation_search", "dump")
					l.talk(t, turns, name == "good")
				})
			}
		}
	}
}

// compactionTurns is how long a conversation is: what the flag says in every mode with every summariser, else 200 turns in
// the mode that is the default, and in the others as many as a compaction or two take.
func compactionTurns(mode compact.Mode, summary string, window int) int {
	good := summary == "good"
	switch {
	case *manyTurns > 0:
		return *manyTurns
	case testing.Short() && (window != 4000 || !good && mode != compact.SlidingWindow):
		return 0
	case good && mode == compact.SlidingWindow:
		return longRun(200)
	case good:
		return 35
	case mode == compact.All || mode == compact.SelfSlidingWindow || mode == compact.PartialEvict || window != 4000:
		return 0 // as with the mode that is like it
	}
	return 20
}

// talk holds the conversation and checks what must hold whatever the summariser does.
func (l *longTalk) talk(t *testing.T, turns int, good bool) {
	t.Helper()
	for i := range turns {
		text := fmt.Sprint("turn ", i, " ", strings.Repeat("some words ", 20))
		switch {
		case i == 0:
			text = "the blue heron nests by the mill"
		case i == turns-1:
			text = "where nests it?"
		case i%6 == 3:
			text = "dump much"
		case i%25 == 7:
			text += strings.Repeat("x", 50_000)
		}
		l.turn(i, text)
	}
	if l.evictions == 0 && !good {
		t.Error("nothing ever left the window: the test covers nothing")
	}
	if !l.sparse() || good != (l.summaries > 0) || good != (l.failures == 0) {
		t.Errorf("%d turns, summaries begun in %v, %d failures", turns, l.attempts, l.failures)
	}
	t.Logf("%d turns: %d summaries, %d failures, %d evictions", turns, l.summaries, l.failures, l.evictions)
	reqs := l.model.sent()
	for i, req := range reqs {
		validHistory(t, i, req)
	}
	last := reqs[len(reqs)-1].Messages
	if found := last[len(last)-1]; len(found.Returns) != 1 || !strings.Contains(found.Returns[0].Text, "by the mill") {
		t.Errorf("the agent does not find the fact of turn 1: %+v", found)
	}
}
