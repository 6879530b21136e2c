package storage

import (
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"loci/core"
	"loci/storage/datadir"
	"loci/storage/sqlite"
)

func TestMigrationsMayComeInEitherOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(sql string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)} }
	one := fstest.MapFS{"m/00001_a.sql": file("CREATE TABLE a (x TEXT);"), "m/00003_c.sql": file("ALTER TABLE a ADD COLUMN z TEXT;")}
	all := fstest.MapFS{
		"m/00001_a.sql": one["m/00001_a.sql"],
		"m/00002_b.sql": file("ALTER TABLE a ADD COLUMN y TEXT;"),
		"m/00003_c.sql": one["m/00003_c.sql"],
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(dir, "x.db"), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := func(version int64) string { return datadir.CopyName(dir, version, time.Now()) }
	for _, root := range []fstest.MapFS{one, all, all} {
		if _, err := (sqlite.Schema{Name: "x.db", Root: root, Folder: "m"}).Migrate(t.Context(), db, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`INSERT INTO a (x, y, z) VALUES ('1', '2', '3')`); err != nil {
		t.Error(err)
	}
}

func TestTheSweeperKeepsWhatARewindTookUntilItsConversationIsGone(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	ctx := t.Context()
	a := newAgent(t, s)
	ar := core.Archive{ID: core.NewArchiveID(), Name: "a"}
	p, gone := core.Passage{
		ID:      core.NewPassageID(),
		Archive: ar.ID,
		Text:    "kept",
	}, core.Passage{
		ID:      core.NewPassageID(),
		Archive: ar.ID,
		Text:    "gone",
	}
	r := core.Rewind{ID: core.NewRewindID(), Agent: a, Conversation: core.DefaultConversation(a), Taken: []core.PassageID{p.ID}}
	count := func() (n int) {
		t.Helper()
		if err := s.facts.Read.Get(ctx, &n, `SELECT COUNT(*) FROM passages`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, err := range []error{
		s.Archives().Create(ctx, &ar), s.Passages().Insert(ctx, &p, &gone), s.Passages().Delete(ctx, p.ID),
		s.Passages().Delete(ctx, gone.ID),
		s.Rewinds().Create(ctx, &r),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sweep(ctx); err != nil || count() != 1 {
		t.Fatalf("%d passages left, %v", count(), err)
	}
	if err := s.Passages().Revive(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Passages().Delete(ctx, p.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Agents().Delete(ctx, a); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sweep(ctx); err != nil || count() != 0 {
		t.Errorf("%d passages left, %v", count(), err)
	}
	if _, err := s.Rewinds().Get(ctx, r.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("the rewind of a deleted agent: %v", err)
	}
}

func TestTheSweeperKeepsWhatAnAgentRetiredUntilItsArchiveIsGone(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	ctx := t.Context()
	agent := core.Author{Kind: core.AuthorAgent, ID: string(newAgent(t, s))}
	ar := core.Archive{ID: core.NewArchiveID(), Name: "a"}
	var ps [3]core.Passage
	for i := range ps {
		ps[i] = core.Passage{ID: core.NewPassageID(), Archive: ar.ID, Text: "was"}
	}
	retired, deleted, restored := &ps[0], &ps[1], &ps[2]
	count := func(table string) (n int) {
		t.Helper()
		if err := s.facts.Read.Get(ctx, &n, `SELECT COUNT(*) FROM `+table); err != nil {
			t.Fatal(err)
		}
		return n
	}
	swept := func(passages, versions int) {
		t.Helper()
		if _, err := s.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if p, v := count("passages"), count("passage_versions"); p != passages || v != versions {
			t.Fatalf("%d passages and %d versions are left, want %d and %d", p, v, passages, versions)
		}
	}
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	do(s.Archives().Create(ctx, &ar), s.Passages().Insert(ctx, retired, deleted, restored))
	deleted.Text, restored.Text = "is", "is"
	do(s.Passages().Update(ctx, deleted, agent), s.Passages().Update(ctx, restored, agent), s.Passages().Retire(ctx, retired.ID, agent),
		s.Passages().Retire(ctx, restored.ID, agent), s.Passages().Delete(ctx, deleted.ID))
	swept(2, 5)
	do(s.Passages().Restore(ctx, retired.ID, 1, agent), s.Passages().Restore(ctx, restored.ID, 1, agent),
		s.Passages().Delete(ctx, restored.ID))
	swept(1, 3)
	do(s.Archives().Delete(ctx, ar.ID))
	swept(0, 0)
}
