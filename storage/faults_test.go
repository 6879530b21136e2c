package storage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/search"
	"loci/storage/datadir"
	"loci/storage/sqlite"
	"loci/storage/view"
)

var errFault = errors.New("the disk failed")

// failing is an OnStatement of which the n-th statement fails once it is told so. It may be asked whether that came to be.
type failing struct{ left atomic.Int64 }

func (f *failing) see(string) error {
	if f.left.Load() > 0 && f.left.Add(-1) == 0 {
		return errFault
	}
	return nil
}

// over ends the plan and reports whether a statement failed.
func (f *failing) over() bool { return f.left.Swap(0) <= 0 }

// isClosed checks that no file of a home is open: the last connection to close takes the write-ahead log away.
func isClosed(t *testing.T, dir string) {
	t.Helper()
	if open, err := filepath.Glob(filepath.Join(dir, "*-wal")); err != nil || len(open) > 0 {
		t.Errorf("left open: %v %v", open, err)
	}
}

// leavesNothing runs do and waits until every goroutine that it started has ended.
func leavesNothing(t *testing.T, do func()) {
	t.Helper()
	pprof.Do(t.Context(), pprof.Labels("started by", t.Name()), func(context.Context) { do() }) // goroutines inherit it
	coretest.Until(t, "what was started has ended", func() bool {
		var all strings.Builder
		return pprof.Lookup("goroutine").WriteTo(&all, 1) == nil && !strings.Contains(all.String(), `"started by":"`+t.Name()+`"`)
	})
}

func TestAnOpeningThatFailsLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := &library{T: t, dir: dir}
	l.open()
	l.archive = l.newArchive()
	l.insert(l.archive, nil, "the boat on the lake")
	l.embed()
	epoch := func() string {
		t.Helper()
		text, _, err := l.s.Meta().Get(t.Context(), MetaEpoch)
		l.check(err)
		return text
	}
	before := epoch()
	l.check(l.s.Close())
	isClosed(t, dir)
	f := &failing{}
	leavesNothing(t, func() {
		for n := 1; ; n++ {
			f.left.Store(int64(n))
			s, err := Open(t.Context(), Config{Dir: dir, OnStatement: f.see})
			if !f.over() {
				l.check(err)
				l.check(s.Close())
				break
			}
			if !errors.Is(err, errFault) {
				t.Errorf("statement %d failed, and opening: %v", n, err)
			}
			isClosed(t, dir)
		}
		sqlite.Remove(filepath.Join(dir, datadir.IndexFile))
		l.check(os.MkdirAll(filepath.Join(dir, datadir.IndexFile, "taken"), 0o700))
		if _, err := Open(t.Context(), Config{Dir: dir}); err == nil {
			t.Error("opened without an index")
		}
		isClosed(t, dir)
	})
	l.check(os.RemoveAll(filepath.Join(dir, datadir.IndexFile)))
	l.open()
	defer func() { l.check(l.s.Close()) }()
	if now := epoch(); now == before {
		t.Errorf("the epoch is still %s", now)
	}
}

// ofTest refuses what f does for the test itself, and nothing that its indexes read for themselves.
func ofTest(f *failing) func(string) error {
	return func(sql string) error {
		stack := make([]byte, 64<<10)
		if !bytes.Contains(stack[:runtime.Stack(stack, false)], []byte("testing.tRunner(")) {
			return nil
		}
		return f.see(sql)
	}
}

// searched is a store with texts of both kinds, one of which waits for its vector, and what makes views of it.
func searched(t *testing.T, f *failing) (*library, view.Config) {
	t.Helper()
	l := newLibrary(t)
	folder := core.Folder{ID: core.NewFolderID(), Name: "f", CreatedAt: time.Now()}
	l.check(l.s.Folders().Create(t.Context(), &folder))
	l.insert(l.archive, []string{"t"}, "the boat on the lake", "the hill")
	say(t, l.s, newAgent(t, l.s), 1)
	l.embed()
	l.insert(l.archive, []string{"u"}, "the pear tree")
	q := sqlite.NewQuerier(l.s.facts.Readers, ofTest(f))
	t.Cleanup(q.Close)
	return l, view.Config{Dir: t.TempDir(), Facts: q, Source: source{l.s.quiet}, Logger: slog.New(slog.DiscardHandler)}
}

func TestAViewThatCannotBeOpenedLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	f := &failing{}
	l, cfg := searched(t, f)
	leavesNothing(t, func() {
		for n := 1; ; n++ {
			f.left.Store(int64(n))
			x, err := view.Open(t.Context(), cfg)
			if !f.over() {
				l.check(err)
				x.Close()
				return
			}
			if !errors.Is(err, errFault) {
				t.Fatalf("statement %d failed, and opening: %v", n, err)
			}
		}
	})
}

