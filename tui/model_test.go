package tui

import (
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/term"
	"loci/tui/transcript"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func away() error {
	return &client.Error{Kind: api.KindUnavailable, Message: "the daemon is not running"}
}

func TestWhatIsTypedBeforeTheDaemonAnswersIsSentAfter(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.openErrs = []error{away(), away()}
	r := newRobot(t, f, 80, 24)
	r.say("hello")
	if got := r.view(); !strings.Contains(got, "⋯ hello") {
		t.Errorf("not queued:\n%s", got)
	}
	r.until("a word about the daemon", func() bool { return strings.Contains(r.status(), "not running · trying again") })
	r.until("the answer", func() bool { return strings.Contains(r.said(), "You said: hello") })
	if n := f.tries(); n != 3 {
		t.Errorf("%d tries", n)
	}
}

func TestAnAgentThatIsNotThereEndsTheChatWithTheReason(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.openErrs = []error{&client.Error{Kind: api.KindNotFound, Message: "no agent Zed"}}
	r := newRobot(t, f, 80, 24)
	r.until("the end", func() bool { return r.m.quitting })
	if client.KindOf(r.m.quitErr) != api.KindNotFound {
		t.Errorf("error %v", r.m.quitErr)
	}
}

func TestAQueueIsSentInOrderOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("one")
	r.say("two")
	r.say("three")
	r.until("the last answer", func() bool { return strings.Contains(r.said(), "You said: three") })
	if diff := cmp.Diff([]string{"one", "two", "three"}, r.f.heard()); diff != "" {
		t.Error(diff)
	}
}

func TestAFailureHoldsTheQueue(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("fail now")
	r.say("then this")
	r.until("the failure", func() bool { return strings.Contains(r.said(), "! the provider is down") })
	if len(r.f.heard()) != 1 || len(r.m.prompt.Queue) != 1 || r.m.prompt.Text() != "fail now" {
		t.Errorf("sent %v, queue %v, prompt %q", r.f.heard(), r.m.prompt.Queue, r.m.prompt.Text())
	}
	if !strings.Contains(r.status(), "queue waits") {
		t.Errorf("status %q", r.status())
	}
	r.say("")
	r.until("both", func() bool { return len(r.f.heard()) >= 2 })
}

func TestAStreamThatBrokeSaysOnceWhatBecameOfTheAnswer(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"broken stream":    "Before and after.\n· Reconnected; continuing.\n",
		"restarted stream": "Before\n· The daemon restarted; the answer starts over.\nAnew.\n",
		"late stream":      "Before and\n· Reconnected; continuing.\n· The answer starts over.\nAnew.\n",
	} {
		r := newRobot(t, newFake(), 80, 24).connect()
		r.say(said)
		r.idle()
		if diff := cmp.Diff("› "+said+"\n"+want, r.said()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", said, diff)
		}
	}
}

func TestAHugeMessageOfTheHistoryIsFoldedToAScreen(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"lines": strings.Repeat("a line\n", 50_000), "one line": strings.Repeat("words ", 100_000)} {
		r := newRobot(t, newFake(), 80, 24)
		for _, kind := range []transcript.Kind{transcript.User, transcript.Assistant} {
			got := r.m.ui.folded(transcript.Item{Kind: kind, Text: "first\n" + text + "last"}, 19)
			if n := strings.Count(got, "\n") + 1; n > 19 || !strings.Contains(got, "more lines (ctrl+o)") ||
				!strings.Contains(got, "first") || !strings.Contains(got, "last") {
				t.Errorf("%s: %d rows:\n%s", name, n, got)
			}
		}
	}
}

func TestADaemonThatRestartedIsSaidOnceAndWhatWasMissedIsShown(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = []api.Message{{MessageType: api.MessageUser, ID: "1", RunID: "old", Content: api.Text("before")}}
	r := newRobot(t, f, 80, 24).connect()
	r.typ("half a word")
	f.mu.Lock()
	f.pid = 2
	f.history = append(
		f.history,
		api.Message{MessageType: api.MessageUser, ID: "2", RunID: "elsewhere", Content: api.Text("from another terminal")},
	)
	broken := f.broken
	f.broken = make(chan struct{})
	f.mu.Unlock()
	close(broken)
	r.until("the missed message", func() bool { return strings.Contains(r.said(), "from another terminal") })
	if n := strings.Count(r.said(), "was away and is back"); n != 1 || strings.Count(r.said(), "before") != 1 {
		t.Errorf("said\n%s", r.said())
	}
	if r.m.prompt.Text() != "half a word" {
		t.Errorf("the prompt holds %q", r.m.prompt.Text())
	}
}

