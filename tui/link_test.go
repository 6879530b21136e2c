package tui

import (
	"slices"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"

	"github.com/google/go-cmp/cmp"
)

func TestARunWhoseConnectionIsLostIsFollowedUntilItsEndIsKnown(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lost = []error{away(), away()}
	f.others["run-1"] = []api.Message{
		{MessageType: api.MessageAssistant, ID: "message-run-1", SeqID: 2, Content: api.Text("Before ")},
		{MessageType: api.MessageAssistant, ID: "message-run-1", SeqID: 9, Content: api.Text("and after.")},
		{MessageType: api.MessageStopReason, SeqID: 10, StopReason: api.StopEndTurn},
	}
	r := newRobot(t, f, 80, 24).connect()
	r.say("cut it")
	r.say("next")
	r.until("a word that it is away", func() bool { return strings.Contains(r.status(), "the daemon is not running · trying again") })
	if strings.Contains(r.said(), "delivered") || r.m.prompt.Text() != "" || len(f.heard()) != 1 {
		t.Errorf("given up: prompt %q, sent %q\n%s", r.m.prompt.Text(), f.heard(), r.said())
	}
	r.until("what waited", func() bool { return strings.Contains(r.said(), "You said: next") })
	want := "› cut it\nBefore and after.\n· Reconnected; continuing.\n› next\nYou said: next\n"
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Error(diff)
	}
	if last := f.follows[len(f.follows)-1]; last <= 1 {
		t.Errorf("followed after %d", f.follows)
	}
}

func TestAnAcceptedRunThatTheDaemonDoesNotKnowWasNotDelivered(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lost = []error{away(), &client.Error{Status: 404, Kind: api.KindNotFound, Message: "there is no run run-1"}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("cut it")
	r.idle()
	if !strings.Contains(r.said(), "not delivered; it is in the prompt again") || r.m.prompt.Text() != "cut it" {
		t.Errorf("prompt %q\n%s", r.m.prompt.Text(), r.said())
	}
}

func TestAnAcceptedRunThatCannotBeReadIsNotSaidToBeUndelivered(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.lost = []error{&client.Error{Status: 410, Kind: api.KindGone, Message: "the stream expired"}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("cut it")
	r.idle()
	if strings.Contains(r.said(), "delivered") || r.m.prompt.Text() != "" || !strings.Contains(r.said(), "! the stream expired") {
		t.Errorf("prompt %q\n%s", r.m.prompt.Text(), r.said())
	}
}

func TestAMessageThatMayHaveArrivedIsSentAgainUnderTheSameName(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.sendErrs = []error{away(), &client.Error{Status: 422, Kind: api.KindInvalid, Message: "no"}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("hello")
	r.idle()
	if r.m.prompt.Text() != "hello" || !strings.Contains(r.said(), "safe to send again; it is in the prompt again") {
		t.Errorf("prompt %q\n%s", r.m.prompt.Text(), r.said())
	}
	for range 2 { // refused, then taken
		r.enter()
		r.idle()
	}
	r.say("hello")
	r.idle()
	ids := slices.Clone(f.otids)
	if len(ids) != 4 || ids[0] == "" || ids[0] != ids[1] || ids[1] == ids[2] || ids[2] == ids[3] {
		t.Errorf("sent as %q", ids)
	}
}

func TestADaemonThatATurnToldOfIsNotToldOfAgainBehindIt(t *testing.T) {
	t.Parallel()
	for word, told := range map[string]string{"broken": "Reconnected; continuing.", "restarted": "The daemon restarted"} {
		f := newFake()
		r := newRobot(t, f, 80, 24).connect()
		r.say(word + " stream")
		r.idle()
		f.restart(2)
		r.until("the new daemon", func() bool { return r.m.link.daemonPID == 2 && r.f.watches() == 2 })
		if n := strings.Count(r.said(), told); n != 1 || strings.Contains(r.said(), "the daemon was away") {
			t.Errorf("said %d times\n%s", n, r.said())
		}
		f.restart(3)
		r.until("the next new daemon", func() bool { return r.m.link.daemonPID == 3 && r.f.watches() == 3 })
		if n := strings.Count(r.said(), "the daemon was away and is back"); n != 1 {
			t.Errorf("the next time is said %d times\n%s", n, r.said())
		}
	}
}

func TestAStreamThatOnlyBrokeHidesNoRestartToCome(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	r.say("broken stream")
	r.idle()
	f.hints <- api.Change{Kind: api.ChangeRun, AgentID: "agent-1", RunID: "run-1"} // it is still the same daemon
	r.until("the hint", func() bool { return len(f.hints) == 0 && r.m.link.toldAway == 0 })
	f.restart(2)
	r.until("the restart", func() bool { return strings.Contains(r.said(), "the daemon was away and is back") })
}
