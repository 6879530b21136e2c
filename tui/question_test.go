package tui

import (
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/tui/panel"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

// asked has the agent ask, and waits until its question stands long enough to be
// answered.
func (r *robot) asked(what string) *robot {
	r.t.Helper()
	r.say("ask " + what)
	r.stands()
	return r
}

func (r *robot) stands() {
	r.t.Helper()
	r.until("the question", func() bool { return r.m.question.stands() && r.m.turn == nil })
	r.view()
	r.calm()
}

// calm lets a moment pass in which nobody presses a key.
func (r *robot) calm() { r.now = r.now.Add(armAfter) }

// press presses a key after a quiet moment.
func (r *robot) press(keys ...string) {
	for _, k := range keys {
		r.calm()
		switch k {
		case "tab":
			r.key(tea.Key{Code: tea.KeyTab})
		case "up":
			r.key(tea.Key{Code: tea.KeyUp})
		case "down":
			r.key(tea.Key{Code: tea.KeyDown})
		case "end":
			r.key(tea.Key{Code: tea.KeyEnd})
		default:
			r.typ(k)
		}
		r.settle()
	}
	r.view()
}

// settle lets the moment pass after which a key was no word, and confirms one that allows.
func (r *robot) settle() {
	if r.m.question.confirm != nil {
		r.enter()
	}
	if held := r.m.question.held; held != nil {
		r.feed(settledMsg{held})
	}
}

// decisions are the answers sent, each in a word.
func (r *robot) decisions() string {
	var out []string
	for _, req := range r.f.answers() {
		for _, d := range req.Approvals {
			word := "deny "
			if *d.Approve {
				word = "allow "
			}
			word += d.ToolCallID + " " + d.RequestID + " " + d.Hash
			if d.Reason != nil {
				word += " because " + *d.Reason
			}
			if d.Arguments != nil {
				word += " with " + *d.Arguments
			}
			out = append(out, word)
		}
		for _, m := range req.Messages {
			out = append(out, "and say "+m.Content.String())
		}
	}
	return strings.Join(out, "\n")
}

func (r *robot) decided(want string) {
	r.t.Helper()
	r.until("an answer", func() bool { return len(r.f.answers()) > 0 && r.m.turn == nil })
	if diff := cmp.Diff(want, r.decisions()); diff != "" {
		r.t.Errorf("(-want +sent):\n%s", diff)
	}
}

func (r *robot) undecided(why string) {
	r.t.Helper()
	if n := len(r.f.answers()); n > 0 || !r.m.question.stands() {
		r.t.Errorf("%s: %s", why, r.decisions())
	}
}

const firstCall = "call-1 message-asks hash-1"

func TestAnAllowedCallGoesOnInTheSameTurn(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once")
	for _, part := range []string{"? Ada asks to call archival_memory_insert", "content: Ada likes tea 茶", whyAsked, "waits for you"} {
		if v := r.view(); !strings.Contains(v, part) {
			t.Errorf("%q is not there:\n%s", part, v)
		}
	}
	r.press("y")
	r.decided("allow " + firstCall)
	want := "› ask once\n✎ keeps “Ada likes tea 茶”\nThat is settled.\n"
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Error(diff)
	}
	if r.m.question.stands() || strings.Contains(r.view(), "asks to call") {
		t.Errorf("the question still stands:\n%s", r.view())
	}
}

func TestADenialCarriesItsReason(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once")
	r.press("r")
	r.typ("not about her tea")
	r.undecided("before enter")
	r.enter()
	r.decided("deny " + firstCall + " because not about her tea")
	if !strings.Contains(r.said(), "✗ keeps “Ada likes tea 茶” · denied: not about her tea") {
		t.Error(r.said())
	}
}

