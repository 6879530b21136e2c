package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"

	tea "charm.land/bubbletea/v2"
)

// withMany gives the fake a conversation of n messages.
func withMany(f *fake, n int) *fake {
	for i := range n / 2 {
		f.history = append(
			f.history,
			api.Message{
				MessageType: api.MessageUser,
				ID:          fmt.Sprint("u", i),
				RunID:       fmt.Sprint("r", i),
				Content:     api.Text(fmt.Sprintf("question %d.", i)),
			},
			api.Message{
				MessageType: api.MessageAssistant,
				ID:          fmt.Sprint("a", i),
				RunID:       fmt.Sprint("r", i),
				Content:     api.Text(fmt.Sprintf("answer %d.", i)),
			},
		)
	}
	return f
}

func (f *fake) reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.spans)
}

func (r *robot) shows(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		r.until("“"+text+"” on the screen", func() bool { return strings.Contains(r.view(), text) })
	}
}

func TestTheTranscriptScrollsUpToTheFirstOfFiveThousandMessages(t *testing.T) {
	t.Parallel()
	r := newRobot(t, withMany(newFake(), 5000), 80, 24).connect()
	began := time.Now()
	r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
	if v := r.view(); !strings.Contains(v, "answer 2499.") {
		t.Fatalf("the end is not shown:\n%s", v)
	}
	seen := map[string]bool{}
	for range 20_000 {
		for row := range strings.SplitSeq(r.view(), "\n") {
			seen[strings.TrimPrefix(row, "› ")] = true
		}
		if seen["question 0."] {
			break
		}
		r.key(tea.Key{Code: tea.KeyPgUp})
		r.until("what was asked for", func() bool { return !strings.Contains(r.view(), "reading …") })
	}
	for i := range 2500 {
		if !seen[fmt.Sprintf("question %d.", i)] || !seen[fmt.Sprintf("answer %d.", i)] {
			t.Fatalf("turn %d was not seen on the way up", i)
		}
	}
	for range 20_000 {
		if strings.Contains(r.view(), "answer 2499.") {
			break
		}
		r.key(tea.Key{Code: tea.KeyPgDown})
		r.until("what was asked for", func() bool { return !strings.Contains(r.view(), "reading …") })
	}
	r.shows("answer 2499.")
	t.Logf("up and down in %s", time.Since(began))
}

func TestTheTranscriptGoesToItsBeginningAtOnceAndBack(t *testing.T) {
	t.Parallel()
	r := newRobot(t, withMany(newFake(), 5000), 80, 24).connect()
	r.say("tools now")
	r.idle()
	r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
	r.shows("I will remember that.")
	before := r.f.reads()
	r.typ("g")
	r.shows("› question 0.")
	if n := r.f.reads() - before; n != 1 {
		t.Errorf("%d requests", n)
	}
	r.key(tea.Key{Code: tea.KeyPgDown})
	r.shows("question 9.")
	r.typ("G")
	r.shows("answer 2499.")
	r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
	if r.top() != nil {
		t.Error("it does not close")
	}
}

func TestWhatWasSaidSinceTheChatOpenedStandsInTheTranscriptOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 60).connect()
	r.say("tools now")
	r.idle()
	f.mu.Lock() // the way the daemon has it
	f.history = []api.Message{
		{MessageType: api.MessageUser, ID: "message-0", RunID: "run-1", Content: api.Text("tools now")},
		{
			MessageType: api.MessageToolCall,
			ID:          "message-1",
			RunID:       "run-1",
			ToolCalls:   []api.ToolCall{{Name: "memory_insert", ToolCallID: "c1", Arguments: `{"label":"human","new_str":"Likes tea"}`}},
		},
		{
			MessageType: api.MessageToolReturn,
			ID:          "message-2",
			RunID:       "run-1",
			ToolReturns: []api.ToolReturn{{ToolCallID: "c1", Status: api.StatusSuccess, ToolReturn: api.Text("ok")}},
		},
		{MessageType: api.MessageAssistant, ID: "message-run-1", RunID: "run-1", Content: api.Text("I will **remember** that.")},
	}
	f.mu.Unlock()
	r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
	for range 2 {
		r.key(tea.Key{Code: tea.KeyPgUp})
		r.until("what was asked for", func() bool { return !strings.Contains(r.view(), "reading …") })
	}
	for _, text := range []string{"tools now", "remembers in human", "I will remember that."} {
		if n := strings.Count(r.view(), text); n != 1 {
			t.Errorf("%q stands there %d times:\n%s", text, n, r.view())
		}
	}
}

func TestASearchOpensAHitAmongItsNeighboursAndGoesOnFromThere(t *testing.T) {
	t.Parallel()
	f := withMany(newFake(), 5000)
	f.found = []api.MessageResult{
		{MessageType: api.MessageAssistant, MessageID: "a1000", Content: api.Text("answer 1000."), AgentID: api.PtrTo("agent-1")},
	}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/search answer")
	r.shows("agent: answer 1000.")
	r.enter()
	r.shows("question 1000.", "▸ found:\nanswer 1000.", "question 1001.")
	for range 30 {
		r.key(tea.Key{Code: tea.KeyPgDown})
		r.until("what was asked for", func() bool { return !strings.Contains(r.view(), "reading …") })
	}
	r.until("later turns", func() bool { return !strings.Contains(r.view(), "found") && strings.Contains(r.view(), "answer 11") })
	for range 60 {
		r.key(tea.Key{Code: tea.KeyPgUp})
		r.until("what was asked for", func() bool { return !strings.Contains(r.view(), "reading …") })
	}
	r.until("earlier turns", func() bool { return !strings.Contains(r.view(), "found") && strings.Contains(r.view(), "answer 8") })
	r.key(tea.Key{Code: tea.KeyEscape})
	r.shows("agent: answer 1000.") // the results
}

func TestAHitThatStandsInNoListIsShownAlone(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.found = []api.MessageResult{
		{MessageType: api.MessageUser, MessageID: "gone", Content: api.Text("what was rewound"), AgentID: api.PtrTo("agent-1")},
	}
	r := newRobot(t, f, 80, 24).connect()
	f.mu.Lock()
	f.unread = &client.Error{Kind: api.KindNotFound, Message: "no message gone"}
	f.mu.Unlock()
	r.say("/search rewound")
	r.shows("you: what was rewound")
	r.enter()
	r.until("the text", func() bool {
		return strings.Contains(r.view(), "g first") && strings.Contains(r.view(), "what was rewound")
	})
}

func TestThatTheTranscriptCannotBeReadOnIsSaid(t *testing.T) {
	t.Parallel()
	f := withMany(newFake(), 400)
	r := newRobot(t, f, 80, 24).connect()
	r.key(tea.Key{Code: 'o', Mod: tea.ModCtrl})
	f.mu.Lock()
	f.unread = &client.Error{Kind: api.KindUnavailable, Message: "the daemon is away"}
	f.mu.Unlock()
	r.typ("g")
	r.shows("the daemon is away")
	r.typ("g")
	r.shows("question 0.")
}
