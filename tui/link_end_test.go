package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
)

// end breaks the connection of hints; whoever asks next gets the error.
func (f *fake) end(err error) {
	f.mu.Lock()
	broken := f.broken
	f.broken, f.stopped = make(chan struct{}), err
	f.mu.Unlock()
	close(broken)
}

func stoppedErr(err error) error {
	return &client.Error{Kind: api.KindUnavailable, Message: err.Error(), Err: err}
}

func TestADaemonThatWasStoppedIsLeftToTheNextMessage(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	f.end(stoppedErr(client.ErrStopped))
	const word = "the daemon was stopped; the next message starts it"
	r.until("the word", func() bool { return strings.Contains(r.said(), word) })
	if !strings.Contains(r.status(), "the daemon is stopped") {
		t.Errorf("status %q", r.status())
	}
	watched := f.watches()
	f.mu.Lock()
	f.stopped, f.pid = nil, 2 // somebody starts the daemon
	f.mu.Unlock()
	r.until("it to be back", func() bool { return f.watches() > watched && !strings.Contains(r.status(), "stopped") })
	if n := strings.Count(r.said(), word); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.said())
	}
}

func TestAMessageDuringARunWhoseDaemonWasStoppedStartsIt(t *testing.T) {
	t.Parallel()
	f := newFake()
	stopped := stoppedErr(client.ErrStopped)
	f.lost = []error{stopped, stopped}
	f.others["run-1"] = []api.Message{
		{MessageType: api.MessageAssistant, ID: "message-run-1", SeqID: 9, Content: api.Text("and after.")},
		{MessageType: api.MessageStopReason, SeqID: 10, StopReason: api.StopEndTurn},
	}
	r := newRobot(t, f, 80, 24).connect()
	r.say("cut it")
	f.end(stopped)
	r.until("the word", func() bool { return strings.Contains(r.said(), "the daemon was stopped") })
	r.say("next")
	r.until("both answers", func() bool { return strings.Contains(r.said(), "You said: next") })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pid != 2 {
		t.Errorf("it was started %d times", f.pid-1)
	}
}

func TestAHomeThatIsGoneIsSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	f.end(stoppedErr(client.ErrHomeGone))
	r.until("the word", func() bool {
		return strings.Contains(r.said(), "this home is gone") && strings.Contains(r.status(), "the home is gone")
	})
}

func TestAHomeThatWasRestoredIsReadAnew(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = []api.Message{{MessageType: api.MessageUser, ID: "later", Content: api.Text("said after the backup")}}
	r := newRobot(t, f, 80, 24).connect()
	f.mu.Lock()
	f.unknown, f.history, f.pid = "later", []api.Message{{MessageType: api.MessageUser, ID: "early", Content: api.Text("said before")}}, 2
	f.mu.Unlock()
	f.end(nil)
	r.until("the word", func() bool {
		return strings.Contains(r.said(), "the home was replaced") && strings.Contains(r.said(), "said before")
	})
	if r.m.conv.lastID != "early" {
		t.Errorf("it goes on after %q", r.m.conv.lastID)
	}
}

func TestAnAgentThatIsNotInTheRestoredHomeIsSaid(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = []api.Message{{MessageType: api.MessageUser, ID: "later", Content: api.Text("said after the backup")}}
	r := newRobot(t, f, 80, 24).connect()
	f.mu.Lock()
	f.unknown, f.pid, f.agents = "later", 2, nil
	f.mu.Unlock()
	f.end(nil)
	r.until("the word", func() bool {
		return strings.Contains(r.said(), "Ada is not in this home any more") && strings.Contains(r.said(), "/agents")
	})
}
