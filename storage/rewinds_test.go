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
