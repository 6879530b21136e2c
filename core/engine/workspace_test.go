package engine_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/past"
	"loci/storage/contents"
	"loci/tools/workspace"
)

// desk is a house whose agent works in a folder with one file.
type desk struct {
	*house
	agent core.Agent
	dir   string
	file  string
	held  *contents.Store
}

func openDesk(t *testing.T, answers ...turn) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir()}
	d.file = filepath.Join(d.dir, "a.txt")
	d.put(t, "one\ntwo\n")
	d.house = open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(answers) {
			return answers[n]
		}
		return say("done")
	}, func(cfg *engine.Config) {
		d.held = contents.New(contents.Config{Dir: t.TempDir(), Clock: cfg.Clock, Logger: slog.New(slog.DiscardHandler)})
		cfg.Contents = d.held
	})
	d.agent = d.house.agent(nil, "read", "write", "edit", "glob", "grep", "list")
	return d
}

func (d *desk) put(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(d.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) holds(want string) {
	d.t.Helper()
	if got, err := os.ReadFile(d.file); err != nil || string(got) != want {
		d.t.Errorf("the file holds %q, %v; want %q", got, err, want)
	}
}

// tell sends a message from the folder, or an answer.
func (d *desk) tell(text string, decisions ...engine.Decision) (core.Run, map[string]string) {
	d.t.Helper()
	req := d.request(d.agent, text)
	req.Client = core.Client{Kind: core.ClientChat, Workspace: d.dir}
	if len(decisions) > 0 {
		req.Input, req.Answer = nil, &engine.Answer{Decisions: decisions}
	}
	run, events := d.submit(req)
	return run, returned(events)
}

func editing(old, text string) turn {
	return calling("edit", map[string]any{"path": "a.txt", "old_string": old, "new_string": text})
}

func TestReadingTheFolderIsFreeAndChangingItWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := openDesk(t, calling("read", map[string]any{"path": "a.txt"}), editing("two", "2"))
	run, got := d.tell("go")
	if run.StopReason != core.StopRequiresApproval || !strings.Contains(got["call_read"], "2\ttwo") {
		t.Fatalf("the run ended %s with %q", run.StopReason, got)
	}
	d.holds("one\ntwo\n")
	d.restart()
	run, got = d.tell("", approve("call_edit"))
	if run.StopReason != core.StopEndTurn || !strings.Contains(got["call_edit"], "changed in 1 place") {
		t.Fatalf("after the answer: %s, %q", run.StopReason, got)
	}
	d.holds("one\n2\n")
	changes, err := d.store.Workspaces().Changes(t.Context(), core.FileChanges{Agent: d.agent.ID})
	if err != nil || len(changes) != 1 || changes[0].Call != "call_edit" || changes[0].Step == "" || changes[0].Absolute() != d.file {
		t.Fatalf("recorded: %+v, %v", changes, err)
	}
}

// edited is a desk whose agent changed the file after a person allowed it, with the run in which it asked.
func edited(t *testing.T) (*desk, core.Run) {
	t.Helper()
	d := openDesk(t, calling("read", map[string]any{"path": "a.txt"}), editing("two", "2"))
	run, _ := d.tell("go")
	d.tell("", approve("call_edit"))
	d.holds("one\n2\n")
	return d, run
}

