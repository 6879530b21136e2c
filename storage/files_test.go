package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/coretest"
	"loci/core/finder"
	"loci/storage/datadir"
	"loci/storage/index"
	"loci/storage/sqlite"
)

func TestReadsOfAHistoryUseAnIndex(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	s := open(t, Config{OnStatement: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, text)
	}})
	a := newAgent(t, s)
	conv, ctx := core.DefaultConversation(a), t.Context()
	say(t, s, a, 1)
	p := core.Page{Desc: true, Limit: 5}
	seen = nil
	_, err1 := s.Messages().List(ctx, core.MessageFilter{Conversation: conv}, p)
	_, err2 := s.Messages().List(ctx, core.MessageFilter{Agent: a}, p)
	_, err3 := s.Messages().List(ctx, core.MessageFilter{Run: "run-x"}, p)
	_, err4 := s.Messages().List(ctx, core.MessageFilter{Step: "step-x"}, p)
	_, err5 := s.Messages().ContextAt(ctx, conv, 3)
	_, err6 := s.Messages().Context(ctx, conv)
	_, err7 := s.Conversations().LastMessage(ctx, conv)
	_, err8 := s.Runs().List(ctx, core.RunFilter{Agents: []core.AgentID{a}}, p)
	_, err9 := s.Steps().List(ctx, core.StepFilter{Run: "run-x"}, p)
	_, _, err10 := s.Runs().FindRequest(ctx, conv, "hash")
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10} {
		if err != nil {
			t.Errorf("read %d: %v", i+1, err)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d statements", len(seen))
	}
	plans(t, s, seen)
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(dir, datadir.FactsFile), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: dir})
	if core.KindOf(err) != core.Unsupported || !strings.Contains(err.Error(), "999") || core.HintOf(err) == "" {
		t.Errorf("error %v, hint %q", err, core.HintOf(err))
	}
}

