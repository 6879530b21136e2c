package storage

import (
	"testing"
	"time"

	"loci/core"
)

func TestTheSweeperRemovesAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, Config{}), t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	a := newAgent(t, s)
	folder := core.Folder{ID: core.NewFolderID(), Name: "f", CreatedAt: now, UpdatedAt: now}
	check(s.Folders().Create(ctx, &folder))
	for _, name := range []string{"read", "waiting"} {
		f := core.File{ID: core.NewFileID(), Folder: folder.ID, Name: name, Status: core.FilePending, CreatedAt: now, UpdatedAt: now}
		check(s.Files().Create(ctx, &f, []byte("x")))
		if name == "read" {
			check(
				s.Files().
					Fill(ctx, &f, core.Document{Text: "x"}, []core.Passage{
						{ID: core.NewPassageID(), Text: "x", Tags: []string{"t"}, CreatedAt: now},
					}),
			)
		}
		check(s.Folders().Attach(ctx, a, folder.ID))
		check(s.Files().Open(ctx, a, core.OpenFile{File: f.ID, Open: true, UsedAt: now}))
	}
	files, err := s.Files().List(ctx, core.FileFilter{}, core.Page{})
	check(err)
	check(s.Files().Delete(ctx, files[0].ID)) // while it is open
	_, err = s.Sweep(ctx)
	check(err)
	if left, err := s.Files().Count(ctx, core.FileFilter{}); err != nil || left != len(files)-1 {
		t.Errorf("%d files are left (%v)", left, err)
	}
	check(s.Folders().Delete(ctx, folder.ID))
	_, err = s.Sweep(ctx)
	check(err)
	for _, table := range []string{
		"folders", "files", "file_bytes", "file_texts", "folder_agents", "open_files", "archives", "passages", "passage_tags",
		"archive_tags", "vector_queue",
	} {
		var n int
		check(s.facts.Read.Get(ctx, &n, `SELECT COUNT(*) FROM `+table))
		if n != 0 {
			t.Errorf("%s has %d rows left", table, n)
		}
	}
}

func TestLookingForUnfinishedFilesUsesAnIndex(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	var plan []struct {
		Detail string `db:"detail"`
		ID     int    `db:"id"`
		Parent int    `db:"parent"`
		Unused int    `db:"notused"`
	}
	err := s.facts.Read.All(t.Context(), &plan, `EXPLAIN QUERY PLAN `+selectSettled, core.FileEmbedding, 0, settleBatch, core.VectorPassage)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range plan {
		if len(step.Detail) > 4 && step.Detail[:4] == "SCAN" {
			t.Errorf("looking for files on their way reads everything: %s", step.Detail)
		}
	}
}