// rewind goes back to before a run.
func (d *desk) rewind(run core.Run, what ...core.RewindPart) core.Rewind {
	d.t.Helper()
	r, err := d.past().Rewind(d.t.Context(), run.Conversation, d.firstStep(run).ID, past.RewindOptions{Before: true, What: what})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) undo(r core.Rewind) core.Rewind {
	d.t.Helper()
	r, err := d.past().UndoRewind(d.t.Context(), r.ID, "")
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// said counts what the conversation shows.
func (d *desk) said() int { d.t.Helper(); return len(d.list(d.agent)) }

func TestARewindTakesFilesBackWithTheThreadAndItsUndoPutsThemForward(t *testing.T) {
	t.Parallel()
	d, run := edited(t)
	all := d.said()
	r := d.rewind(run)
	d.holds("one\ntwo\n")
	if r.Unfinished || len(r.Files.Back) != 1 || r.Files.Back[0] != d.file || len(r.Files.Kept) != 0 || d.said() >= all {
		t.Fatalf("went back: %+v, %d of %d messages", r.Files, d.said(), all)
	}
	if stored, err := d.store.Rewinds().Get(t.Context(), r.ID); err != nil || stored.Unfinished || len(stored.Files.Back) != 1 {
		t.Errorf("stored: %+v, %v", stored.Files, err)
	}
	undone := d.undo(r)
	d.holds("one\n2\n")
	if d.said() != all {
		t.Errorf("%d of %d messages are there again", d.said(), all)
	}
	again := d.undo(undone)
	d.holds("one\ntwo\n")
	d.undo(again)
	d.holds("one\n2\n")
	d.rewind(run) // over all that
	d.holds("one\ntwo\n")
}

func TestEachPartOfARewindGoesBackAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		what core.RewindPart
	}{{"thread", core.RewindThread}, {"memory", core.RewindMemory}, {"files", core.RewindFiles}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, run := edited(t)
			all := d.said()
			block := d.block(d.agent, "human")
			block.Value = "her cat is Turing"
			if err := d.store.Blocks().Update(t.Context(), &block, core.Author{Kind: core.AuthorAgent}); err != nil {
				t.Fatal(err)
			}
			look := func() (thread, memory, files bool) {
				text, err := os.ReadFile(d.file)
				if err != nil {
					t.Fatal(err)
				}
				return d.said() < all, d.block(d.agent, "human").Value != block.Value, string(text) == "one\ntwo\n"
			}
			r := d.rewind(run, c.what)
			thread, memory, files := look()
			if thread != (c.what == core.RewindThread) || memory != (c.what == core.RewindMemory) || files != (c.what == core.RewindFiles) {
				t.Errorf("went back: thread %v, memory %v, files %v", thread, memory, files)
			}
			d.undo(r)
			if thread, memory, files = look(); thread || memory || files {
				t.Errorf("after the undo are back: thread %v, memory %v, files %v", thread, memory, files)
			}
			if run, _ := d.tell("and now?"); run.StopReason != core.StopEndTurn {
				t.Errorf("the run after it ended %s", run.StopReason)
			}
		})
	}
}

func TestUndoingARewindMovesOnlyTheFilesThatItMoved(t *testing.T) {
	t.Parallel()
	for name, what := range map[string][]core.RewindPart{"files only": {core.RewindFiles}, "everything": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(
				t, calling("read", map[string]any{"path": "a.txt"}), editing("two", "2"), say("done"),
				calling("write", map[string]any{"path": "later.txt", "content": "made after the rewind"}),
			)
			run, _ := d.tell("go")
			d.tell("", approve("call_edit"))
			r := d.rewind(run, what...)
			d.holds("one\ntwo\n")
			later, _ := d.tell("go on")
			d.tell("", approve("call_write"))
			stands := func() bool {
				got, err := os.ReadFile(filepath.Join(d.dir, "later.txt"))
				return err == nil && string(got) == "made after the rewind"
			}
			if !stands() {
				t.Fatal("the agent made no file after the rewind")
			}
			undone := d.undo(r)
			d.holds("one\n2\n")
			if !stands() || len(undone.Files.Back) != 1 || undone.Files.Back[0] != d.file || len(undone.Files.Kept) != 0 {
				t.Errorf("the undo moved %+v; what was made after the rewind is there: %v", undone.Files, stands())
			}
			d.undo(undone)
			d.holds("one\ntwo\n")
			if !stands() {
				t.Error("the redo took away what was made after the rewind")
			}
			if what != nil {
				d.rewind(later, what...)
				if stands() {
					t.Error("a rewind to before it left what was made after the first rewind")
				}
			}
		})
	}
}

func TestUndoingARewindLeavesAFileThatTheAgentChangedSinceAndNamesIt(t *testing.T) {
	t.Parallel()
	d := openDesk(
		t, calling("read", map[string]any{"path": "a.txt"}), editing("two", "2"), say("done"),
		calling("read", map[string]any{"path": "a.txt"}), editing("two", "II"),
	)
	run, _ := d.tell("go")
	d.tell("", approve("call_edit"))
	r := d.rewind(run, core.RewindFiles)
	d.tell("go on")
	d.tell("", approve("call_edit"))
	d.holds("one\nII\n")
	undone := d.undo(r)
	d.holds("one\nII\n")
	if len(undone.Files.Back) != 0 || len(undone.Files.Kept) != 1 || undone.Files.Kept[0].Path != d.file {
		t.Errorf("the undo moved %+v", undone.Files)
	}
}

func TestARewindLeavesWhatAPersonChangedAndNamesIt(t *testing.T) {
	t.Parallel()
	d, run := edited(t)
	d.put(t, "one\n2, and mine\n")
	r := d.rewind(run)
	d.holds("one\n2, and mine\n")
	if len(r.Files.Back) != 0 || len(r.Files.Kept) != 1 || r.Files.Kept[0].Path != d.file {
		t.Errorf("went back: %+v", r.Files)
	}
}

