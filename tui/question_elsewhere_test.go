package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"

	"github.com/google/go-cmp/cmp"
)

func TestAnAnswerThatCameTooLateSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect().asked("once")
	f.mu.Lock()
	f.refusals, f.waiting = []error{late()}, nil
	f.mu.Unlock()
	r.press("y")
	r.until("a word", func() bool { return strings.Contains(r.said(), "what waited for you was answered elsewhere") })
	if r.m.question.stands() || strings.Contains(r.said(), "!") {
		t.Error(r.said())
	}
}

func TestADeniedMessageThatCameTooLateIsInThePromptAgain(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect().asked("once")
	f.mu.Lock()
	f.refusals, f.waiting = []error{late()}, nil
	f.mu.Unlock()
	r.say("something else")
	r.typ("d")
	r.until("a word", func() bool { return strings.Contains(r.said(), "answered elsewhere") })
	r.holds("something else")
}

func TestARefusedAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.refusals = []error{late()}
	r := newRobot(t, f, 80, 24).connect().asked("once")
	r.press("y")
	r.until("the reason", func() bool { return strings.Contains(r.said(), "! Cannot process approval response") })
	r.stands()
	r.press("n")
	r.until("the answer", func() bool { return len(f.answers()) == 2 && r.m.turn == nil })
}

func TestAnAnswerFromAnotherTerminalClosesTheQuestion(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.others["run-other"] = append([]api.Message{{
		MessageType: api.MessageToolReturn,
		ToolReturns: []api.ToolReturn{{ToolCallID: "call-1", Status: api.StatusSuccess, ToolReturn: api.Text("ok")}},
	}}, append(say("Noted."), done(10)...)...)
	r := newRobot(t, f, 80, 24).connect().asked("once")
	r.press("v")
	f.wait()
	f.hints <- api.Change{Kind: api.ChangeRun, ID: "run-other", AgentID: "agent-1", ConversationID: "agent-1"}
	r.until("the other's answer", func() bool { return strings.Contains(r.said(), "Noted.") && r.m.turn == nil })
	want := "› ask once\n· what waited for you was answered elsewhere\n✎ keeps “Ada likes tea 茶”\nNoted.\n"
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Error(diff)
	}
	if r.m.question.stands() || r.top() != nil {
		t.Error("the question still stands")
	}
}

func TestARequestClearedElsewhereClosesTheQuestion(t *testing.T) {
	t.Parallel()
	for _, hint := range []api.Change{
		{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1"},
		{Kind: api.ChangeRun, ID: "run-1", AgentID: "agent-1", ConversationID: "agent-1"}, // the run that asked
	} {
		f := newFake()
		r := newRobot(t, f, 80, 24).connect().asked("once")
		f.wait()
		f.hints <- hint
		r.until("a word", func() bool { return strings.Contains(r.said(), "what waited for you was answered elsewhere") })
		if r.m.question.stands() || len(f.follows) > 0 {
			t.Errorf("it still stands, or %v was followed", f.follows)
		}
	}
}

func TestAMessageThatMeetsARequestComesBackUnderItsQuestion(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	f.mu.Lock()
	f.waiting = []api.WaitingRequest{waitingRequest(Thread{Agent: "agent-1"}, "once")}
	f.sendErrs = []error{&client.Error{Status: 409, Kind: api.KindConflict, Message: "Cannot send a new message"}}
	f.mu.Unlock()
	r.say("hello")
	r.stands()
	r.holds("hello")
	r.press("y")
	r.undecided("the text is in the prompt")
	r.press("tab", "y")
	r.decided("allow " + firstCall)
}

func TestWhatAnotherTerminalsRunAsksIsAskedHere(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.others["run-other"] = asks("once")
	r := newRobot(t, f, 80, 24).connect()
	f.wait(waitingRequest(Thread{Agent: "agent-1"}, "once"))
	f.hints <- api.Change{Kind: api.ChangeRun, ID: "run-other", AgentID: "agent-1", ConversationID: "agent-1"}
	r.stands()
	r.press("n")
	r.decided("deny " + firstCall)
}
