package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"loci/core"
	"loci/core/intake"
	"loci/storage"
	"loci/tools/parsers"
)

// gate is a parser that waits until it may go on.
type gate struct {
	core.Parser
	open    chan struct{}
	entered chan struct{}
	waiting atomic.Int32
	most    atomic.Int32
}

func (g *gate) Parse(ctx context.Context, in core.ParseInput) (core.Document, error) {
	n := g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
		return core.Document{}, ctx.Err()
	}
	return g.Parser.Parse(ctx, in)
}

func TestAFileThatChangesOrGoesWhileItIsReadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := &gate{Parser: parsers.New(), open: make(chan struct{}), entered: make(chan struct{}, 10)}
	l := newLibrary(t, storage.Config{}, func(c *intake.Config) { c.Parser = g })
	folder := l.folder("f")
	gone, old := l.upload(folder.ID, "gone.txt", "lake of yesterday").File, l.upload(folder.ID, "changed.txt", "lake of old").File
	<-g.entered
	<-g.entered
	l.ok(l.Files.Delete(l.ctx, folder.ID, gone.ID))
	fresh := l.upload(folder.ID, "changed.txt", "lake of now", DuplicateReplace).File
	close(g.open)
	files := l.settled(folder.ID)
	if len(files) != 1 || files[0].ID != fresh.ID || fresh.ID == old.ID {
		t.Fatalf("files: %+v", files)
	}
	results, err := l.Files.Search(l.ctx, FileQuery{Text: "lake"})
	l.ok(err)
	hits := results.Hits
	if len(hits) != 1 || hits[0].Passage.Text != "lake of now" {
		t.Errorf("found %+v", hits)
	}
	if g.most.Load() > 2 {
		t.Errorf("%d files were read at once", g.most.Load())
	}
}

// TestWhatWasInterruptedAnywhereGoesOnAndStoresNoChunkTwice takes a copy of the home before many of the statements that
// write, as a kill at that moment would leave it, and lets each copy go on.
func TestWhatWasInterruptedAnywhereGoesOnAndStoresNoChunkTwice(t *testing.T) {
	t.Parallel()
	home, copies := t.TempDir(), t.TempDir()
	var mu sync.Mutex
	var kept []string
	counting, seen, texts := atomic.Bool{}, 0, map[string]bool{}
	hook := func(sql string) error {
		if !counting.Load() || !strings.HasPrefix(sql, "INSERT") && !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		first := !texts[sql] // so that each state of a file is met, however its steps and others' fall together
		texts[sql] = true
		if seen++; seen%20 != 0 && !first {
			return nil
		}
		to := filepath.Join(copies, fmt.Sprint(seen))
		for _, name := range []string{"loci.db", "loci.db-wal"} {
			if err := copyTo(filepath.Join(home, name), filepath.Join(to, name)); err != nil {
				t.Error(err)
			}
		}
		kept = append(kept, to)
		return nil
	}
	text := strings.Repeat("A sentence about the harbour and its boats. ", 200)
	l := newLibrary(t, storage.Config{Dir: home, OnStatement: hook})
	folder := l.folder("f")
	counting.Store(true)
	for _, name := range []string{"a.txt", "b.md", "broken.pdf"} {
		data := name + "\n\n" + text
		if name == "broken.pdf" {
			data = "%PDF-1.4 nothing"
		}
		l.upload(folder.ID, name, data)
	}
	want := byName(l.settled(folder.ID))
	counting.Store(false)
	if want["a.txt"].Chunks < 3 || want["broken.pdf"].Status != core.FileFailed {
		t.Fatalf("files: %+v", want)
	}
	states := map[core.FileStatus]int{}
	for _, dir := range kept {
		goesOn(t, dir, folder.ID, want, states)
	}
	for _, s := range []core.FileStatus{core.FilePending, core.FileParsing, core.FileEmbedding} {
		if states[s] == 0 {
			t.Errorf("no copy has a file in state %s: %v of %d copies", s, states, len(kept))
		}
	}
}

func copyTo(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// goesOn opens a home that was killed and checks that its files end as they would have, those it had accepted.
func goesOn(t *testing.T, dir string, folder core.FolderID, want map[string]core.File, states map[core.FileStatus]int) {
	t.Helper()
	before, err := storage.Open(t.Context(), storage.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	had, err := before.Files().List(t.Context(), core.FileFilter{}, core.Page{})
	if err := errors.Join(err, before.Close()); err != nil {
		t.Fatal(err)
	}
	for _, f := range had {
		states[f.Status]++
	}
	l := newLibrary(t, storage.Config{Dir: dir})
	files := l.settled(folder)
	if len(files) != len(had) {
		t.Errorf("%s: %d files, %d were accepted", filepath.Base(dir), len(files), len(had))
	}
	total := 0
	for _, f := range files {
		w := want[f.Name]
		if f.Status != w.Status || f.Chunks != w.Chunks || f.Embedded != w.Embedded || f.Error != w.Error {
			t.Errorf("%s: %s is %s with %d/%d chunks %q", filepath.Base(dir), f.Name, f.Status, f.Embedded, f.Chunks, f.Error)
		}
		chunks, err := l.store.Passages().List(l.ctx, core.PassageFilter{Files: []core.FileID{f.ID}}, core.Page{Limit: 1000})
		l.ok(err)
		places := map[int]bool{}
		for _, c := range chunks {
			places[c.Place] = true
		}
		if len(chunks) != w.Chunks || len(places) != w.Chunks {
			t.Errorf("%s: %s has %d passages at %d places, want %d", filepath.Base(dir), f.Name, len(chunks), len(places), w.Chunks)
		}
		total += len(chunks)
	}
	d, err := l.store.Folders().Get(l.ctx, folder)
	l.ok(err)
	archive, err := l.store.Archives().Get(l.ctx, d.Archive)
	l.ok(err)
	if archive.Passages != total || d.Files != len(files) {
		t.Errorf(
			"%s: counters say %d chunks and %d files, there are %d and %d",
			filepath.Base(dir),
			archive.Passages,
			d.Files,
			total,
			len(files),
		)
	}
}
