package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage/datadir"
	"loci/storage/sqlite"
)

func TestReadsOfAHistoryUseAnIndex(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	s := open(t, Config{OnStatement: func(text string) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, text)
		return nil
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
		s.Blocks().Create(ctx, &block, core.Author{}), s.Archives().Create(ctx, &archive), s.Passages().Insert(ctx, &passage),
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
	s := open(t, Config{OnStatement: func(string) error { statements.Add(1); return nil }})
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
