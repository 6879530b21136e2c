package tui

import (
	"slices"
	"strings"
	"testing"
)

func TestAnotherModelIsSaidOnceAndStandsInTheStatusLine(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.session.Model, f.session.Offline, f.model = "offline/loci", true, "offline/loci"
	r := newRobot(t, f, 80, 24).connect()
	if !strings.Contains(r.status(), "offline/loci") || !strings.Contains(r.status(), "no language model") {
		t.Errorf("status %q", r.status())
	}
	r.say("moved one")
	r.idle()
	r.say("moved two")
	r.idle()
	if n := strings.Count(r.said(), "· This agent now uses openai/gpt-5."); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.said())
	}
	if s := r.status(); !strings.Contains(s, "openai/gpt-5") || strings.Contains(s, "offline") || strings.Contains(s, "no language model") {
		t.Errorf("status %q", s)
	}
}

func TestAModelChangedElsewhereIsSeenAfterTheRun(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	if _, err := r.f.SetModel(r.ctx, "agent-1", "openai/gpt-6"); err != nil {
		t.Fatal(err)
	}
	r.say("hello")
	r.until("the model", func() bool { return strings.Contains(r.status(), "openai/gpt-6") })
}

func TestAConversationThatIsOpenedShowsHowFullItsWindowIs(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/new")
	r.until("the new conversation", func() bool { return r.m.conv.thread.Conversation == "conv-new" })
	r.until("its use", func() bool { return strings.Contains(r.status(), "12%") })
}

func TestAQueueStaysWithItsConversation(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("slow")
	r.until("the run", func() bool { return r.m.turn != nil && r.m.turn.run != "" })
	r.say("only for the first one")
	r.say("/new")
	r.until("the new conversation", func() bool { return r.m.conv.thread.Conversation == "conv-new" })
	if len(r.m.prompt.Queue) != 0 {
		t.Errorf("the queue went along: %q", r.m.prompt.Queue)
	}
	r.say("hello")
	r.until("the answer", func() bool { return strings.Contains(r.said(), "You said: hello") })
	r.idle()
	if slices.Contains(r.f.heard(), "only for the first one") {
		t.Errorf("sent elsewhere: %q", r.f.heard())
	}
	r.run(r.m.conv.openThread(agent("agent-1", "Ada"), Thread{Agent: "agent-1"}))
	r.until("the first conversation", func() bool { return r.m.conv.thread.Conversation == "" })
	if !slices.Equal(r.m.prompt.Queue, []string{"only for the first one"}) || !strings.Contains(r.status(), "queue waits") {
		t.Errorf("queue %q, status %q", r.m.prompt.Queue, r.status())
	}
	r.enter()
	r.until("it is sent", func() bool { return slices.Contains(r.f.heard(), "only for the first one") })
}

func TestWhatWasRecalledIsOneFoldedRowThatOpensInTheTranscript(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("remembered who keeps the light?")
	r.idle()
	if said := r.said(); strings.Count(said, "↺ recalled 2 memories") != 1 || strings.Contains(said, "Odd keeps the light") {
		t.Errorf("said:\n%s", said)
	}
	r.run(r.m.openTranscript())
	if v := r.view(); !strings.Contains(v, "Odd keeps the light") {
		t.Errorf("the transcript:\n%s", v)
	}
}

func TestThoughtsOfAnAttemptThatBrokeOffAreNotPrinted(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("retried")
	r.idle()
	said := r.said()
	if strings.Contains(said, "Tea, then") || strings.Contains(said, "memory_insert") || strings.Contains(said, "✎") {
		t.Errorf("the attempt that broke off is printed:\n%s", said)
	}
	if strings.Count(said, "∴ thought") != 1 || strings.Count(said, "the model is asked again") != 1 {
		t.Errorf("said:\n%s", said)
	}
}
