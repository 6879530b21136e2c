package storage

import (
	"context"
	"path/filepath"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/core/finder"
	"loci/storage/view"
)

func TestAFullDiskIsSearchedByWords(t *testing.T) {
	t.Parallel()
	l := &library{T: t, dir: t.TempDir()}
	coretest.SmallDisk(t, l.dir)
	l.open()
	t.Cleanup(func() { _ = l.s.Close() }) // what a full disk keeps it from saving is made anew
	l.archive = l.newArchive()
	l.insert(l.archive, nil, "the boat on the lake", "the pear tree")
	l.embed()
	l.indexed()
	codes, err := filepath.Glob(filepath.Join(l.dir, view.VectorFiles+"*"))
	l.check(err)
	coretest.FillDisk(t, l.dir)
	ask := core.SearchQuery{Text: "lake", Vectors: map[core.Handle][]float32{madeUp: meaningOf("lake")}}
	found, err := finder.New(finder.Config{Store: l.s}).Passages(t.Context(), ask, core.PassageFilter{})
	if err != nil || len(found.Hits) == 0 || !found.Partial {
		t.Errorf("found %+v, %v", found, err)
	}
	after, err := filepath.Glob(filepath.Join(l.dir, view.VectorFiles+"*"))
	if err != nil || len(after) != len(codes) {
		t.Errorf("left: %v, %v", after, err)
	}
}

func TestTheReserveServesEveryRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	coretest.SmallDisk(t, dir)
	data := filepath.Join(dir, "data")
	s, err := Open(t.Context(), Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, s)
	say(t, s, a, 1)
	for restart := range 5 {
		if err := s.Close(); err != nil {
			t.Fatalf("close %d: %v", restart, err)
		}
		coretest.FillDisk(t, dir)
		if s, err = Open(context.WithoutCancel(t.Context()), Config{Dir: data}); err != nil {
			t.Fatalf("restart %d: %v", restart, err)
		}
		if list, err := s.Messages().List(t.Context(), core.MessageFilter{}, core.Page{}); err != nil || len(list) != 1 {
			t.Errorf("restart %d: %d messages, %v", restart, len(list), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
