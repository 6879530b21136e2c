package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
)

// todos has the agent make its list and go on.
func (r *robot) todos() *robot {
	r.t.Helper()
	r.say("todo")
	r.until("the list", func() bool { return r.m.ui.todos != nil && strings.Contains(r.view()+r.said(), "I go on") })
	return r
}

func TestTheListIsAChecklistAndARowWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().todos()
	if want := "▸ plans 1 of 3 done\n  ✓ read 茶\n  ▸ change all of it\n  ○ test it\n"; !strings.Contains(r.said(), want) {
		t.Errorf("the list:\n%s", r.said())
	}
	if !strings.Contains(r.view(), "▸ change all of it · 1 of 3 done") {
		t.Errorf("what it does is not there:\n%s", r.view())
	}
	r.key(esc())
	r.idle()
	if strings.Contains(r.view(), "change all of it") {
		t.Errorf("it has stopped:\n%s", r.view())
	}
	r.say("/todo")
	if v := r.view(); !strings.Contains(v, "What Ada does · 1 of 3 done") || !strings.Contains(v, "○ test it") {
		t.Errorf("/todo shows\n%s", v)
	}
}

func TestAListFromLongAgoIsFound(t *testing.T) {
	t.Parallel()
	f := newFake()
	for _, m := range script("todo")[1:3] {
		m.ID = "message-todo"
		f.history = append(f.history, m)
	}
	for range 3 * readMost {
		f.history = append(f.history, api.Message{MessageType: api.MessageUser, ID: "m", Content: api.Text("more")})
	}
	for i := range f.history {
		f.history[i].ID = "message-" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
	}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/todo")
	r.until("the list", func() bool { return strings.Contains(r.view(), "▸ change all of it") })

	r = newRobot(t, newFake(), 80, 24).connect()
	r.say("/todo")
	r.until("a word", func() bool { return strings.Contains(r.status(), "has made no list") })
}
