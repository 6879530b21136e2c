package engine_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
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
	back, err := workspace.PutBack(t.Context(), d.held, changes)
	if err != nil || len(back.Back) != 1 {
		t.Errorf("put back: %+v, %v", back, err)
	}
	d.holds("one\ntwo\n")
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
