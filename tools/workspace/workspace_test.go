package workspace

import (
	"cmp"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// place is a workspace with the memory of one conversation.
type place struct {
	*testing.T
	dir string
	env core.ToolEnv

	mu       sync.Mutex // guards what follows
	reads    map[string]core.FileRead
	contents map[string][]byte
	changes  []core.FileChange
	synced   int // contents there were when they were last brought to disk
	unsynced error

	source func() string // what lines have reached
}

// nowhere is the source of a line that reaches no host.
func nowhere() string { return "" }

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), source: nowhere, reads: map[string]core.FileRead{}, contents: map[string][]byte{}}
	p.env = core.ToolEnv{
		Conversation: "conv", MaxReturn: 50_000, Now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		Workspace: core.WorkspaceEnv{Path: p.dir, Contents: p, Files: p},
	}
	return p
}

func (p *place) Keep(_ context.Context, content []byte, _ bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contents[core.ContentHash(content)] = slices.Clone(content)
	return nil
}

func (p *place) Sync(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = len(p.contents)
	return p.unsynced
}

func (p *place) Content(_ context.Context, hash string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.contents[hash]; ok {
		return c, nil
	}
	return nil, core.E(core.NotFound, "not kept")
}

func (p *place) Read(_ context.Context, _ core.ConversationID, path string) (core.FileRead, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.reads[path]
	return r, ok, nil
}

func (p *place) NoteRead(_ context.Context, r core.FileRead) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads[r.Path] = r
	return nil
}

func (p *place) NoteChange(ctx context.Context, c *core.FileChange) error {
	if _, err := os.Lstat(c.Absolute()); c.Before.Kind == core.PathAbsent && err == nil {
		p.Errorf("%s was written before it was recorded", c.Path)
	}
	if err := p.NoteChanges(ctx, []core.FileChange{*c}); err != nil {
		return err
	}
	return p.NoteRead(ctx, core.FileRead{Path: c.Absolute(), Hash: c.After.Hash})
}

func (p *place) NoteChanges(_ context.Context, cs []core.FileChange) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		c.Seq = int64(len(p.changes) + 1)
		p.changes = append(p.changes, c)
	}
	return nil
}

func (p *place) Changes(_ context.Context, f core.FileChanges) (page []core.FileChange, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Backward(p.changes) {
		downloaded := f.Downloaded == nil || c.Source != "" && c.Workspace == f.Downloaded.Workspace && c.Path == f.Downloaded.Path
		if downloaded && (f.Older == 0 || c.Seq < f.Older) && len(page) < cmp.Or(f.Limit, core.MaxFileChanges) {
			page = append(page, c)
		}
	}
	return page, nil
}

// newest are the changes, the newest first.
func (p *place) newest() iter.Seq2[core.FileChange, error] {
	return func(yield func(core.FileChange, error) bool) {
		for _, c := range slices.Backward(p.changes) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (p *place) file(name, content string) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
	return path
}

func (p *place) holds(name, want string) {
	p.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil || string(got) != want {
		p.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

// answer is what the model reads of a call.
func (p *place) answer(result core.ToolResult, err error) string {
	p.Helper()
	if err != nil {
		if k := core.KindOf(err); k != core.Invalid && k != core.TooLarge {
			p.Fatalf("the tool broke: %v", err)
		}
		return "error: " + err.Error()
	}
	if result.Apply != nil {
		if result, err = result.Apply(p.Context(), core.ToolEdits{Workspaces: p}); err != nil {
			p.Fatal(err)
		}
	}
	if result.IsError {
		return "error: " + result.Text
	}
	return result.Text
}

func (p *place) read(path string) string {
	p.Helper()
	return p.answer(Read(p.Context(), ReadArgs{Path: path}, p.env))
}

func (p *place) lines(path string, offset, limit int) string {
	p.Helper()
	return p.answer(Read(p.Context(), ReadArgs{Path: path, Offset: &offset, Limit: &limit}, p.env))
}

func (p *place) write(path, content string) string {
	p.Helper()
	return p.answer(Write(p.Context(), WriteArgs{Path: path, Content: content}, p.env))
}

func (p *place) edit(path string, edits ...Edit) string {
	p.Helper()
	return p.answer(EditFile(p.Context(), EditArgs{Path: path, Edits: edits}, p.env))
}

func (p *place) grep(args GrepArgs) string {
	p.Helper()
	return p.answer(Grep(p.Context(), args, p.env))
}

func (p *place) glob(pattern, path string) string {
	p.Helper()
	return p.answer(Glob(p.Context(), GlobArgs{Pattern: pattern, Path: path}, p.env))
}

func (p *place) list(path string) string {
	p.Helper()
	return p.answer(List(p.Context(), ListArgs{Path: path}, p.env))
}

// says checks that an answer has these words.
func (p *place) says(answer string, words ...string) {
	p.Helper()
	for _, w := range words {
		if !strings.Contains(answer, w) {
			p.Errorf("%q does not say %q", answer, w)
		}
	}
}

func TestWithoutAFolderEveryToolSaysSo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env.Workspace.Path = ""
	for _, got := range []string{
		p.read("a"), p.write("a", "b"), p.edit("a", Edit{Old: "a", New: "b"}), p.grep(GrepArgs{Pattern: "a"}), p.glob("*", ""), p.list(""),
	} {
		p.says(got, "error: No folder is open", "loci")
	}
	p.env.Workspace.Path = filepath.Join(p.dir, "gone")
	p.says(p.list(""), "error: ", "cannot be opened", "no such")
}
