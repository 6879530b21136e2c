package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

// long is a message that has to be measured.
var long = strings.Repeat("many words ", 1000) + "end"

func tooLong(t *testing.T) *robot {
	t.Helper()
	f := newFake()
	f.fits = 5000
	r := newRobot(t, f, 80, 24).connect()
	r.feed(tea.PasteMsg{Content: long})
	r.enter()
	r.until("the question", func() bool { return r.top() != nil })
	return r
}

func TestWhatDoesNotFitIsSaidBeforeItIsSent(t *testing.T) {
	t.Parallel()
	r := tooLong(t)
	v := strings.Join(strings.Fields(r.view()), " ")
	for _, want := range []string{
		"too long for openai/gpt-4o", "Of its 11003 characters 5000 fit into the 128000 tokens", "s send it", "e edit it first",
	} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is not said:\n%s", want, r.view())
		}
	}
	r.enter() // once too often
	if n := len(r.f.heard()); n != 0 {
		t.Fatalf("%d messages were sent unasked", n)
	}
	r.typ("s")
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
	r.idle()
	if got := r.f.heard(); len(got) != 1 || got[0] != long || r.top() != nil {
		t.Errorf("sent %d messages, the panel %v", len(got), r.top())
	}
}

func TestAMessageThatIsNotToBeCutStaysInThePrompt(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]tea.Key{"e": {Code: 'e', Text: "e"}, "esc": esc()} {
		r := tooLong(t)
		r.key(key)
		r.holds(long)
		if r.top() != nil || len(r.f.heard()) > 0 {
			t.Errorf("%s: panel %v, sent %d", name, r.top(), len(r.f.heard()))
		}
	}
}

func TestAMessageThatFitsIsSentUnasked(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.feed(tea.PasteMsg{Content: long})
	r.enter()
	r.enter() // the person is impatient
	r.until("the message", func() bool { return len(r.f.heard()) > 0 })
	r.idle()
	r.say("short")
	r.idle()
	if got := r.f.heard(); len(got) != 2 || got[0] != long || got[1] != "short" {
		t.Errorf("sent %d messages", len(got))
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.f.measured != 2 {
		t.Errorf("measured %d times", r.f.measured)
	}
}

func TestAMessageThatCannotBeMeasuredIsSent(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.fitErr = &client.Error{Kind: api.KindNotFound, Message: "an older daemon"}
	r := newRobot(t, f, 80, 24).connect()
	r.feed(tea.PasteMsg{Content: long})
	r.enter()
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
}

func TestALongMessageWhileTheAgentWorksIsMeasuredAndQueued(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("mute please")
	r.until("the run", func() bool { return r.m.turn != nil && r.m.turn.run != "" })
	r.feed(tea.PasteMsg{Content: long})
	r.enter()
	r.until("the queue", func() bool { return len(r.m.prompt.Queue) == 1 })
	if r.m.prompt.Queue[0] != long || len(r.f.heard()) != 1 {
		t.Errorf("queued %d characters, sent %d messages", len(r.m.prompt.Queue[0]), len(r.f.heard()))
	}
}
