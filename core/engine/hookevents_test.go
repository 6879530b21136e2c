package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// session sends a message of a client session from the folder.
func (d *desk) session(id core.ClientID, text string) (core.Run, []core.Event) {
	d.t.Helper()
	req := d.request(d.agent, text)
	req.Client = core.Client{ID: id, Kind: core.ClientChat, Workspace: d.dir}
	return d.submit(req)
}

func hookNotices(events []core.Event) (texts []string) {
	for _, e := range events {
		if n, ok := e.Body.(core.Notice); ok && n.Kind == engine.NoticeHook {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

func TestWhatHooksAddJoinsTheMessageAndIsReplayedByteForByte(t *testing.T) {
	t.Parallel()
	w := &watch{at: func(call core.HookCall) core.HookVerdict {
		if call.Event == core.HookSession {
			return core.HookVerdict{Text: "The branch is main."}
		}
		if call.Event == core.HookPrompt {
			return core.HookVerdict{Text: "The ticket of " + call.Prompt + " is 7.", Notices: []string{"looked it up"}}
		}
		return core.HookVerdict{}
	}}
	d := watched(t, w)
	_, events := d.session("client-a", "one")
	if diff := cmp.Diff([]string{"looked it up"}, hookNotices(events)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	d.session("client-a", "two")
	run, _ := d.session("client-b", "three")
	want := []string{
		"SessionStart startup", "UserPromptSubmit one", "Stop done", "UserPromptSubmit two", "Stop done", "SessionStart resume",
		"UserPromptSubmit three", "Stop done",
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	sent := d.model.sent()
	first := sent[0].Messages[len(sent[0].Messages)-1].Text
	if !strings.Contains(first, "The branch is main.\nThe ticket of one is 7.") || !strings.HasSuffix(first, "one") {
		t.Errorf("the message was sent as %q", first)
	}
	for i := 1; i < len(sent); i++ {
		if diff := cmp.Diff(sent[i-1].Messages, sent[i].Messages[:len(sent[i-1].Messages)]); diff != "" {
			t.Errorf("request %d does not begin with the one before:\n%s", i, diff)
		}
	}
	again, err := d.past().Reproduce(t.Context(), d.firstStep(run).ID)
	if err != nil || !cmp.Equal(again.Messages, sent[2].Messages) {
		t.Errorf("it is not reproduced: %v", err)
	}
	for _, m := range d.list(d.agent) {
		if strings.Contains(m.PlainText(), "ticket") {
			t.Errorf("a list shows %q", m.PlainText())
		}
	}
}

func TestAHookBlocksAMessageWhichIsNoPartOfTheConversation(t *testing.T) {
	t.Parallel()
	no := true
	w := &watch{at: func(call core.HookCall) core.HookVerdict {
		if call.Event == core.HookPrompt && no {
			return core.HookVerdict{Deny: "it holds a password"}
		}
		return core.HookVerdict{}
	}}
	d := watched(t, w)
	run, _ := d.session("client-a", "the password is x")
	if run.Status != core.RunFailed || run.Error == nil || run.Error.Type != "blocked_by_hook" || run.Error.Kind != core.Forbidden ||
		!strings.Contains(run.Error.Message, "it holds a password") || run.Delivered {
		t.Errorf("the run: %s %+v", run.Status, run.Error)
	}
	if len(d.model.sent()) != 0 || d.said() != 1 {
		t.Errorf("%d requests, %d messages", len(d.model.sent()), d.said())
	}
	no = false
	d.session("client-a", "good day")
	starts := 0
	for _, s := range w.seen {
		if strings.HasPrefix(s, string(core.HookSession)) {
			starts++
		}
	}
	if sent := d.model.sent(); starts != 2 || len(sent) != 1 || strings.Contains(fmt.Sprint(sent[0].Messages), "password") {
		t.Errorf("the session began %d times, %d requests", starts, len(sent))
	}
}

func TestAHookMakesTheAgentGoOnAndNotForEver(t *testing.T) {
	t.Parallel()
	var again []bool
	w := &watch{at: func(call core.HookCall) core.HookVerdict {
		if call.Event != core.HookStop {
			return core.HookVerdict{}
		}
		again = append(again, call.Again)
		return core.HookVerdict{Deny: "the tests fail"}
	}}
	d := watched(t, w, say("I am done."), say("Really."))
	run, events := d.session("client-a", "go")
	if run.StopReason != core.StopEndTurn || len(again) != 6 || again[0] || !again[1] {
		t.Errorf("the run ended %s, asked with %v", run.StopReason, again)
	}
	sent := d.model.sent()
	if len(sent) != 6 || !strings.Contains(sent[1].Messages[len(sent[1].Messages)-1].Text, "the tests fail") {
		t.Errorf("%d requests", len(sent))
	}
	if n := hookNotices(events); len(n) != 6 || !strings.Contains(n[5], "kept from ending 5 times") {
		t.Errorf("told: %q", n)
	}
}

func TestAHookEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := &watch{before: func(core.HookCall) core.HookVerdict { return core.HookVerdict{Halt: "enough for today"} }}
	d := watched(t, w, list("."), say("never asked"))
	run, events := d.session("client-a", "go")
	if run.StopReason != core.StopEndTurn || len(d.model.sent()) != 1 {
		t.Errorf("the run ended %s after %d requests", run.StopReason, len(d.model.sent()))
	}
	if got := returned(events)["call_list"]; !strings.Contains(got, "forbids it: enough for today") {
		t.Errorf("the call returned %q", got)
	}
	if n := hookNotices(events); len(n) != 1 || !strings.Contains(n[0], "A hook ends the turn: enough for today") {
		t.Errorf("told: %q", n)
	}
}

func TestAHookIsToldOfWhatAsksAndMayOnlyDenyIt(t *testing.T) {
	t.Parallel()
	deny := ""
	w := &watch{at: func(call core.HookCall) core.HookVerdict {
		if call.Event != core.HookApproval {
			return core.HookVerdict{}
		}
		return core.HookVerdict{Deny: deny, Did: []string{"the hook x was told"}}
	}}
	write := calling("write", map[string]any{"path": "b.txt", "content": "x"})
	d := watched(t, w, write, say("one"), write, say("two"))
	if run, _ := d.session("client-a", "go"); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	d.tell("", approve("call_write"))
	deny = "not on a Friday"
	run, events := d.session("client-a", "again")
	if got := returned(events)["call_write"]; run.StopReason != core.StopEndTurn || !strings.Contains(got, "denies it: not on a Friday") {
		t.Errorf("the run ended %s with %q", run.StopReason, got)
	}
	asked := 0
	for _, s := range w.seen {
		if strings.HasPrefix(s, string(core.HookApproval)) {
			asked++
		}
	}
	if asked != 2 {
		t.Errorf("it was told %d times", asked)
	}
	for _, m := range d.list(d.agent) {
		for _, r := range m.Returns {
			if r.Name == "write" && r.Hooked != "the hook x was told" {
				t.Errorf("a return says that hooks did %q", r.Hooked)
			}
		}
	}
}

func TestAHookIsToldOfTheAgentsOwnToolsOnceTheirReturnIsSaved(t *testing.T) {
	t.Parallel()
	w := &watch{after: "noted"}
	insert := calling("memory_insert", map[string]any{"label": "human", "new_string": "Ann"})
	d := watched(t, w, insert)
	d.agent = d.house.agent(nil, "memory_insert")
	_, events := d.session("client-a", "I am Ann")
	got := returned(events)["call_memory_insert"]
	if len(w.seen) != 2 || w.seen[1] != "after memory_insert "+got || strings.Contains(got, "noted") {
		t.Errorf("it saw %q of %q", w.seen, got)
	}
	if n := hookNotices(events); len(n) != 1 || n[0] != "A hook says of memory_insert: noted" {
		t.Errorf("told: %q", n)
	}
}

func TestAHookIsToldBeforeASummaryIsMade(t *testing.T) {
	t.Parallel()
	w := &watch{at: func(core.HookCall) core.HookVerdict { return core.HookVerdict{} }}
	d := watched(t, w)
	for _, text := range []string{"one", "two", "three"} {
		d.session("client-a", text)
	}
	if _, err := d.engine.Compact(t.Context(), core.ConversationID(d.agent.ID), nil, nil); err != nil {
		t.Fatal(err)
	}
	if last := w.seen[len(w.seen)-1]; last != "PreCompact manual" {
		t.Errorf("it saw %q", w.seen)
	}
}

func TestASummaryMadeByItselfTellsHooksSo(t *testing.T) {
	t.Parallel()
	w := &watch{at: func(core.HookCall) core.HookVerdict { return core.HookVerdict{} }}
	d := watched(t, w)
	d.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 5_000, Tools: true, CacheTTL: 5 * time.Minute}
	d.agent = d.house.agent(nil)
	for range 12 {
		d.session("client-a", strings.Repeat("many words to fill the window ", 60))
	}
	if !slices.Contains(w.seen, "PreCompact auto") || slices.Contains(w.seen, "PreCompact manual") {
		t.Errorf("it saw %q", w.seen)
	}
}

func TestTheEndOfATurnAfterAnApprovalIsToldToHooks(t *testing.T) {
	t.Parallel()
	goOn := true
	w := &watch{at: func(call core.HookCall) core.HookVerdict {
		if call.Event == core.HookStop && goOn {
			goOn = false
			return core.HookVerdict{Deny: "the tests fail"}
		}
		return core.HookVerdict{}
	}}
	d := watched(t, w, calling("write", map[string]any{"path": "b.txt", "content": "x"}), say("one"), say("two"))
	if run, _ := d.session("client-a", "go"); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	if last := w.seen[len(w.seen)-1]; strings.HasPrefix(last, string(core.HookStop)) {
		t.Errorf("a turn that waits has ended: %q", w.seen)
	}
	run, _ := d.tell("", approve("call_write"))
	var stops []string
	for _, s := range w.seen {
		if strings.HasPrefix(s, string(core.HookStop)) {
			stops = append(stops, s)
		}
	}
	if diff := cmp.Diff([]string{"Stop one", "Stop two"}, stops); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if sent := d.model.sent(); len(sent) != 3 {
		t.Errorf("%s after %d requests: it did not go on", run.StopReason, len(sent))
	}
}

func TestASessionThatGoesOnAfterARestartOfTheDaemonIsResumed(t *testing.T) {
	t.Parallel()
	w := &watch{at: func(core.HookCall) core.HookVerdict { return core.HookVerdict{} }}
	d := watched(t, w)
	d.session("client-a", "one")
	d.restart()
	d.session("client-a", "two")
	d.session("client-a", "three")
	var begun []string
	for _, s := range w.seen {
		if strings.HasPrefix(s, string(core.HookSession)) {
			begun = append(begun, s)
		}
	}
	if diff := cmp.Diff([]string{"SessionStart startup", "SessionStart resume"}, begun); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
