package storagetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/storage"
)

var (
	errFault = errors.New("the disk failed")
	errUndo  = errors.New("taken back")
)

// Faults makes one statement of a store fail.
type Faults struct {
	mu     sync.Mutex
	left   int // statements until the one that fails; 0: none does
	failed string
}

// See is a store's OnStatement. What ends a savepoint or takes a transaction back isn't counted: nothing can be done about
// its failure.
func (f *Faults) See(sql string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 || strings.HasPrefix(sql, "ROLLBACK") || strings.HasPrefix(sql, "RELEASE") {
		return nil
	}
	if f.left--; f.left > 0 {
		return nil
	}
	f.failed = sql
	return errFault
}

// Fail makes the n-th statement from now on fail.
func (f *Faults) Fail(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.failed = n, ""
}

// Failed ends the plan and returns the statement that failed, empty if it didn't come to that.
func (f *Faults) Failed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = 0
	return f.failed
}

// Every runs do with each of its statements failing in turn, until none does. A failure must be passed on and leave the
// facts as they were.
func (f *Faults) Every(t *testing.T, s *storage.Store, name string, do func() error) {
	t.Helper()
	text := dumped(t, s)
	before := rows(t, s, text)
	for n := 1; ; n++ {
		f.Fail(n)
		err := do()
		failed := f.Failed()
		if failed == "" {
			if err != nil || n == 1 {
				t.Errorf("%s: %v after %d statements failed", name, err, n-1)
			}
			return
		}
		if !errors.Is(err, errFault) {
			t.Errorf("%s: the failure is taken for %v of\n%s", name, err, failed)
		}
		if now := rows(t, s, text); !slices.Equal(before, now) {
			t.Fatalf("%s is written by half, without\n%s", name, failed)
		}
	}
}

// dumped is the statement that returns all facts as text, a row each.
func dumped(t *testing.T, s *storage.Store) string {
	t.Helper()
	const tables = `SELECT 'SELECT ''' || m.name || ' '' || ' || group_concat('quote("' || c.name || '")', ' || ''|'' || ') ||
		' FROM "' || m.name || '"' FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY m.name`
	return strings.Join(rows(t, s, tables), " UNION ALL ")
}

func rows(t *testing.T, s *storage.Store, text string) []string {
	t.Helper()
	var all []string
	if err := s.Reader().All(t.Context(), &all, text); err != nil {
		t.Fatal(err)
	}
	return all
}

// storeOp is an operation of a store.
type storeOp struct {
	name  string
	do    func(ctx context.Context, s core.Store) error
	whole bool // in a transaction that goes on, it leaves nothing when it fails
}

func op(name string, do func(ctx context.Context, s core.Store) error) storeOp {
	return storeOp{name: name, do: do}
}

// whole is an operation that is done whole or not at all, inside of a transaction too.
func whole(name string, do func(ctx context.Context, s core.Store) error) storeOp {
	return storeOp{name, do, true}
}

// reads is an operation that returns something.
func reads[T any](name string, do func(ctx context.Context, s core.Store) (T, error)) storeOp {
	return op(name, func(ctx context.Context, s core.Store) error { _, err := do(ctx, s); return err })
}

// RunFaults fails each statement of each operation once: alone, in a savepoint of a transaction that goes on, and, where the
// operation promises it, in such a transaction itself. Last, the operation succeeds.
func RunFaults(t *testing.T) {
	t.Helper()
	for name, list := range map[string]func(w *world) []storeOp{
		"agents": (*world).agentOps, "blocks": (*world).blockOps, "messages": (*world).messageOps, "runs": (*world).runOps,
		"archives": (*world).archiveOps, "passages": (*world).passageOps, "folders": (*world).folderOps, "files": (*world).fileOps,
		"the rest": (*world).otherOps, "servers of tools": (*world).mcpOps,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &Faults{}
			s, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir(), OnStatement: f.See})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			w := newWorld(&home{T: t, s: s, ctx: t.Context(), now: time.Date(2026, 3, 1, 12, 0, 0, 123000, time.UTC)})
			for _, o := range list(w) {
				inside := func(savepoint bool) func() error {
					return func() error { return goesOn(t.Context(), s, o, savepoint) }
				}
				f.Every(t, s, o.name+" in a savepoint", inside(true))
				if o.whole {
					f.Every(t, s, o.name+" in a transaction", inside(false))
				}
				f.Every(t, s, o.name, func() error { return o.do(t.Context(), s) })
			}
		})
	}
}

// goesOn runs an operation in a transaction that goes on where it fails, and is taken back where it doesn't.
func goesOn(ctx context.Context, s core.Store, o storeOp, savepoint bool) error {
	var failed error
	err := s.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if savepoint {
			failed = tx.Tx(ctx, o.do)
		} else {
			failed = o.do(ctx, tx)
		}
		if failed == nil {
			return errUndo
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// world is a home with one of everything.
type world struct {
	*home
	a       core.Agent
	conv    core.ConversationID
	said    []core.Message
	block   core.Block
	run     core.Run
	step    core.Step
	archive core.Archive
	passage core.Passage
	folder  core.Folder
	file    core.File // that was read
	pending core.File // that was not
	rewind  core.Rewind
}

func newWorld(h *home) *world {
	h.Helper()
	w := &world{home: h, a: h.agent("a", "x", "y")}
	w.conv = core.DefaultConversation(w.a.ID)
	w.said = h.say(w.a.ID, w.conv, "one", "two", "three")
	w.block = h.block("human", "v")
	h.ok(h.s.Blocks().Attach(h.ctx, w.a.ID, w.block.ID))
	w.run = h.run(w.a.ID, "request")
	w.step = core.Step{ID: core.NewStepID(), Run: w.run.ID, Agent: w.a.ID, Conversation: w.conv, Number: 1, CreatedAt: h.tick()}
	h.ok(h.s.Steps().Create(h.ctx, &w.step))
	w.archive = h.archive("archive")
	h.ok(h.s.Archives().Attach(h.ctx, w.a.ID, w.archive.ID))
	w.passage = core.Passage{
		ID: core.NewPassageID(), Archive: w.archive.ID, Text: "lake", Tags: []string{"t", "u"}, Agent: w.a.ID, Step: w.step.ID,
		CreatedAt: h.tick(),
	}
	h.ok(h.s.Passages().Insert(h.ctx, &w.passage))
	w.folder = h.folder("f")
	h.ok(h.s.Folders().Attach(h.ctx, w.a.ID, w.folder.ID))
	w.file, w.pending = h.file(w.folder.ID, "f.txt", "1"), h.file(w.folder.ID, "g.txt", "2")
	h.fill(&w.file, "one", "two")
	h.ok(h.s.Files().Open(h.ctx, w.a.ID, core.OpenFile{File: w.file.ID, Open: true, UsedAt: h.tick()}))
	w.rewind = core.Rewind{ID: core.NewRewindID(), Agent: w.a.ID, Conversation: w.conv, Step: w.step.ID, CreatedAt: h.tick()}
	h.ok(h.s.Rewinds().Create(h.ctx, &w.rewind))
	h.ok(h.s.Mirrors().Put(h.ctx, core.MemoryMirror{Agent: w.a.ID, Path: "/m", On: true, CreatedAt: h.tick()}))
	h.ok(h.s.Workspaces().Put(h.ctx, core.Workspace{Path: "/x", Agent: w.a.ID, Conversation: w.conv, UsedAt: h.tick()}))
	return w
}