// TestAViewThatCannotReadTheFactsSaysSo: a search that a failure makes poorer is an error, or says that it is partial.
func TestAViewThatCannotReadTheFactsSaysSo(t *testing.T) {
	t.Parallel()
	f := &failing{}
	l, cfg := searched(t, f)
	x, err := view.Open(t.Context(), cfg)
	l.check(err)
	defer x.Close()
	meaning := []search.Vector{{Model: madeUp, Values: meaningOf("the hill")}}
	for name, scope := range map[string]search.Scope{
		"everywhere": {Kind: search.Passage},
		"tags":       {Kind: search.Passage, Owners: []string{string(l.archive)}, Tags: []string{"t", "u"}},
		"files":      {Kind: search.Passage, Files: []string{"file-a"}},
		"messages":   {Kind: search.Message, Without: "run-a"},
	} {
		for n := 1; ; n++ {
			f.left.Store(int64(n))
			v, err := x.View(t.Context(), scope, meaning)
			failed := f.over()
			if err == nil {
				if failed && !v.Partial() {
					t.Errorf("%s: statement %d failed, and nobody is told", name, n)
				}
				v.Close()
			} else if !errors.Is(err, errFault) {
				t.Errorf("%s: statement %d failed: %v", name, n, err)
			}
			if !failed {
				break
			}
		}
		for n := 1; ; n++ {
			f.left.Store(int64(n))
			_, err := x.Models(t.Context(), scope)
			if !f.over() {
				l.check(err)
				break
			}
			if !errors.Is(err, errFault) {
				t.Errorf("%s: models: statement %d failed: %v", name, n, err)
			}
		}
	}
}

func TestAViewIsPartialWhileATextWaitsForItsVector(t *testing.T) {
	t.Parallel()
	l, cfg := searched(t, &failing{})
	x, err := view.Open(t.Context(), cfg)
	l.check(err)
	defer x.Close()
	partial := func() bool {
		t.Helper()
		v, err := x.View(t.Context(), search.Scope{Kind: search.Passage}, []search.Vector{
			{Model: madeUp, Values: meaningOf("the hill")},
		})
		l.check(err)
		defer v.Close()
		return v.Partial()
	}
	if !partial() {
		t.Error("a text waits for its vector, and nobody is told")
	}
	l.embed()
	coretest.Until(t, "a view is whole", func() bool { return !partial() })
}

// TestASweepThatFailsGoesOnWithTheNextOne removes in the end what a sweep without a failure does.
func TestASweepThatFailsGoesOnWithTheNextOne(t *testing.T) {
	t.Parallel()
	f := &failing{}
	s := open(t, Config{OnStatement: f.see})
	ctx := t.Context()
	a := newAgent(t, s)
	say(t, s, a, 1)
	if err := s.Agents().Delete(ctx, a); err != nil {
		t.Fatal(err)
	}
	var total, rows int
	for n := 1; ; n++ {
		f.left.Store(int64(n))
		gone, err := s.Sweep(ctx)
		total += gone
		if !f.over() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, errFault) {
			t.Errorf("statement %d failed: %v", n, err)
		}
	}
	err := s.facts.Read.Get(ctx, &rows, `SELECT (SELECT COUNT(*) FROM agents) + (SELECT COUNT(*) FROM conversations) +
		(SELECT COUNT(*) FROM messages) + (SELECT COUNT(*) FROM context)`)
	if err != nil || rows != 0 || total != 4 {
		t.Errorf("%d rows went, %d are left, %v", total, rows, err)
	}
}

// TestCleaningThatFailsIsDoneAgain: what was forgotten is noted as cleaned only when it is.
func TestCleaningThatFailsIsDoneAgain(t *testing.T) {
	t.Parallel()
	f := &failing{}
	s := open(t, Config{OnStatement: f.see})
	ctx := t.Context()
	pending := func() (n int) {
		t.Helper()
		if err := s.facts.Read.Get(ctx, &n, `SELECT COUNT(*) FROM forgets WHERE done_at = 0`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := s.Transact(ctx, func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO forgets (at, records) VALUES (1, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		f.left.Store(int64(n))
		err := s.Clean(ctx)
		if !f.over() {
			if err != nil || pending() != 0 || n < 4 {
				t.Errorf("after %d statements: %v, %d are pending", n, err, pending())
			}
			return
		}
		if !errors.Is(err, errFault) || pending() != 1 {
			t.Errorf("statement %d failed: %v, %d are pending", n, err, pending())
		}
	}
}

// TestAnUnfinishedBackupStaysNotedWhileItCannotBeRemoved: also where the note itself cannot be.
func TestAnUnfinishedBackupStaysNotedWhileItCannotBeRemoved(t *testing.T) {
	t.Parallel()
	f := &failing{}
	s := open(t, Config{OnStatement: f.see})
	ctx, dir := t.Context(), t.TempDir()
	part, other := filepath.Join(dir, "a"+sqlite.PartMark+"1"), filepath.Join(dir, "other")
	for _, path := range []string{part, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	away := filepath.Join(dir, "away", "b"+sqlite.PartMark+"2")
	err := s.Transact(ctx, func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
		var err error
		for _, path := range []string{part, other, away} {
			err = errors.Join(err, datadir.NoteBackup(ctx, q, path, datadir.Unfinished))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		f.left.Store(int64(n))
		ran := false
		err := s.Maintain(ctx, func() error { ran = true; return nil })
		if !f.over() {
			if err != nil || !ran {
				t.Errorf("ran %v, %v", ran, err)
			}
			break
		}
		if !errors.Is(err, errFault) || ran {
			t.Errorf("statement %d failed: %v, and it went on: %v", n, err, ran)
		}
	}
	var noted []string
	if err := s.facts.Read.All(ctx, &noted, `SELECT path FROM backups ORDER BY path`); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !slices.Equal(noted, []string{away, other}) {
		t.Errorf("noted %s, left %v, %v", strings.Join(noted, ", "), left, err)
	}
}
