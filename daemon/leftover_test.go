package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"loci/core"
)

// leftStore is a store in which a rewind is unfinished.
type leftStore struct {
	core.Store
	pages [][]core.FileChange
}

func (s *leftStore) Runs() core.RunStore             { return leftRuns{} }
func (s *leftStore) Rewinds() core.RewindStore       { return leftRewinds{} }
func (s *leftStore) Workspaces() core.WorkspaceStore { return &leftChanges{pages: s.pages} }

type leftRuns struct{ core.RunStore }

func (leftRuns) Unfinished(context.Context) ([]core.Run, error) { return nil, nil }

type leftRewinds struct{ core.RewindStore }

func (leftRewinds) Unfinished(context.Context) ([]core.Rewind, error) {
	return []core.Rewind{{ID: "rewind-1"}}, nil
}

type leftChanges struct {
	core.WorkspaceStore
	pages [][]core.FileChange
}

func (c *leftChanges) Changes(_ context.Context, f core.FileChanges) ([]core.FileChange, error) {
	if f.Rewind != "rewind-1" {
		return nil, core.E(core.Internal, "asked for %+v", f)
	}
	if f.Older > 0 {
		return c.pages[1], nil
	}
	return c.pages[0], nil
}

func TestWhatARewindCutOffLeftIsSweptWhateverTheNumberOfItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	temp := filepath.Join(dir, "last", ".loci-abcdefgh2345.tmp")
	if err := os.Mkdir(filepath.Dir(temp), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := make([]core.FileChange, core.MaxFileChanges)
	for i := range first {
		first[i] = core.FileChange{Seq: int64(2000 - i), Workspace: dir, Path: "first/a"}
	}
	store := &leftStore{pages: [][]core.FileChange{first, {{Seq: 1, Workspace: dir, Path: "last/a"}}}}
	d := &Daemon{logger: slog.New(slog.DiscardHandler)}
	if err := d.sweepWrites(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}
