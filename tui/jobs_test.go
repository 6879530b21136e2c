package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
)

// theLine is the shell line that a run of the script waits for.
func theLine(r *robot) api.Job {
	return api.Job{
		ID: "job-abc", AgentID: "agent-1", ConversationID: "agent-1", ToolCallID: "call-line", Command: "make all",
		BeganAt: api.At(r.now), Output: "compiling 漢字\nlinking \x1b[31mall\nnearly there",
	}
}

func (r *robot) waitsForLine() *robot {
	r.connect()
	r.f.mu.Lock()
	r.f.jobs = []api.Job{theLine(r)}
	r.f.mu.Unlock()
	r.say("line")
	r.until("what the line writes", func() bool {
		r.now = r.now.Add(spinEvery)
		return strings.Contains(r.view(), "nearly there")
	})
	return r
}

func TestALineThatRunsShowsWhatItWroteLast(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine()
	for _, want := range []string{"│ compiling 漢字", "│ linking all", "│ nearly there"} {
		if !strings.Contains(r.view(), want) {
			t.Errorf("no %q in\n%s", want, r.view())
		}
	}
}

// It may be installing its packages, or asking for a host.
func TestAToolThatSomebodyWroteShowsWhatItDoesMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.f.mu.Lock()
	r.f.jobs = []api.Job{theLine(r)}
	r.f.mu.Unlock()
	r.say("line roll_dice")
	r.until("what the tool says", func() bool {
		r.now = r.now.Add(spinEvery)
		return strings.Contains(r.view(), "│ nearly there")
	})
}

func TestNobodyLooksForLinesWhileNoneRuns(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("mute")
	for range 20 {
		r.now = r.now.Add(time.Second)
		r.run(r.m.handle(tickMsg{}))
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.f.tails > 0 {
		t.Errorf("the daemon was asked %d times", r.f.tails)
	}
}

func TestCtrlBSendsTheLineThatRunsToTheBackground(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).waitsForLine()
	r.key(tea.Key{Code: 'b', Mod: tea.ModCtrl})
	r.until("the word of it", func() bool { return strings.Contains(r.said(), "goes on in the background as job-abc") })
	if strings.Contains(r.view(), "nearly there") {
		t.Errorf("it is shown on:\n%s", r.view())
	}
	r.typ("ab")
	r.key(tea.Key{Code: 'b', Mod: tea.ModCtrl}) // nothing runs: the key is the prompt's
	r.typ("x")
	if got := r.m.prompt.Text(); got != "axb" {
		t.Errorf("the prompt holds %q", got)
	}
}

func TestThePanelOfLinesShowsOneAndStopsIt(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/jobs")
	r.until("the empty list", func() bool { return strings.Contains(r.view(), "none runs") })
	r.key(tea.Key{Code: tea.KeyEscape})
	r.f.mu.Lock()
	r.f.jobs = []api.Job{theLine(r)}
	r.f.jobs[0].Background = true
	r.f.mu.Unlock()
	r.say("/jobs")
	r.until("the list", func() bool {
		return strings.Contains(r.view(), "make all") && strings.Contains(r.view(), "in the background")
	})
	r.key(tea.Key{Code: tea.KeyEnter})
	r.until("its output", func() bool { _, ok := r.top().(*panel.Text); return ok && strings.Contains(r.view(), "nearly there") })
	r.key(tea.Key{Code: 's', Text: "s"})
	r.until("its end", func() bool { return strings.Contains(r.view(), "It was cancelled") })
	r.key(tea.Key{Code: 's', Text: "s"})
	if r.top() == nil {
		t.Error("the key of a line that runs works on one that has ended")
	}
}

func TestTheEndOfAJobIsOneRowInTheConversation(t *testing.T) {
	t.Parallel()
	told := `{"type":"system_alert","message":"job-abc has ended after 3s: make all\nExit code 0.\nall of it","time":"now"}`
	items := itemsOf([]api.Message{
		{MessageType: api.MessageUser, Content: api.Text(told)},
		{MessageType: api.MessageUser, Content: api.Text(`{"type":"system_alert","message":"something else","time":"now"}`)},
	})
	if len(items) != 1 || items[0].Text != "job-abc has ended after 3s: make all" {
		t.Errorf("got %+v", items)
	}
}