func TestAnExistingFileIsCopiedBeforeItsMigration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := fstest.MapFS{"m/00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}
	two := fstest.MapFS{
		"m/00001_a.sql": one["m/00001_a.sql"],
		"m/00002_b.sql": {Data: []byte("-- +goose Up\nALTER TABLE a ADD COLUMN y TEXT;")},
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(dir, "x.db"), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	name := func(version int64) string { return datadir.CopyName(dir, version, at) }
	if kept, err := (sqlite.Schema{Name: "x.db", Root: one, Folder: "m"}).Migrate(t.Context(), db, name); err != nil || kept != "" {
		t.Fatalf("a new file: copy %q, %v", kept, err)
	}
	if _, err := db.Exec(`INSERT INTO a (x) VALUES ('precious')`); err != nil {
		t.Fatal(err)
	}
	kept, err := (sqlite.Schema{Name: "x.db", Root: two, Folder: "m"}).Migrate(t.Context(), db, name)
	if err != nil || filepath.Base(kept) != "loci-v1-20260506T070809.db" {
		t.Fatalf("copy %q, %v", kept, err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the copy: %v, %v", info.Mode(), err)
	}
	old, err := sqlite.OpenPool(t.Context(), kept, sqlite.Full, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	var x string
	if err := old.Get(&x, `SELECT x FROM a`); err != nil || x != "precious" {
		t.Errorf("the copy holds %q (%v)", x, err)
	}
	if err := db.Get(&x, `SELECT COALESCE(y, 'new column') FROM a`); err != nil || x != "new column" {
		t.Errorf("the migrated file holds %q (%v)", x, err)
	}
	if kept, err := (sqlite.Schema{Name: "x.db", Root: two, Folder: "m"}).Migrate(t.Context(), db, name); err != nil || kept != "" {
		t.Errorf("migrated twice: copy %q, %v", kept, err)
	}
}

func TestTheEpochRisesAndTheHomeStaysTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ids, epochs []string
	for range 3 {
		s := open(t, Config{Dir: dir})
		id, _, err1 := s.Meta().Get(t.Context(), MetaUUID)
		epoch, _, err2 := s.Meta().Get(t.Context(), MetaEpoch)
		if err1 != nil || err2 != nil || s.Close() != nil {
			t.Fatal(err1, err2)
		}
		ids, epochs = append(ids, id), append(epochs, epoch)
	}
	if ids[0] == "" || ids[0] != ids[2] {
		t.Errorf("uuids %v", ids)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, epochs); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
}

// count finds how many messages say a word.
func count(t *testing.T, s *Store, word string) int {
	t.Helper()
	found, err := matchMessages(t.Context(), s, core.SearchQuery{Text: word, Limit: 100}, core.MessageFilter{})
	if err != nil {
		t.Errorf("search: %v", err)
	}
	return len(found)
}

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
			if got := strings.Contains(out.String(), "built anew"); got != c.rebuilt {
				t.Errorf("rebuilt %v, want %v: %s", got, c.rebuilt, out.String())
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

func TestTheRunLog(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	events, ctx := s.Events(), t.Context()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	event := func(run core.RunID, seq int64, body core.EventBody) core.Event {
		return core.Event{Run: run, Seq: seq, At: at, Step: "step-x", Message: "message-x", OTID: "o", Part: 2, Body: body}
	}
	if seq, stopped, err := events.Last(ctx, "run-a"); seq != 0 || stopped || err != nil {
		t.Errorf("an empty log ends at %d, %v, %v", seq, stopped, err)
	}
	want := []core.Event{
		event("run-a", 1, core.Said{Text: "x"}),
		event("run-a", 9, core.Notice{Kind: "model", Text: "y"}),
		event("run-a", 1<<24, core.Stop{Reason: core.StopEndTurn}),
	}
	if err := events.Append(ctx, append(want, event("run-b", 1, core.Said{Text: "other"}))...); err != nil {
		t.Fatal(err)
	}
	got, err := events.Read(ctx, "run-a", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err = events.Read(ctx, "run-a", 1, 1); err != nil || len(got) != 1 || got[0].Seq != 9 {
		t.Errorf("behind a cursor: %+v, %v", got, err)
	}
	if seq, stopped, err := events.Last(ctx, "run-a"); seq != 1<<24 || !stopped || err != nil {
		t.Errorf("ends at %d, %v, %v", seq, stopped, err)
	}
	if err := events.Append(ctx, event("run-a", 9, core.Said{})); core.KindOf(err) != core.Conflict {
		t.Errorf("a number twice: %v", err)
	}
	if err := events.Expire(ctx, at); err != nil {
		t.Fatal(err)
	}
	if seq, _, _ := events.Last(ctx, "run-a"); seq == 0 {
		t.Error("expired too early")
	}
	if err := events.Expire(ctx, at.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if seq, stopped, _ := events.Last(ctx, "run-a"); seq != 0 || stopped {
		t.Error("not expired")
	}
	if seq, _, _ := events.Last(ctx, "run-b"); seq != 1 {
		t.Error("a run that has not ended expired")
	}
	if err := events.DeleteRun(ctx, "run-b"); err != nil {
		t.Fatal(err)
	}
	if seq, _, _ := events.Last(ctx, "run-b"); seq != 0 {
		t.Error("not deleted")
	}
}

func TestManyRunsAppendTogether(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	events := s.Events()
	var wg sync.WaitGroup
	for r := range 16 {
		wg.Go(func() {
			run := core.RunID(fmt.Sprint("run-", r))
			for i := range 50 {
				e := core.Event{Run: run, Seq: int64(i + 1), Body: core.Said{Text: "x"}}
				if err := events.Append(t.Context(), e); err != nil {
					t.Errorf("append: %v", err)
				}
				if got, err := events.Read(t.Context(), run, int64(i), 10); err != nil || len(got) != 1 {
					t.Errorf("a new reader sees %d events, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestABrokenRunLogIsPutAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, datadir.EventsFile), []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Dir: dir})
	if err := s.Events().Append(t.Context(), core.Event{Run: "run-a", Seq: 1, Body: core.Said{}}); err != nil {
		t.Error(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, datadir.EventsFile+".broken-*"))
	if err != nil || len(kept) == 0 {
		t.Errorf("nothing kept: %v", err)
	}
}

func TestDamagedFactsAreAnErrorWithAHint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, datadir.FactsFile), []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: dir})
	if core.KindOf(err) != core.Internal || !strings.Contains(core.HintOf(err), "restore") {
		t.Errorf("error %v, hint %q", err, core.HintOf(err))
	}
}

func TestAnEmptiedFactsFileIsNotTakenForAFreshHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	facts := filepath.Join(dir, datadir.FactsFile)
	if err := os.WriteFile(facts, nil, 0o600); err != nil { // a first opening that was killed
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(facts, 0); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: dir})
	if core.KindOf(err) != core.Internal || !strings.Contains(core.HintOf(err), "restore") {
		t.Errorf("error %v, hint %q", err, core.HintOf(err))
	}
	if info, err := os.Stat(facts); err != nil || info.Size() != 0 {
		t.Errorf("the file was touched: %v %v", info, err)
	}
	wal := facts + "-wal" // in which SQLite finds nothing of a file without a byte, so that it removes it
	if err := os.WriteFile(wal, []byte("what was committed last"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(t.Context(), Config{Dir: dir}); core.KindOf(err) != core.Internal || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("with a write-ahead log: %v", err)
	}
	if kept, err := os.ReadFile(wal); err != nil || string(kept) != "what was committed last" {
		t.Errorf("the write-ahead log was touched: %d bytes, %v", len(kept), err)
	}
	if err := os.Remove(wal); err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"", datadir.FactsFile + "-wal"} { // nor are missing ones, also where only their log is left
		if err := os.Remove(facts); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if beside != "" {
			sqlite.Remove(filepath.Join(dir, datadir.EventsFile))
			sqlite.Remove(filepath.Join(dir, datadir.IndexFile))
			if err := os.WriteFile(filepath.Join(dir, beside), []byte("what was committed last"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(
			t.Context(),
			Config{Dir: dir},
		); core.KindOf(err) != core.Internal ||
			!strings.Contains(err.Error(), "is missing") {
			t.Errorf("missing facts: error %v, hint %q", err, core.HintOf(err))
		}
		if _, err := os.Stat(facts); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a fresh file was made: %v", err)
		}
	}
}

func TestAKilledMigrationLeavesNoHalfCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	half := datadir.CopyName(dir, 1, time.Now()) + sqlite.PartMark + "copy"
	for _, name := range []string{half, half + "-journal"} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, Config{Dir: dir})
	if left, err := filepath.Glob(filepath.Join(dir, datadir.CopyPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(dir, "x.db"), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sqlite.CopyWhole(ctx, db, filepath.Join(dir, "y.db"), "copy"); err == nil {
		t.Error("a copy that was interrupted is said to be whole")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "y.db*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestABackupIsWholeAndRestorePutsItBack(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	s := open(t, Config{Dir: dir})
	a := newAgent(t, s)
	say(t, s, a, 1)
	if err := WriteBackup(t.Context(), s, file); err != nil {
		t.Fatal(err)
	}
	if err := WriteBackup(t.Context(), s, file); core.KindOf(err) != core.Conflict {
		t.Errorf("over an existing file: %v", err)
	}
	missing := filepath.Join(filepath.Dir(file), "no", "folder")
	if err := WriteBackup(t.Context(), s, filepath.Join(missing, "backup.db")); core.KindOf(err) != core.NotFound {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	if err := WriteBackup(t.Context(), s, filepath.Join(file, "backup.db")); core.KindOf(err) != core.Invalid {
		t.Errorf("into a file: %v", err)
	}
	if parts, _ := filepath.Glob(file + ".*"); len(parts) != 0 {
		t.Errorf("left behind: %v", parts)
	}
	say(t, s, a, 2)
	put(t.Context(), t, s, "later")
	if n := count(t, s, "thread"); n != 2 {
		t.Fatalf("%d found", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := restore(t, dir, file)
	if err != nil || kept == "" {
		t.Fatalf("restore: %q, %v", kept, err)
	}
	s = open(t, Config{Dir: dir})
	if has(t, s, "later") {
		t.Error("what came after the backup is still there")
	}
	if n := count(t, s, "thread"); n != 1 {
		t.Errorf("%d found after the restore", n)
	}
	if epoch, _, _ := s.Meta().Get(t.Context(), MetaEpoch); epoch != "3" { // opened, restored, opened
		t.Errorf("epoch %s", epoch)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, dir, kept); err != nil { // an undo
		t.Fatal(err)
	}
	if s = open(t, Config{Dir: dir}); !has(t, s, "later") {
		t.Error("what was replaced was not kept whole")
	}
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	put(t.Context(), t, s, "k")
	good := filepath.Join(t.TempDir(), "good.db")
	if err := WriteBackup(t.Context(), s, good); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	garbage, empty := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "y")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("nonsense", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	overwrite(t, good, 9000)
	for file, want := range map[string]core.Kind{
		garbage: core.Invalid, empty: core.Invalid, good: core.Invalid, filepath.Join(dir, "none"): core.NotFound,
	} {
		if _, err := restore(t, dir, file); core.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", filepath.Base(file), err, want)
		}
	}
	if s := open(t, Config{Dir: dir}); !has(t, s, "k") {
		t.Error("a refused restore changed the home")
	}
}

func TestTheSweeperRemovesWhatNothingNames(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	ctx := t.Context()
	gone, stays := newAgent(t, s), newAgent(t, s)
	for i := range 1100 {
		say(t, s, gone, i)
	}
	say(t, s, stays, 1)
	run := core.Run{ID: core.NewRunID(), Agent: gone, Conversation: core.DefaultConversation(gone), Status: core.RunCompleted}
	block := core.Block{ID: core.NewBlockID(), Label: "human", Limit: 1}
	archive := core.Archive{ID: core.NewArchiveID(), Name: "a"}
	passage := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: "t", Tags: []string{"x"}}
	thread := core.Conversation{ID: core.NewConversationID(), Agent: stays}
	ran := core.Run{ID: core.NewRunID(), Agent: stays, Conversation: thread.ID, Status: core.RunCompleted}
	kept := core.Message{ID: core.NewMessageID(), Agent: stays, Conversation: thread.ID, Role: core.RoleUser}
	for _, err := range []error{
		s.Runs().Create(ctx, &run), s.Steps().Create(ctx, &core.Step{ID: core.NewStepID(), Run: run.ID, Agent: gone}),
		s.Blocks().Create(ctx, &block, core.BlockAuthor{}), s.Archives().Create(ctx, &archive), s.Passages().Insert(ctx, &passage),
		s.Conversations().Create(ctx, &thread), s.Runs().Create(ctx, &ran), s.Messages().Insert(ctx, &kept),
		s.Messages().Enter(ctx, thread.ID, 1, []core.MessageID{kept.ID}, nil),
		s.Agents().Delete(ctx, gone), s.Blocks().Delete(ctx, block.ID), s.Archives().Delete(ctx, archive.ID),
		s.Conversations().Delete(ctx, thread.ID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	n, err := s.Sweep(ctx)
	if err != nil || n < 2200 {
		t.Fatalf("%d rows, %v", n, err)
	}
	want := map[string]int{
		"agents": 1, "conversations": 2, "messages": 2, "context": 2, "runs": 1, "steps": 0, "blocks": 0, "archives": 0, "passages": 0,
		"block_versions": 1, // kept for ever
	}
	for table, want := range want {
		var n int
		if err := s.facts.Readers.Get(&n, `SELECT COUNT(*) FROM `+table); err != nil || n != want {
			t.Errorf("%s: %d rows (%v), want %d", table, n, err, want)
		}
	}
	if n, err := s.Sweep(ctx); n != 0 || err != nil {
		t.Errorf("a second time: %d rows, %v", n, err)
	}
}

func FuzzMatch(f *testing.F) {
	for _, q := range []string{
		"", "lake", `"lake"`, "lake* OR (", "NEAR(a b)", "東京", "\x00\xff", `a"b`, "scope : x", strings.Repeat("w ", 300),
	} {
		f.Add(q)
	}
	s, err := Open(context.Background(), Config{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	archive := core.Archive{ID: core.NewArchiveID(), Name: "a"}
	if err := s.Archives().Create(context.Background(), &archive); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{`the "lake" near scope`, "東京タワー", "body words or and not"} {
		if err := s.Passages().
			Insert(context.Background(), &core.Passage{
				ID: core.NewPassageID(), Archive: archive.ID, Text: text, Tags: []string{text},
			}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, q string) {
		for _, filter := range []core.PassageFilter{{}, {Archives: []core.ArchiveID{archive.ID, core.ArchiveID(q)}, Tags: []string{q}}} {
			if _, err := matchPassages(t.Context(), s, core.SearchQuery{Text: q}, filter); err != nil {
				t.Fatalf("%q: %v", q, err)
			}
		}
	})
}

// TestALargeFileIsStoredWithFewStatements: everybody else who writes waits meanwhile.
func TestALargeFileIsStoredWithFewStatements(t *testing.T) {
	t.Parallel()
	var statements atomic.Int32
	s := open(t, Config{OnStatement: func(string) { statements.Add(1) }})
	ctx, now := t.Context(), time.Now()
	folder := core.Folder{ID: core.NewFolderID(), Name: "f", CreatedAt: now, UpdatedAt: now}
	f := core.File{ID: core.NewFileID(), Folder: folder.ID, Name: "n", Status: core.FileParsing, CreatedAt: now, UpdatedAt: now}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Folders().Create(ctx, &folder))
	check(s.Files().Create(ctx, &f, []byte("x")))
	chunks := make([]core.Passage, 317)
	for i := range chunks {
		chunks[i] = core.Passage{ID: core.NewPassageID(), Text: fmt.Sprint("lake ", i), CreatedAt: now}
	}
	statements.Store(0)
	check(s.Files().Fill(ctx, &f, core.Document{Text: "x"}, chunks))
	if n := statements.Load(); n > 60 {
		t.Errorf("%d statements for %d chunks", n, len(chunks))
	}
	got, err := s.Passages().List(ctx, core.PassageFilter{Files: []core.FileID{f.ID}}, core.Page{Limit: 2000})
	check(err)
	if len(got) != len(chunks) {
		t.Fatalf("%d chunks are stored, want %d", len(got), len(chunks))
	}
	for i, p := range got {
		if want := chunks[p.Place]; p.ID != want.ID || p.Seq != want.Seq || p.Text != want.Text || i > 0 && p.Seq < got[i-1].Seq {
			t.Errorf("chunk %d: %+v, want %+v", p.Place, p, want)
		}
	}
	a, err := s.Archives().Get(ctx, folder.Archive)
	if check(err); a.Passages != len(chunks) {
		t.Errorf("%d are counted", a.Passages)
	}
	indexed(t, s)
	hits, err := matchPassages(
		ctx,
		s,
		core.SearchQuery{Text: "316", Limit: 5},
		core.PassageFilter{Archives: []core.ArchiveID{folder.Archive}},
	)
	if check(err); len(hits) != 1 || hits[0].Passage.ID != chunks[316].ID {
		t.Errorf("found %+v", hits)
	}
}
