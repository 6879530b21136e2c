package storage

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"loci/core"
)

// TestALargeFileIsRemovedWithoutANewIndex: the parts of a file of 700 KB are the newest texts that hold their words.
func TestALargeFileIsRemovedWithoutANewIndex(t *testing.T) {
	t.Parallel()
	logged := &lockedBuilder{}
	s := open(t, Config{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	ctx, now := t.Context(), time.Now()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := core.Folder{ID: core.NewFolderID(), Name: "f", CreatedAt: now, UpdatedAt: now}
	check(s.Folders().Create(ctx, &folder))
	const line, size = "The boat on the lake carries letters and bread over the lake to the boat house at the hill. ", 700_000
	var files []core.File
	for _, name := range []string{"kept", "removed"} {
		f := core.File{ID: core.NewFileID(), Folder: folder.ID, Name: name, Status: core.FileParsing, CreatedAt: now, UpdatedAt: now}
		check(s.Files().Create(ctx, &f, []byte("x")))
		var chunks []core.Passage
		for read := 0; read < size; {
			text := fmt.Sprint(strings.Repeat(line, 5), name, len(chunks))
			chunks, read = append(chunks, core.Passage{ID: core.NewPassageID(), Text: text, CreatedAt: now}), read+len(text)
		}
		check(s.Files().Fill(ctx, &f, core.Document{Text: "x"}, chunks))
		files = append(files, f)
	}
	indexed(t, s)
	check(s.Files().Delete(ctx, files[1].ID))
	indexed(t, s)
	filter := core.PassageFilter{Archives: []core.ArchiveID{folder.Archive}}
	for query, want := range map[string]int{"kept7": 1, "removed7": 0, "boat lake": 50} {
		if hits, err := matchPassages(ctx, s, core.SearchQuery{Text: query, Limit: 50}, filter); err != nil || len(hits) != want {
			t.Errorf("%q finds %d, %v", query, len(hits), err)
		}
	}
	if strings.Contains(logged.String(), "the search index failed") {
		t.Error(logged.String())
	}
}

// indexed waits until the index has what was committed: a search waits less, for whom it keeps waiting.
func indexed(t *testing.T, s *Store) {
	t.Helper()
	if _, last, err := (source{s.quiet}).Bounds(t.Context()); err != nil || !s.search.Words.Wait(t.Context(), last, 2*time.Minute) {
		t.Fatalf("the index does not catch up: %v", err)
	}
}
