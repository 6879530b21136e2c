package storage

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/coretest"
	"loci/core/finder"
	"loci/storage/datadir"
	"loci/storage/index"
	"loci/storage/sqlite"
)

func TestTheIndexIsRebuiltWhenItCannotBeTrusted(t *testing.T) {
	t.Parallel()
	remove := func(_ *testing.T, path string) { sqlite.Remove(path) }
	from := func(offset int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			overwrite(t, path, offset)
		}
	}
	edit := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			db, err := sqlite.OpenPool(t.Context(), path, sqlite.Normal, false)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		harm    func(*testing.T, string)
		rebuilt bool
	}{
		"untouched":       {func(*testing.T, string) {}, false},
		"missing":         {remove, true},
		"garbage":         {from(0), true},
		"damaged inside":  {from(5000), true},
		"another version": {edit(`UPDATE marks SET value = '0/0' WHERE key = 'version'`), true},
		"another home":    {edit(`UPDATE marks SET value = 'other' WHERE key = 'home'`), true},
		"another epoch":   {edit(`UPDATE marks SET value = '77' WHERE key = 'epoch'`), true},
		"ahead":           {edit(`UPDATE marks SET value = '7777' WHERE key = 'applied'`), true},
		"too far behind": {func(t *testing.T, path string) { // what is missing in it is told of no more
			t.Helper()
			edit(`UPDATE marks SET value = '5' WHERE key = 'applied'`)(t, path)
			edit(`DELETE FROM changes WHERE seq <= 20`)(t, filepath.Join(filepath.Dir(path), datadir.FactsFile))
		}, true},
		"behind":     {edit(`UPDATE marks SET value = '5' WHERE key = 'applied'`), false},
		"unfinished": {edit(`UPDATE marks SET value = '-1' WHERE key = 'applied'`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, Config{Dir: dir})
			a := newAgent(t, s)
			for i := range 30 {
				say(t, s, a, i)
			}
			if n := count(t, s, "thread"); n != 30 {
				t.Fatalf("%d found before", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.harm(t, filepath.Join(dir, datadir.IndexFile))
			var out lockedBuilder
			s = open(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&out, nil))})
			if n := count(t, s, "thread"); n != 30 {
				t.Errorf("%d found after", n)
			}
			if got := strings.Contains(out.String(), "rebuilding"); got != c.rebuilt {
				t.Errorf("rebuilt %v, want %v: %s", got, c.rebuilt, out.String())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var again lockedBuilder // once is enough
			s = open(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&again, nil))})
			if n := count(t, s, "thread"); n != 30 || strings.Contains(again.String(), "rebuilding") {
				t.Errorf("the next time %d are found: %s", n, again.String())
			}
		})
	}
}

// lockedBuilder is a strings.Builder for several goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// overwrite destroys a file from an offset on.
func overwrite(t *testing.T, path string, from int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < len(data); i++ {
		data[i] = byte(i*7 + 13)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheIndexCatchesUpWithWhatItMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	a := newAgent(t, s)
	say(t, s, a, 1)
	if n := count(t, s, "thread"); n != 1 {
		t.Fatalf("%d found", n)
	}
	s.search.Words.Close() // the daemon dies after the commit and before the indexer saw it
	for i := range 1200 {
		say(t, s, a, i)
	}
	without, err := finder.New(finder.Config{Store: s}).
		Messages(t.Context(), core.SearchQuery{Text: "thread", Limit: 3}, core.MessageFilter{})
	if err != nil || len(without.Hits) != 3 || !without.Partial || without.Hits[0].Message.Seq != 1201 {
		t.Errorf("search without an index: %+v, %v", without, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s2 := open(t, Config{Dir: dir})
	coretest.Until(t, "the index has everything", func() bool { return s2.search.Words.Applied() >= 1201 })
	if n := count(t, s2, "thread"); n != 100 {
		t.Errorf("%d found", n)
	}
	if _, last, err := (source{s2.quiet}).Bounds(t.Context()); err != nil || s2.search.Words.Applied() != last {
		t.Errorf("applied %d of %d (%v)", s2.search.Words.Applied(), last, err)
	}
}

func TestADamageThatASearchFindsIsRepaired(t *testing.T) {
	t.Parallel()
	s := damaged(t)
	var wg sync.WaitGroup
	for range 4 { // whoever met it waits for the new one, or reads the newest without it
		wg.Go(func() {
			if found, err := matchMessages(
				t.Context(),
				s,
				core.SearchQuery{Text: "thread"},
				core.MessageFilter{},
			); err != nil ||
				len(found) != 1 {
				t.Errorf("%d found, %v", len(found), err)
			}
		})
	}
	wg.Wait()
}

// TestASearchBehindItsIndexReadsTheNewestAndSaysThatItIsPartial also where that finds nothing.
func TestASearchBehindItsIndexReadsTheNewestAndSaysThatItIsPartial(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := newAgent(t, s)
	say(t, s, a, 1)
	if n := count(t, s, "thread"); n != 1 {
		t.Fatalf("%d found", n)
	}
	x, err := index.Open(t.Context(), index.Config{
		Path: filepath.Join(t.TempDir(), datadir.IndexFile), Home: "h", Source: stuck{source{s.quiet}},
		Logger: slog.New(slog.DiscardHandler),
		Open: func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error) {
			return sqlite.OpenPool(ctx, path, sqlite.Normal, readOnly)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	if !x.Wait(t.Context(), 1, time.Minute) {
		t.Fatal("the index is not built")
	}
	say(t, s, a, 22)
	s.search.Words.Close()
	s.search.Words = x
	match := func(word string) (core.Results[core.MessageHit], error) {
		return finder.New(finder.Config{Store: s}).Messages(t.Context(), core.SearchQuery{Text: word}, core.MessageFilter{})
	}
	for word, want := range map[string]int{"thread": 2, "22": 1, "none": 0} {
		if found, err := match(word); err != nil || len(found.Hits) != want || !found.Partial {
			t.Errorf("%s: %+v, %v", word, found, err)
		}
	}
}

// stuck are facts of which an index gets no changes.
type stuck struct{ index.Source }

func (stuck) Changes(context.Context, int64, int) ([]index.Change, error) { return nil, nil }

func TestADamageThatForgettingFindsIsRepaired(t *testing.T) {
	t.Parallel()
	s := damaged(t)
	if err := s.Clean(t.Context()); err != nil {
		t.Errorf("clean: %v", err)
	}
	if n := count(t, s, "thread"); n != 1 {
		t.Errorf("%d found", n)
	}
}

// damaged is a store with one message, in whose open search index a table begins where an index does.
func damaged(t *testing.T) *Store {
	t.Helper()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	say(t, s, newAgent(t, s), 1)
	if n := count(t, s, "thread"); n != 1 {
		t.Fatalf("%d found", n)
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(dir, datadir.IndexFile), sqlite.Normal, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`PRAGMA wal_checkpoint(TRUNCATE)`, `PRAGMA writable_schema = ON`,
		`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'docs_message_seq') ` +
			`WHERE name = 'docs_message'`,
		`PRAGMA schema_version = 99999`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}