// TestWhatIsBeingTypedAnswersNothing lets questions meet a person who types:
// before it comes, just after, and with pauses.
func TestWhatIsBeingTypedAnswersNothing(t *testing.T) {
	t.Parallel()
	for name, typing := range map[string]func(r *robot){
		"begun before": func(r *robot) {
			r.typ("hey ")
			r.stands()
			r.press("y", " ", "n", "Y", "N", "v", "r", "e")
			r.holds("hey y nYNvre")
		},
		"begun just after": func(r *robot) {
			r.until("the question", func() bool { return r.m.question.stands() && r.m.turn == nil })
			r.typ("y")
			r.press("y", "n")
			r.holds("yyn")
		},
		"without a pause": func(r *robot) {
			r.until("the question", func() bool { return r.m.question.stands() && r.m.turn == nil })
			for range 20 {
				r.now = r.now.Add(armAfter - time.Millisecond)
				r.typ("y")
			}
			r.holds(strings.Repeat("y", 20))
		},
		"with another letter": func(r *robot) {
			r.stands()
			r.press("t", "y", "n")
			r.holds("tyn")
		},
		"a space and enter": func(r *robot) {
			r.stands()
			r.press(" ")
			r.calm()
			r.enter()
			r.calm()
			r.enter()
			r.holds(" ")
		},
		"a word after a pause": func(r *robot) {
			r.stands()
			r.typ("yes")
			r.calm()
			r.typ(" no")
			r.holds("yes no")
		},
		"a letter taken back": func(r *robot) {
			r.stands()
			r.typ("y")
			r.key(tea.Key{Code: tea.KeyBackspace})
			r.holds("")
		},
		"pasted": func(r *robot) {
			r.stands()
			r.feed(tea.PasteMsg{Content: "y"})
			r.press("y")
			r.holds("yy")
		},
		"esc": func(r *robot) {
			r.stands()
			for range 3 {
				r.calm()
				r.key(esc())
			}
			r.press("v")
			r.calm()
			r.key(esc())
			r.holds("")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRobot(t, newFake(), 80, 24).connect()
			r.say("ask once")
			typing(r)
			r.undecided(name)
		})
	}
}

func TestTabGivesTheKeysToThePromptAndBack(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("ask once")
	r.typ("two words")
	r.stands()
	if !strings.Contains(r.view(), "tab: answer the question above") {
		t.Errorf("how is it answered?\n%s", r.view())
	}
	r.press("tab", "tab", "y")
	r.undecided("in the prompt")
	r.press("tab", "y")
	r.decided("allow " + firstCall)
	r.holds("two wordsy")
}

func TestAllowingWaitsForTheEndOfTheQuestion(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("long")
	if v := r.view(); !strings.Contains(v, "⋮") || !strings.Contains(v, "n: 1") || !strings.Contains(v, "v shows all, then y allows") {
		t.Errorf("a long value hides the rest:\n%s", v)
	}
	r.press("y", "Y")
	r.undecided("its end was not shown")
	if !strings.Contains(r.status(), "v shows") {
		t.Error(r.status())
	}
	r.press("v", "y", "Y")
	r.undecided("its end was not scrolled to")
	r.press("end")
	r.key(tea.Key{Code: 'y', Text: "y"})
	r.undecided("without a quiet moment")
	r.press("y")
	r.decided("allow " + firstCall)
	if r.top() != nil {
		t.Error("the panel stays")
	}
}

func TestADenialNeedsNoReading(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("long")
	r.press("n")
	r.decided("deny " + firstCall)
}

func TestEditedArgumentsAreCheckedAndAskedAboutAgain(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once")
	edit := func(text string) *panel.Edit {
		r.press("e")
		e, ok := r.top().(*panel.Edit)
		if !ok {
			t.Fatalf("no editor:\n%s", r.view())
		}
		e.SetValue(text)
		r.key(tea.Key{Code: 's', Mod: tea.ModCtrl})
		return e
	}
	for text, why := range map[string]string{
		"{\n  \"content\": \"x\",\n}": "line 3 is not JSON", `["x"]`: "a JSON object", "null": "a JSON object",
	} {
		e := edit(text)
		if !strings.Contains(r.view(), why) {
			t.Errorf("%s was not refused:\n%s", text, r.view())
		}
		e.SetValue(e.Value())
		r.key(esc())
		r.key(esc())
	}
	edit("{\n  \"content\": \"Ada likes coffee\"\n}")
	r.undecided("saved, and not allowed yet")
	if v := r.view(); !strings.Contains(v, "changed by you") || !strings.Contains(v, "content: Ada likes coffee") {
		t.Errorf("it isn't asked again:\n%s", v)
	}
	r.press("y")
	r.decided("allow " + firstCall + ` with {"content":"Ada likes coffee"}`)
	if !strings.Contains(r.said(), "keeps “Ada likes coffee”") {
		t.Error(r.said())
	}
}

func TestArgumentsSavedAsTheyWereAreNotChanged(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("hostile")
	r.press("e")
	r.key(tea.Key{Code: 's', Mod: tea.ModCtrl})
	r.press("y")
	r.decided("allow " + firstCall)
}