// brokenRestorer is interrupted before it puts anything back.
type brokenRestorer struct{ workspace.Restorer }

func (brokenRestorer) Apply(context.Context, []core.FileChange) (core.FilesBack, error) {
	return core.FilesBack{}, core.E(core.Unavailable, "interrupted")
}

func TestFilesThatAnInterruptedRewindLeftAreBackAfterTheNextStart(t *testing.T) {
	t.Parallel()
	d, run := edited(t)
	restorer := workspace.Restorer{Contents: d.held}
	broken := past.New(d.store, d.engine.Prompts(), d.engine, brokenRestorer{restorer}, d.clock)
	o := past.RewindOptions{Before: true}
	r, err := broken.Rewind(t.Context(), run.Conversation, d.firstStep(run).ID, o)
	if core.KindOf(err) != core.Unavailable || !strings.Contains(core.HintOf(err), "next start") {
		t.Fatalf("interrupted: %v", err)
	}
	d.holds("one\n2\n")
	d.restart()
	for range 2 { // the second time there is nothing to do
		if err := d.past().FinishRewinds(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.holds("one\ntwo\n")
	}
	if stored, err := d.store.Rewinds().Get(t.Context(), r.ID); err != nil || stored.Unfinished || len(stored.Files.Back) != 1 {
		t.Errorf("stored: %+v, %v", stored, err)
	}
	d.undo(r)
	d.holds("one\n2\n")
}

// onceBroken is interrupted at the first plan.
type onceBroken struct {
	workspace.Restorer
	calls *int
}

func (o onceBroken) Apply(ctx context.Context, plan []core.FileChange) (core.FilesBack, error) {
	if *o.calls++; *o.calls == 1 {
		return brokenRestorer{}.Apply(ctx, plan)
	}
	return o.Restorer.Apply(ctx, plan)
}

func TestARewindThatCannotBeFinishedKeepsNoOtherFromIt(t *testing.T) {
	t.Parallel()
	d, run := edited(t)
	restorer := workspace.Restorer{Contents: d.held}
	o := past.RewindOptions{Before: true, What: []core.RewindPart{core.RewindFiles}}
	broken := past.New(d.store, d.engine.Prompts(), d.engine, brokenRestorer{restorer}, d.clock)
	for range 2 {
		if _, err := broken.Rewind(t.Context(), run.Conversation, d.firstStep(run).ID, o); core.KindOf(err) != core.Unavailable {
			t.Fatalf("interrupted: %v", err)
		}
	}
	next := past.New(d.store, d.engine.Prompts(), d.engine, onceBroken{restorer, new(int)}, d.clock)
	if err := next.FinishRewinds(t.Context()); core.KindOf(err) != core.Unavailable {
		t.Errorf("finished: %v", err)
	}
	d.holds("one\ntwo\n")
	if left, err := d.store.Rewinds().Unfinished(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

func TestAFileThatAPersonChangedWhileTheQuestionStoodIsNotOverwritten(t *testing.T) {
	t.Parallel()
	d := openDesk(t, calling("read", map[string]any{"path": "a.txt"}), editing("one", "1"))
	if run, _ := d.tell("go"); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	d.put(t, "one\nmine\n")
	d.restart() // what was read is known across it
	_, got := d.tell("", approve("call_edit"))
	if !strings.Contains(got["call_edit"], "changed since you read it") || !strings.Contains(got["call_edit"], "+mine") {
		t.Errorf("the return is %q", got["call_edit"])
	}
	d.holds("one\nmine\n")
}

func TestWithoutAWorkspaceTheToolsSaySoAndNobodyIsAsked(t *testing.T) {
	t.Parallel()
	d := openDesk(t, editing("one", "1"))
	run, events := d.send(d.agent, "go")
	if run.StopReason != core.StopEndTurn || !strings.Contains(returned(events)["call_edit"], "No folder is open") {
		t.Errorf("the run ended %s with %q", run.StopReason, returned(events))
	}
	d.holds("one\ntwo\n")
}

func TestASearchThatNamesNoSecretReadsNone(t *testing.T) {
	t.Parallel()
	d := openDesk(t, calling("grep", map[string]any{"pattern": "."}))
	if err := os.WriteFile(filepath.Join(d.dir, ".env"), []byte("KEY=of-a-person\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run, got := d.tell("go")
	text := got["call_grep"]
	if run.StopReason != core.StopEndTurn || strings.Contains(text, "of-a-person") || !strings.Contains(text, "two") {
		t.Errorf("the run ended %s with %q", run.StopReason, text)
	}
}