func TestAConnectionOfHintsThatOnlyEndedIsNoRestart(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	old := r.m.link.changes
	f.mu.Lock()
	broken := f.broken
	f.broken = make(chan struct{})
	f.mu.Unlock()
	close(broken)
	r.until("another connection", func() bool { return r.m.link.changes != old })
	if strings.Contains(r.said(), "away") {
		t.Errorf("said\n%s", r.said())
	}
}

func TestARunOfAnotherTerminalIsShownAsItHappens(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.others["run-else"] = append(
		[]api.Message{{MessageType: api.MessageUserInput, ID: "m1", Content: api.Text("said elsewhere")}},
		append(say("and answered"), done(1)...)...)
	r := newRobot(t, f, 80, 24).connect()
	hint := api.Change{Kind: api.ChangeRun, ID: "run-else", AgentID: "agent-1", ConversationID: "agent-1"}
	f.hints <- api.Change{Kind: api.ChangeRun, ID: "run-other-thread", AgentID: "agent-1", ConversationID: "conv-1"}
	f.hints <- hint
	r.until("the run", func() bool { return strings.Contains(r.said(), "and answered") })
	f.hints <- hint
	r.idle()
	r.say("hello")
	r.until("our own", func() bool { return strings.Contains(r.said(), "You said: hello") })
	if diff := cmp.Diff("› said elsewhere\nand answered\n› hello\nYou said: hello\n", r.said()); diff != "" {
		t.Error(diff)
	}
}

func TestAStaleEditOfMemoryKeepsBothTexts(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/memory human")
	r.until("the editor", func() bool { _, ok := r.top().(*panel.Edit); return ok })
	r.typ(" Mine.")
	r.f.edit("human", "Theirs.")
	save := tea.Key{Code: 's', Mod: tea.ModCtrl}
	r.key(save)
	r.until("the refusal", func() bool { return strings.Contains(r.view(), "Theirs.") })
	if r.f.block("human") != "Theirs." || !strings.HasSuffix(r.top().(*panel.Edit).Value(), "Mine.") {
		t.Errorf("block %q", r.f.block("human"))
	}
	r.key(save)
	r.until("saved", func() bool { return strings.Contains(r.said(), "saved: human") })
	if !strings.HasSuffix(r.f.block("human"), "Mine.") {
		t.Errorf("block %q", r.f.block("human"))
	}
}

func TestAnAgentIsMadeAndTalkedTo(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/agents")
	r.until("the list", func() bool { return r.top() != nil })
	r.key(tea.Key{Code: 'n', Mod: tea.ModCtrl})
	r.typ("Zoë")
	r.enter()
	r.until("the agent", func() bool { return r.m.conv.thread.Agent == "agent-3" })
	if r.m.conv.agentName != "Zoë" || r.top() != nil {
		t.Errorf("name %q", r.m.conv.agentName)
	}
}

func TestAnotherConversationIsOpenedWithItsHistory(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/resume")
	r.until("the list", func() bool { return r.top() != nil })
	r.typ("tea")
	r.enter()
	r.until("the conversation", func() bool { return r.m.conv.thread.Conversation == "conv-1" })
	if !strings.Contains(r.said(), "words in agent-1conv-1") {
		t.Errorf("said\n%s", r.said())
	}
	r.say("/new")
	r.until("a new one", func() bool { return r.m.conv.thread.Conversation == "conv-new" })
}

func TestTheModelIsChangedForTheAgent(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, func(o *Options) { o.Model = "openai/gpt-5" }).connect()
	if !strings.Contains(r.status(), "openai/gpt-5") {
		t.Errorf("status %q", r.status())
	}
	r.say("/model offline/loci")
	r.until("the change", func() bool {
		return r.f.chosen() == "offline/loci" && strings.Contains(r.said(), "now answers with offline/loci")
	})
	r.say("/model openai/unlisted")
	r.until("the warning", func() bool {
		return strings.Contains(r.said(), "now answers with openai/unlisted") &&
			strings.Contains(r.said(), `openai does not list "unlisted"`)
	})
}

func TestNothingTicksWhenNothingHappens(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("hello")
	r.idle()
	r.until("the last tick", func() bool { return !r.m.ticking })
	select { // anything that arrives now is something a person would pay for
	case msg := <-r.msgs:
		t.Errorf("%T came", msg)
	case <-time.After(3 * spinEvery):
	}
}

func TestNotesOfTheClientAreShown(t *testing.T) {
	t.Parallel()
	notify, notes := Notes()
	r := newRobot(t, newFake(), 80, 24, func(o *Options) { o.Notes = notes })
	notify("the daemon is still preparing its store")
	r.until("the note", func() bool { return strings.Contains(r.said(), "· the daemon is still preparing") })
}

