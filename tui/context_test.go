package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func TestCompactShowsTheSummaryAndWhatItWon(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = []api.Message{{MessageType: api.MessageUser, ID: "message-1", Content: api.Text("tea")}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/compact all")
	if !strings.Contains(r.status(), "writing a summary") {
		t.Errorf("status %q", r.status())
	}
	r.until("the summary", func() bool { return strings.Contains(r.said(), "↺ They spoke of tea.") })
	if got := r.said(); !strings.Contains(got, "21 messages became 3") || strings.Count(got, "They spoke of tea.") != 1 {
		t.Errorf("said:\n%s", got)
	}
	r.until("the measure", func() bool { return r.m.conv.contextMost > 0 })
	if r.m.conv.lastID != "message-summary" || strings.Contains(r.status(), "writing") {
		t.Errorf("last %q, status %q", r.m.conv.lastID, r.status())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if diff := cmp.Diff([]string{"agent-1 all"}, f.compacts); diff != "" {
		t.Error(diff)
	}
}

func TestAWindowLargerThanTheContractShowsIsMeasured(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.window = 1_000_000
	f.agents[0].LLMConfig.ContextWindow = windowShown
	r := newRobot(t, f, 80, 24)
	r.until("the connection", func() bool { return r.m.link.connected && r.m.link.daemonPID > 0 })
	r.say("hello")
	r.idle()
	r.until("the measure", func() bool { return r.m.conv.contextMost > 0 })
	if r.m.conv.contextMost != f.window || !strings.Contains(r.status(), " 2%") {
		t.Errorf("a window of %d tokens; status %q", r.m.conv.contextMost, r.status())
	}
}

func TestTheFirstFrameWithAnAgentShowsHowFullItsWindowIs(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.session.Used, f.session.Window = 15_000, 60_000
	f.agents[0].Name, f.agents[0].LLMConfig.ContextWindow = "Ada B.", 60_000
	r := newRobot(t, f, 80, 24)
	r.until("the connection", func() bool { return r.m.link.connected })
	if got := r.status(); !strings.Contains(got, "25%") {
		t.Errorf("the first status is %q", got)
	}
	r.until("the agent's state", func() bool { return r.m.conv.agentName == "Ada B." })
	if got := r.status(); !strings.Contains(got, "25%") {
		t.Errorf("then it is %q", got)
	}
	if n := f.measures.Load(); n > 0 {
		t.Errorf("what the session said was asked for again %d times", n)
	}
}

func TestAModelOfThisChatAloneKeepsItsOwnWindow(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.session.Used, f.session.Window, f.session.Model = 15_000, 60_000, "other/model"
	f.agents[0].Name = "Ada B."
	r := newRobot(t, f, 80, 24, func(o *Options) { o.Model = "other/model" })
	r.until("the connection", func() bool { return r.m.link.connected })
	r.until("the agent's state", func() bool { return r.m.conv.agentName == "Ada B." })
	if got := r.status(); !strings.Contains(got, "other/model · 25%") {
		t.Errorf("the status is %q", got)
	}
}

func TestTheStatusSaysThatASummaryIsBeingWritten(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("full window")
	r.until("the summary under way", func() bool { return strings.Contains(r.status(), "summarising what was said earlier") })
	if r.m.conv.lastID == "message-of-no-record" {
		t.Error("what is told of a compaction is taken for the last message")
	}
	r.key(tea.Key{Code: tea.KeyEscape})
	r.idle()
}

func TestCompactSaysInALineWhyItCannot(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.openErrs = []error{away()}
	r := newRobot(t, f, 80, 24)
	r.say("/compact")
	if got := r.status(); !strings.Contains(got, "/compact needs the daemon") {
		t.Errorf("offline: %q", got)
	}
	r.connect()
	if got := r.m.prompt.Text(); got != "/compact" {
		t.Errorf("what was typed is gone: %q", got)
	}
	r.m.prompt.Set("")
	r.say("slow answer")
	r.until("the answer", func() bool { return strings.Contains(r.view(), "This much") })
	r.say("/compact")
	if got := r.status(); !strings.Contains(got, "is busy") {
		t.Errorf("busy: %q", got)
	}
	r.key(tea.Key{Code: tea.KeyEscape})
	r.idle()
	r.say("/compact magic")
	if got := r.said(); !strings.Contains(got, "there is no mode magic; the modes are ") ||
		!strings.Contains(got, compactModes()[len(compactModes())-1]) {
		t.Errorf("a wrong mode: %q", got)
	}
	f.mu.Lock()
	if len(f.compacts) > 0 {
		t.Errorf("asked the daemon: %v", f.compacts)
	}
	f.compactErr = &client.Error{Status: 400, Kind: api.KindInvalid, Message: "there is nothing that a summary could replace"}
	f.mu.Unlock()
	before := r.said()
	r.say("/compact")
	r.until("the reason", func() bool { return strings.Contains(r.status(), "there is nothing that a summary") })
	if got := r.said(); got != before {
		t.Errorf("said:\n%s", got)
	}
}

func TestASummaryThatWasMadeBetweenTurnsIsShownOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = []api.Message{{MessageType: api.MessageUser, ID: "message-1", Content: api.Text("tea")}}
	r := newRobot(t, f, 80, 24).connect()
	r.until("the measure", func() bool { return r.m.conv.contextMost > 0 })
	measures := f.measures.Load()
	f.mu.Lock()
	f.history = append(f.history,
		api.Message{MessageType: api.MessageUser, ID: "message-2", Content: api.Text("said by a program")},
		api.Message{MessageType: api.MessageSummary, ID: "message-summary", Summary: "They spoke of tea."})
	f.mu.Unlock()
	hint := api.Change{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1", ConversationID: "agent-1"}
	f.hints <- hint
	r.until("the summary", func() bool { return strings.Contains(r.said(), "↺ They spoke of tea.") })
	r.until("the measure after it", func() bool { return r.m.conv.contextMost > 0 && f.measures.Load() > measures })
	f.hints <- hint
	r.say("hello")
	r.hears("You said: hello")
	if n := strings.Count(r.said(), "They spoke of tea."); n != 1 || strings.Contains(r.said(), "said by a program") {
		t.Errorf("shown %d times:\n%s", n, r.said())
	}
}
