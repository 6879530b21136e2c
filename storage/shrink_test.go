package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/storage/datadir"
)

func TestTheRunLogGivesTheSpaceOfARunawayBack(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	events, size := s.Events(), func() int64 {
		info, err := os.Stat(filepath.Join(dir, datadir.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	small := size()
	text := strings.Repeat("x", 64<<10)
	for i := range int64(128) {
		if err := events.Append(t.Context(), core.Event{Run: "run-a", Seq: i + 1, At: at, Body: core.Said{Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	kept := core.Event{Run: "run-b", Seq: 1, At: at, Body: core.Said{Text: "kept"}}
	if err := events.Append(t.Context(), kept, core.Event{Run: "run-a", Seq: 200, At: at, Body: core.Stop{}}); err != nil {
		t.Fatal(err)
	}
	if err := events.Expire(t.Context(), at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if now := size(); now > small+64<<10 {
		t.Errorf("%d bytes, %d when it was new", now, small)
	}
	if left, err := events.Read(t.Context(), "run-b", 0, 0); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
