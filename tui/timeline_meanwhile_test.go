package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestWhatIsSaidDuringARewindIsSentAfterIt(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.slow = make(chan struct{})
	r := newRobot(t, f, 80, 24).connect()
	r.goBack()
	r.say("and now?")
	close(f.slow)
	r.hears("went back to before “What do I like?”")
	r.hears("You said: and now?")
	r.idle()
	said := r.said()
	if back, sent := strings.Index(said, "went back"), strings.Index(said, "› and now?"); sent < back {
		t.Errorf("the transcript lacks what was said, or has it before the rewind:\n%s", said)
	}
}

func TestARewindIsReadAgainIfSomethingWasSaidSince(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	r := newRobot(t, f, 80, 24).connect()
	if _, err := f.Rewind(t.Context(), api.RewindRequest{RunID: "run-old-2"}); err != nil {
		t.Fatal(err)
	}
	before := r.m.timeline.look()()
	r.m.message(&turn{}, &api.Message{MessageType: api.MessageUsage, ID: "message-since"})
	r.feed(before)
	if said := r.said(); strings.Contains(said, "another terminal") {
		t.Errorf("the transcript became what it was before that:\n%s", said)
	}
	r.hears("another terminal took this conversation back")
}

func TestWhatMemoryComesBackIsWhatTheDaemonSays(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	for block := range f.edits { // all within one second
		for i := range f.edits[block] {
			f.edits[block][i].CreatedAt, f.edits[block][i].StepID = api.At(day(11, 30)), api.PtrTo("step-1-1")
		}
	}
	f.then = []api.BlockVersion{f.edits["block-human"][1], f.edits["block-persona"][0]}
	r := newRobot(t, f, 80, 24).connect()
	r.list("/rewind")
	r.question()
	if v := r.view(); !strings.Contains(v, "memory human as it was: Name: Ada.") || strings.Contains(v, "empty") {
		t.Errorf("the question:\n%s", v)
	}
}