func TestEveryCommandIsInTheHelpAndHasItsOwnName(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24)
	help := helpText(r.m.ui.theme, 80)
	seen := map[string]bool{}
	for _, c := range commands() {
		for _, name := range []string{c.name, c.alias} {
			if name == "" {
				continue
			}
			if seen[name] || !strings.Contains(help, "/"+name) || c.help == "" || c.run == nil {
				t.Errorf("command %q", name)
			}
			seen[name] = true
		}
	}
	for _, b := range bindings() {
		if !strings.Contains(help, b.keys) {
			t.Errorf("key %q", b.keys)
		}
	}
}

func TestMachineMessagesOfTheLoopAreNotShown(t *testing.T) {
	t.Parallel()
	items := itemsOf([]api.Message{
		{MessageType: api.MessageSystem, Content: api.Text("secret prompt")},
		{MessageType: api.MessageUser, Content: api.Text(`{"type":"heartbeat","reason":"x"}`)},
		{MessageType: api.MessageUser, Content: api.Text(`{"type":"mine"}`)},
	})
	if len(items) != 1 || items[0].Text != `{"type":"mine"}` {
		t.Errorf("items %+v", items)
	}
}

func TestWhatIsToBeKnownOfTheDaemonIsSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24, func(o *Options) {
		o.About = func(api.Status) string { return "other settings" }
	}).connect()
	f.mu.Lock()
	f.pid = 2
	broken := f.broken
	f.broken = make(chan struct{})
	f.mu.Unlock()
	close(broken)
	r.until("the other daemon", func() bool { return r.m.link.daemonPID == 2 })
	if n := strings.Count(r.said(), "other settings"); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.said())
	}
}

func TestAHugeMessageOfOnesOwnDoesNotPushAllElseAway(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	before := r.m.ui.above
	r.m.prompt.Paste("mute " + strings.Repeat("pasted line\n", 300)) // nothing is answered, so that only the message is printed
	r.enter()
	r.until("the message", func() bool { return len(r.f.heard()) > 0 }) // it is measured first
	if n := r.m.ui.above - before; n > 19 {
		t.Errorf("%d rows are printed", n)
	}
	if got := r.f.heard(); len(got) != 1 || strings.Count(got[0], "pasted line") != 300 {
		t.Errorf("%d messages were sent", len(got))
	}
}

func TestAMessageThatBeginsWithAPathIsSent(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/etc/hosts has a wrong line")
	r.idle()
	if diff := cmp.Diff([]string{"/etc/hosts has a wrong line"}, r.f.heard()); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnknownCommandStaysInThePrompt(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/helpp me")
	r.until("what is wrong", func() bool { return strings.Contains(r.said(), "there is no command /helpp") })
	if r.m.prompt.Text() != "/helpp me" || len(r.f.heard()) != 0 {
		t.Errorf("prompt %q, sent %q", r.m.prompt.Text(), r.f.heard())
	}
}

func TestARefusedNameOfAnAgentStaysInItsFieldWithTheReason(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	f.mu.Lock()
	f.openErrs = []error{&client.Error{Status: 422, Kind: api.KindInvalid, Message: "a name has no slash"}}
	f.mu.Unlock()
	r.say("/agents")
	r.until("the list", func() bool { return r.top() != nil })
	r.key(tea.Key{Code: 'n', Mod: tea.ModCtrl})
	r.typ("bad/")
	r.enter()
	r.until("the reason", func() bool { return strings.Contains(r.view(), "a name has no slash") })
	e, ok := r.top().(*panel.Edit)
	if !ok || e.Value() != "bad/" {
		t.Fatalf("the field is gone:\n%s", r.view())
	}
	r.key(tea.Key{Code: tea.KeyBackspace})
	r.enter()
	r.until("the agent", func() bool { return r.m.conv.thread.Agent == "agent-3" && r.top() == nil })
}

func TestCtrlCStopsTheAgentAndThenLeaves(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("slow")
	r.until("the run", func() bool { return r.m.turn != nil && r.m.turn.run != "" })
	stop := tea.Key{Code: 'c', Mod: tea.ModCtrl}
	r.key(stop)
	if s := r.status(); !strings.Contains(s, "stopping · ctrl+c again leaves") {
		t.Errorf("status %q", s)
	}
	r.idle()
	if !strings.Contains(r.said(), "· stopped") || r.m.quitting {
		t.Errorf("said:\n%s", r.said())
	}
	r.m.armed = true // in time for the second press
	r.key(stop)
	if !r.m.quitting {
		t.Error("the second did not leave")
	}
}

func TestATerminalWithoutASizeHasTheCustomaryOne(t *testing.T) {
	t.Parallel()
	msg := term.Filter(nil, tea.WindowSizeMsg{})
	if diff := cmp.Diff(tea.WindowSizeMsg{Width: 80, Height: 24}, msg); diff != "" {
		t.Error(diff)
	}
}

func TestAFailureSaysOnALineOfItsOwnWhatToDo(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("boom now")
	r.until("the failure", func() bool { return strings.Contains(r.said(), "! vllm: boom\n  try: ask again in a moment\n") })
}
