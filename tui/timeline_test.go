package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func esc() tea.Key { return tea.Key{Code: tea.KeyEscape} }

func (r *robot) list(command string) *panel.List {
	r.t.Helper()
	r.say(command)
	r.until("the list of "+command, func() bool { _, ok := r.top().(*panel.List); return ok })
	return r.top().(*panel.List)
}

func (r *robot) question() {
	r.t.Helper()
	r.enter()
	r.until("the question", func() bool { _, ok := r.top().(*panel.Text); return ok })
}

func (r *robot) hears(text string) {
	r.t.Helper()
	r.until("“"+text+"”", func() bool { return strings.Contains(r.said(), text) })
}

// withPast is a robot in a conversation of three turns.
func withPast(t *testing.T) *robot {
	t.Helper()
	return newRobot(t, withTurns(newFake()), 80, 24).connect()
}

// goBack takes the conversation back to before its newest turn.
func (r *robot) goBack() {
	r.t.Helper()
	r.list("/rewind")
	r.question()
	r.typ("y")
}

func TestARewindSaysWhatComesBackAndAsksFirst(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.now = day(14, 0)
	l := r.list("/rewind")
	var titles []string
	for _, e := range l.Entries {
		titles = append(titles, e.Title+" | "+e.Note)
	}
	want := []string{
		"11:30  What do I like? | 1 turn back",
		"10:30  I like tea from 京都 | 2 turns back",
		"09:30  My name is Ada | 3 turns back",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	r.key(tea.Key{Code: tea.KeyDown})
	r.question()
	for _, want := range []string{
		"before “I like tea from 京都”?", "2 turns", "human as it was: Name: Ada", "Stays: files", "fork from there",
	} {
		if v := r.view(); !strings.Contains(v, want) {
			t.Errorf("the question lacks %q:\n%s", want, v)
		}
	}
	r.enter()
	r.key(tea.Key{Code: tea.KeySpace, Text: " "})
	if len(r.f.rewindRequests()) != 0 {
		t.Fatal("an enter or a space too many rewound")
	}
	r.typ("y")
	r.hears("went back to before “I like tea from 京都”, 1 memory block changed, 2 passages set aside; what")
	if diff := cmp.Diff([]api.RewindRequest{{RunID: "run-old-1"}}, r.f.rewindRequests()); diff != "" {
		t.Error(diff)
	}
	if said := r.said(); strings.Contains(said, "What do I like?") || !strings.Contains(said, "its last words now: Answer 0") {
		t.Errorf("the transcript is not true:\n%s", said)
	}
	r.holds("I like tea from 京都")
}

func TestARewindSaysWhatItCouldNotRestore(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.missing = []string{`the folder "docs" is deleted`}
	for range 10 {
		f.missing = append(f.missing, "another \x1b[31mthing")
	}
	r := newRobot(t, f, 80, 24).connect()
	r.goBack()
	r.hears(`not as it was: the folder "docs" is deleted; another thing; `)
	r.hears("; and 6 more")
}

func TestARewindNamesTheFilesAndAsksWhetherTheyGoBack(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  string
		want api.RewindRequest
		says string
	}{
		{"y", api.RewindRequest{RunID: "run-old-2"}, "1 file put back"},
		{"k", api.RewindRequest{RunID: "run-old-2", What: []api.RewindPart{api.RewindThread, api.RewindMemory}}, "went back to"},
		{"o", api.RewindRequest{RunID: "run-old-2", What: []api.RewindPart{api.RewindFiles}}, "files are as they were before"},
	} {
		f := withTurns(newFake())
		f.files = api.RewindOfFiles{
			Back: []string{filepath.Join(here, "a.txt")}, Kept: []api.FileKept{{Path: "/else/b.txt", Why: "somebody changed it since"}},
		}
		r := newRobot(t, f, 80, 24).connect()
		r.list("/rewind")
		r.question()
		for _, want := range []string{"Put back: 1 file: a.txt.", "Stays: /else/b.txt, somebody changed it since.", "keep the files"} {
			if v := r.view(); !strings.Contains(v, want) {
				t.Errorf("the question lacks %q:\n%s", want, v)
			}
		}
		r.typ(c.key)
		r.hears(c.says)
		r.hears("not as it was: /else/b.txt: somebody changed it since")
		if diff := cmp.Diff([]api.RewindRequest{c.want}, f.rewindRequests()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUndoOfATurnThatChangedFilesNamesThemBeforeItPutsThemBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		want []api.RewindRequest
	}{
		{"y", []api.RewindRequest{{RunID: "run-old-2", What: []api.RewindPart{api.RewindFiles}}}},
		{"r", nil}, // asks again, with all that would go back
	} {
		f := withTurns(newFake())
		f.files = api.RewindOfFiles{
			Back: []string{"/work/a.txt"}, Kept: []api.FileKept{{Path: "/else/b.txt", Why: "somebody changed it since"}},
		}
		r := newRobot(t, f, 80, 24).connect()
		r.say("/undo")
		r.until("the question", func() bool { return strings.Contains(r.view(), "Put files back?") })
		for _, want := range []string{"Put back: 1 file: /work/a.txt.", "Stays: /else/b.txt, somebody changed it since."} {
			if v := r.view(); !strings.Contains(v, want) {
				t.Errorf("the question lacks %q:\n%s", want, v)
			}
		}
		if len(f.rewindRequests()) > 0 {
			t.Error("files went back before the answer")
		}
		r.typ(c.key)
		if c.want == nil {
			r.until("the second question", func() bool { return strings.Contains(r.view(), "keep the files") })
		} else {
			r.hears("files are as they were before")
		}
		if diff := cmp.Diff(c.want, f.rewindRequests()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFilesThatUndoPutBackComeForwardWithRedo(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.files = api.RewindOfFiles{Back: []string{"/work/a.txt"}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/undo")
	r.until("the question", func() bool { return strings.Contains(r.view(), "Put files back?") })
	r.typ("y")
	r.hears("files are as they were before")
	r.say("/redo")
	r.until("the question", func() bool { return strings.Contains(r.view(), "Put files forward again?") })
	if v := r.view(); !strings.Contains(v, "1 file: /work/a.txt.") || strings.Contains(r.said(), "they were put back") {
		t.Errorf("it acts at once, or does not name them:\n%s", v)
	}
	r.typ("y")
	r.hears("the files are as they were before they were put back")
	if strings.Contains(r.said(), "its last words now") {
		t.Errorf("nothing of the conversation moved:\n%s", r.said())
	}
	r.say("/redo")
	r.until("the end", func() bool { return strings.Contains(r.status(), "nothing to redo") })
}

func TestARewindCanBeUndoneByWordAndFromThePanelAndDoneAgain(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.goBack()
	r.hears("went back to before “What do I like?”")
	r.m.prompt.Set("")
	r.say("/undo")
	r.hears("undid the rewind of")
	if !strings.Contains(r.said(), "Answer 2") {
		t.Errorf("the answer is not back:\n%s", r.said())
	}
	r.say("/redo")
	r.hears("went back again")
	if strings.Contains(r.said(), "Answer 2") {
		t.Errorf("the answer is still there:\n%s", r.said())
	}
	l := r.list("/rewind")
	if !strings.HasPrefix(l.Entries[0].Title, "↷ undo the rewind of") {
		t.Fatalf("the first entry is %q", l.Entries[0].Title)
	}
	r.enter()
	r.hears("undid the rewind of")
	if !strings.Contains(r.said(), "Answer 2") {
		t.Errorf("the answer is not back:\n%s", r.said())
	}
}

func TestUndoingARewindAsksWhenTheConversationWentOn(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	r := newRobot(t, f, 80, 24).connect()
	r.goBack()
	r.hears("went back to")
	r.m.prompt.Set("")
	f.mu.Lock()
	f.history = append(
		f.history,
		api.Message{MessageType: api.MessageUser, ID: "later", RunID: "run-later", Date: api.On(day(14, 0)), Content: api.Text("later")},
	)
	f.mu.Unlock()
	r.say("/undo")
	r.until("the question", func() bool { return strings.Contains(r.view(), "1 turn that followed the rewind") })
	r.key(esc())
	if len(f.rewinds) != 1 {
		t.Error("undone without an answer")
	}
	if l := r.list("/rewind"); !strings.HasPrefix(l.Entries[0].Title, "↷ undo the rewind of") {
		t.Fatalf("the first entry is %q", l.Entries[0].Title)
	}
	r.question()
	if v := r.view(); !strings.Contains(v, "Go back to before “later”?") {
		t.Errorf("enter chooses not the newest turn, but:\n%s", v)
	}
}

func TestAStepOfATurnCanBeGoneBackTo(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.list("/rewind")
	r.question()
	r.typ("s")
	r.until("the steps", func() bool { return strings.Contains(r.view(), "step 1 (memory_insert)") })
	r.key(tea.Key{Code: tea.KeyDown})
	r.question()
	r.typ("y")
	r.hears("went back to step 2 (Answer 2) of “What do I like?”")
	if diff := cmp.Diff([]api.RewindRequest{{StepID: "step-2-2"}}, r.f.rewindRequests()); diff != "" {
		t.Error(diff)
	}
	if got := r.m.prompt.Text(); got != "" {
		t.Errorf("the prompt holds %q, though the message stayed", got)
	}
}

func TestSharedMemoryIsTakenBackOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.sharers["block-human"] = 2
	r := newRobot(t, f, 80, 24).connect()
	r.list("/rewind")
	r.key(tea.Key{Code: tea.KeyDown})
	r.question()
	if v := r.view(); !strings.Contains(v, "Stays: shared memory that changed since (human)") {
		t.Errorf("nothing of the shared block:\n%s", v)
	}
	r.typ("a")
	r.hears("went back to")
	if diff := cmp.Diff([]api.RewindRequest{{RunID: "run-old-1", Shared: true}}, f.rewindRequests()); diff != "" {
		t.Error(diff)
	}
}

func TestAForkIsGoneOnInAndSaysHowToGoBack(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.list("/fork")
	r.enter()
	r.hears("a fork of the first conversation; memory is one and the same in both · /resume goes back")
	if r.m.conv.thread != (Thread{Agent: "agent-1", Conversation: "conv-fork"}) {
		t.Errorf("in %v", r.m.conv.thread)
	}
	if diff := cmp.Diff([]string{"agent-1 "}, r.f.forked()); diff != "" {
		t.Error(diff)
	}
}

func TestAForkDoesNotTakeBackTheConversationThatItWasMadeFrom(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.list("/fork")
	r.enter()
	r.hears("a fork of the first conversation")
	r.list("/rewind")
	r.question()
	if v := r.view(); !strings.Contains(v, "before this conversation was forked") || strings.Contains(v, "y  go") {
		t.Errorf("the question:\n%s", v)
	}
	r.typ("yf")
	r.hears("a fork of this conversation, as it was before “What do I like?”")
	if len(r.f.rewindRequests()) != 0 {
		t.Error("the first conversation was taken back")
	}
	if diff := cmp.Diff([]string{"agent-1 ", "agent-1 step-2-1"}, r.f.forked()); diff != "" {
		t.Error(diff)
	}
}

func TestAForkFromAnEarlierTurnOffersItsWords(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.list("/fork")
	r.key(tea.Key{Code: tea.KeyDown})
	r.enter()
	r.hears("as it was before “What do I like?”")
	if diff := cmp.Diff([]string{"agent-1 step-2-1"}, r.f.forked()); diff != "" {
		t.Error(diff)
	}
	r.holds("What do I like?")
}

func TestUndoTakesTheLastEditOfMemoryBackAndRedoDoesItAgain(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.say("/undo")
	r.hears("undone: the change of human by Ada, " + when(day(10, 31), r.now) + ": − Likes tea. · /redo brings it back")
	if got := r.f.block("human"); got != "Name: Ada" {
		t.Errorf("the block holds %q", got)
	}
	r.say("/redo")
	r.hears("done again: the change of human by Ada")
	if got := r.f.block("human"); got != "Name: Ada\nLikes tea." {
		t.Errorf("the block holds %q", got)
	}
	r.say("/redo")
	r.until("the end", func() bool { return strings.Contains(r.status(), "nothing to redo") })
}

func TestUndoOfAnEditBeforeARewindIsTheRewind(t *testing.T) {
	t.Parallel()
	versions := []api.BlockVersion{ // newest first; the fourth was written by a rewind
		{Version: 4, Restores: new(1), CreatedAt: api.At(day(12, 1))},
		{Version: 3, CreatedAt: api.At(day(11, 0))},
		{Version: 2, CreatedAt: api.At(day(10, 0))},
		{Version: 1, CreatedAt: api.At(day(9, 0))},
	}
	if c, ok := blockChange(api.Block{ID: "b"}, versions, false); ok {
		t.Errorf("what the rewind wrote counts as the edit %d", c.edit.Version)
	}
	versions = append([]api.BlockVersion{{Version: 5, Restores: new(3), CreatedAt: api.At(day(12, 2))}}, versions...)
	if c, ok := blockChange(api.Block{ID: "b"}, versions, false); !ok || c.edit.Version != 3 {
		t.Errorf("after the rewind is undone the last edit is %d", c.edit.Version)
	}
}

func TestRedoLeavesWhatARewindTookBackToTheRewind(t *testing.T) {
	t.Parallel()
	versions := []api.BlockVersion{ // newest first
		{Version: 3, Restores: new(1), RewindID: new("rewind-1"), CreatedAt: api.At(day(12, 1))},
		{Version: 2, CreatedAt: api.At(day(10, 0))},
		{Version: 1, CreatedAt: api.At(day(9, 0))},
	}
	if c, ok := blockChange(api.Block{ID: "b"}, versions, true); ok {
		t.Errorf("the edit %d would be redone", c.edit.Version)
	}
	versions = append([]api.BlockVersion{
		{Version: 4, Restores: new(2), RewindID: new("rewind-2"), CreatedAt: api.At(day(12, 2))},
	}, versions...)
	if c, ok := blockChange(api.Block{ID: "b"}, versions, true); ok {
		t.Errorf("after the rewind is undone the edit %d would be redone", c.edit.Version)
	}
	if c, ok := blockChange(api.Block{ID: "b"}, versions, false); !ok || c.edit.Version != 2 {
		t.Errorf("after the rewind is undone the last edit is %d", c.edit.Version)
	}
	versions = append([]api.BlockVersion{{Version: 5, Restores: new(1), CreatedAt: api.At(day(12, 3))}}, versions...)
	if c, ok := blockChange(api.Block{ID: "b"}, versions, true); !ok || c.edit.Version != 2 {
		t.Errorf("what a person undid then is the edit %d", c.edit.Version)
	}
}

func TestWhatAnotherTerminalRewoundIsSaid(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	r := newRobot(t, f, 80, 24).connect()
	if _, err := f.Rewind(t.Context(), api.RewindRequest{RunID: "run-old-2"}); err != nil {
		t.Fatal(err)
	}
	f.hints <- api.Change{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1", ConversationID: "agent-1"}
	r.hears("another terminal took this conversation back")
	if strings.Contains(r.said(), "What do I like?") {
		t.Errorf("the transcript is not true:\n%s", r.said())
	}
	f.hints <- api.Change{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1", ConversationID: "agent-1"}
	r.say("hello")
	r.hears("You said: hello")
	if n := strings.Count(r.said(), "another terminal"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

func TestARewindFromBeforeTheChatWasOpenedIsNoNews(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	if _, err := f.Rewind(t.Context(), api.RewindRequest{RunID: "run-old-2"}); err != nil {
		t.Fatal(err)
	}
	f.wait(waitingRequest(Thread{Agent: "agent-1"}, "once"))
	r := newRobot(t, f, 80, 24).connect()
	r.stands()
	f.hints <- api.Change{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1", ConversationID: "agent-1"}
	r.press("y")
	r.decided("allow " + firstCall)
	r.feed(r.m.timeline.look()()) // as a hint would
	if strings.Contains(r.said(), "another terminal") {
		t.Errorf("said:\n%s", r.said())
	}
}

func TestAQuestionThatARewindTookAwayWasNotAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.wait(waitingRequest(Thread{Agent: "agent-1"}, "once"))
	r := newRobot(t, f, 80, 24).connect()
	r.stands()
	f.wait()
	r.goBack()
	r.hears("went back to")
	r.feed(r.m.question.look(nil)()) // as a hint would
	if strings.Contains(r.said(), "elsewhere") || r.m.question.stands() {
		t.Errorf("said:\n%s", r.said())
	}
}

func TestARewindOfOneSelfIsNotSaidToBeAnothers(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.goBack()
	r.hears("went back to")
	r.feed(r.m.timeline.look()()) // as a hint would
	if strings.Contains(r.said(), "another terminal") {
		t.Errorf("said:\n%s", r.said())
	}
}

func TestARewindWhoseConversationCannotBeReadIsNotTakenForAFailure(t *testing.T) {
	t.Parallel()
	r := withPast(t)
	r.f.mu.Lock()
	r.f.unread = &client.Error{Kind: api.KindUnavailable, Message: "the daemon is away"}
	r.f.mu.Unlock()
	r.goBack()
	r.hears("it went back, but the conversation cannot be read: the daemon is away")
	r.f.hints <- api.Change{Kind: api.ChangeConversation, ID: "agent-1", AgentID: "agent-1", ConversationID: "agent-1"}
	r.until("what the conversation is", func() bool { return !strings.Contains(r.said(), "What do I like?") })
}