func TestSeveralCallsAreAnsweredTogetherOnceEachIsDecided(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 40).connect().asked("several")
	r.press("y", "n")
	r.undecided("one is left")
	for _, row := range []string{"1 allowed · call archival_memory_insert", "2 denied · call roll_dice", "▸ 3 call send_mail"} {
		if v := r.view(); !strings.Contains(v, row) {
			t.Errorf("which one is asked about? %q is not there:\n%s", row, v)
		}
	}
	r.press("up", "y")
	r.undecided("a changed answer leaves the last")
	r.press("n")
	r.decided("allow " + firstCall + "\nallow call-2 message-asks hash-2\ndeny call-3 message-asks hash-3")
	if n := len(r.f.answers()); n != 1 {
		t.Errorf("answered %d times", n)
	}
}

func TestAllThatWaitIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"Y": "allow", "N": "deny"} {
		r := newRobot(t, newFake(), 80, 40).connect().asked("several")
		r.press(key)
		r.decided(want + " " + firstCall + "\n" + want + " call-2 message-asks hash-2\n" + want + " call-3 message-asks hash-3")
	}
}

func TestAllAreAllowedAtOnceOnlyWhenAllWereShown(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 12).connect().asked("several")
	r.press("Y")
	r.undecided("only one call was shown")
	r.press("v", "end", "Y")
	r.until("an answer", func() bool { return len(r.f.answers()) > 0 })
	if n := len(strings.Split(r.decisions(), "\n")); n != 3 {
		t.Error(r.decisions())
	}
}

func TestTheToolOfAnotherProgramCanOnlyBeDenied(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("client")
	r.press("y", "Y", "e")
	r.undecided("nobody here can run it")
	r.press("n")
	r.decided("deny " + firstCall)
}

func TestOpeningAConversationAsksWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = append(f.history,
		api.Message{MessageType: api.MessageUser, ID: "m1", Content: api.Text("remember tea")},
		api.Message{MessageType: api.MessageApprovalRequest, ID: "m2", ToolCalls: []api.ToolCall{
			{ToolCallID: "call-1", Name: "archival_memory_insert", Arguments: `{"content":"tea"}`},
		}})
	f.waiting = []api.WaitingRequest{
		waitingRequest(Thread{Agent: "agent-2"}, "several"), waitingRequest(Thread{"agent-1", "conv-1"}, "long"),
		waitingRequest(Thread{Agent: "agent-1"}, "once"),
	}
	r := newRobot(t, f, 80, 24).connect()
	r.stands()
	r.press("y")
	r.decided("allow " + firstCall)
	want := "› remember tea\n✎ keeps “tea”\nThat is settled.\n"
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Error(diff)
	}
}

func TestLeavingAConversationTakesItsQuestionAway(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.waiting = []api.WaitingRequest{waitingRequest(Thread{Agent: "agent-1"}, "once")}
	r := newRobot(t, f, 80, 24).connect()
	r.stands()
	r.typ("/new")
	r.enter()
	r.until("the new one", func() bool { return r.m.conv.thread.Conversation == "conv-new" })
	if r.m.question.stands() {
		t.Errorf("the question came along:\n%s", r.view())
	}
}

func TestAMessageIsSentWithADenialOrStays(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once")
	r.say("something else")
	if !strings.Contains(r.view(), "deny its tool call and send the message") {
		t.Fatalf("nothing is offered:\n%s", r.view())
	}
	r.typ("b")
	r.undecided("gone back")
	r.holds("something else")
	r.press("tab")
	r.enter()
	r.typ("d")
	r.decided("deny " + firstCall + " because The person sent another message instead.\nand say something else")
	r.holds("")
	if !strings.HasSuffix(r.said(), "› something else\n✗ keeps “Ada likes tea 茶” · denied: "+
		"The person sent another message instead.\nYou said: something else\n") {
		t.Error(r.said())
	}
}

func TestTheQueueWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := newRobot(t, f, 80, 24).connect()
	r.say("ask once")
	r.say("queued")
	r.stands()
	r.enter()
	if got := strings.Join(f.heard(), "|"); got != "ask once" {
		t.Errorf("sent %s while a call waits", got)
	}
	r.press("y")
	r.until("the queued message", func() bool { return strings.Join(f.heard(), "|") == "ask once|queued" })
}
