package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage"
	"loci/storage/sqlite"
)

// restore puts a backup in the place of a home's facts.
func restore(t *testing.T, dir, file string) (kept string, err error) {
	t.Helper()
	r, err := Prepare(t.Context(), t.TempDir(), file)
	if err != nil {
		return "", err
	}
	return r.Put(t.Context(), dir, nil)
}

// foreign makes a backup and lets somebody change it by hand, beside every check of the store.
func foreign(tb testing.TB, statements ...string) (file string) {
	tb.Helper()
	s, err := storage.Open(tb.Context(), storage.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	a := newAgent(tb, s)
	say(tb, s, a, 1)
	folder := core.Folder{ID: core.NewFolderID(), Name: "papers", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	if err := s.Folders().Create(tb.Context(), &folder); err != nil {
		tb.Fatal(err)
	}
	file = filepath.Join(tb.TempDir(), "foreign.db")
	if err := Write(tb.Context(), s, file); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	db, err := sqlite.OpenPool(tb.Context(), file, sqlite.Full, false)
	if err != nil {
		tb.Fatal(err)
	}
	for _, statement := range slices.Concat([]string{`PRAGMA foreign_keys = 0`}, statements, []string{`PRAGMA journal_mode = DELETE`}) {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestARestoredHomeOwnsNoPathOutsideUntilSomebodySaysSo(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	mine := filepath.Join(outside, "mine.db")
	part := filepath.Join(outside, "x.part-1")
	for _, path := range []string{mine, mine + "-wal", part} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	file := foreign(t,
		`INSERT INTO backups (path, at) VALUES (`+quote(mine)+`, 0), (`+quote(part)+`, 0), ('/old/copy.db', 5)`,
		`INSERT INTO mirrors (agent_id, path, branch, is_on, created_at) SELECT id, `+quote(outside)+`, 'main', 1, 7 FROM agents`,
		// What the column denies the data may still say.
		`UPDATE folders SET mirrored = 0, data = json_set(data, '$.mirror', json('{"path":"/etc"}'))`,
	)
	if _, err := restore(t, dir, file); err != nil {
		t.Fatal(err)
	}
	s := open(t, storage.Config{Dir: dir})
	if err := Write(t.Context(), s, filepath.Join(t.TempDir(), "again.db")); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context(), func() error { return nil }); err != nil { // as forgetting begins
		t.Fatal(err)
	}
	for _, path := range []string{mine, mine + "-wal", part} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a file of somebody else is gone: %v", err)
		}
	}
	if on, err := s.Mirrors().List(t.Context()); err != nil || len(on) > 0 {
		t.Errorf("mirrors are on: %v, %v", on, err)
	}
	folders, err := s.Folders().List(t.Context(), core.FolderFilter{}, core.Page{})
	if err != nil || len(folders) != 1 || folders[0].Mirror != nil {
		t.Fatalf("folders: %+v, %v", folders, err)
	}
	held, err := Waiting(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Kind       HeldKind
		Name, Path string
	}
	got := make([]shown, len(held))
	for i, h := range held {
		got[i] = shown{h.Kind, h.Name, h.Path}
	}
	want := []shown{
		{HeldMirror, "a", outside},
		{HeldFolder, "papers", "/etc"},
		{HeldPart, "", mine},
		{HeldPart, "", part},
		{HeldBackup, "", "/old/copy.db"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what waits (-want +got):\n%s", diff)
	}
	allowedAndDropped(t, s, outside, mine, part)
}

// allowedAndDropped lets two paths act again and drops the rest.
func allowedAndDropped(t *testing.T, s *storage.Store, mirror, mine, part string) {
	t.Helper()
	chosen, err := Settle(t.Context(), s, true, func(h Held) bool { return slices.Contains([]string{mirror, "/etc", mine, part}, h.Path) })
	if err != nil || len(chosen) != 4 {
		t.Fatalf("allowed %d: %v", len(chosen), err)
	}
	on, err := s.Mirrors().List(t.Context())
	if err != nil || len(on) != 1 || on[0].Path != mirror {
		t.Errorf("mirrors: %+v, %v", on, err)
	}
	folders, err := s.Folders().List(t.Context(), core.FolderFilter{Mirrored: true}, core.Page{})
	if err != nil || len(folders) != 1 || folders[0].Mirror == nil || folders[0].Mirror.Path != "/etc" {
		t.Errorf("folders: %+v, %v", folders, err)
	}
	if err := Write(t.Context(), s, filepath.Join(t.TempDir(), "third.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the part is not removed: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("what is not named as a part is removed: %v", err)
	}
	if dropped, err := Settle(t.Context(), s, false, func(Held) bool { return true }); err != nil || len(dropped) != 1 {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	if held, err := Waiting(t.Context(), s.Config().Dir); err != nil || len(held) > 0 {
		t.Errorf("still waiting: %v, %v", held, err)
	}
}

func TestRestoreAcceptsOnlyWhatLociStores(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"a trigger":         {`CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM agents; END`},
		"a view":            {`CREATE VIEW v AS SELECT 1`},
		"a table more":      {`CREATE TABLE more (x)`},
		"an index more":     {`CREATE INDEX more ON agents (id, name)`},
		"an index less":     {`DROP INDEX messages_run`},
		"a trigger less":    {`DROP TRIGGER vectors_fixed`},
		"a trigger changed": {`DROP TRIGGER vectors_fixed`, `CREATE TRIGGER vectors_fixed BEFORE UPDATE ON vectors BEGIN SELECT 1; END`},
		"a view as a table": {
			`DROP TABLE workspaces`, `CREATE VIEW workspaces AS SELECT '' AS path, '' AS agent_id, '' AS conversation_id, 0 AS used_at`,
		},
		"a column more":       {`ALTER TABLE agents ADD COLUMN more TEXT`},
		"a migration unknown": {`INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1)`},
		"a migration less":    {`DELETE FROM goose_db_version WHERE version_id = 6`},
		"no migration":        {`DELETE FROM goose_db_version`},
		"a reference to none": {`UPDATE messages SET conversation_id = 'conv-none'`},
		"a row of no JSON":    {`UPDATE messages SET data = '{"content":'`},
		"JSON of another kind": {
			`UPDATE agents SET data = '{"tags":{"a":1}}'`,
		},
		"a text for a number":  {`UPDATE messages SET tokens = 'many'`},
		"a counter at its end": {`UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'messages'`},
		"a counter of words":   {`UPDATE sqlite_sequence SET seq = 'many'`},
		"a place at the end":   {`UPDATE context SET position = 9223372036854775807`},
		"a key at its end":     {`UPDATE messages SET seq = 9223372036854775807`},
		"an epoch at its end":  {`UPDATE meta SET value = '9223372036854775807' WHERE key = 'epoch'`},
		"an epoch of words":    {`UPDATE meta SET value = 'late' WHERE key = 'epoch'`},
		"a list of no list":    {`INSERT INTO meta (key, value) VALUES ('held', '{}')`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := restore(t, t.TempDir(), foreign(t, statements...)); core.KindOf(err) != core.Invalid || core.HintOf(err) == "" {
				t.Errorf("restore: %v (%s)", err, core.HintOf(err))
			}
		})
	}
	if _, err := restore(t, t.TempDir(), foreign(t)); err != nil {
		t.Errorf("a backup that nobody changed: %v", err)
	}
}

func TestARestoreStopsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	file := foreign(t)
	trial := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prepare(ctx, trial, file); core.KindOf(err) != core.Cancelled {
		t.Errorf("prepare: %v", err)
	}
	r, err := Prepare(t.Context(), trial, file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := r.Put(ctx, dir, nil); core.KindOf(err) != core.Cancelled {
		t.Errorf("put: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a cancelled restore left %v, %v", entries, err)
	}
}

func TestAProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, storage.Config{Dir: dir})
	say(t, s, newAgent(t, s), 1)
	if err := Probe(t.Context(), s, filepath.Join(dir, "probe")); err != nil {
		t.Fatal(err)
	}
	var noted int
	if err := s.Reader().Get(t.Context(), &noted, `SELECT COUNT(*) FROM backups`); err != nil || noted > 0 {
		t.Errorf("%d copies are noted, %v", noted, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "probe*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestEveryCellOfABackupIsMeasured puts a large value into one column after the other, of every table that there is.
func TestEveryCellOfABackupIsMeasured(t *testing.T) {
	t.Parallel()
	const most = 100_000
	db, err := sqlite.OpenPool(t.Context(), foreign(t), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `PRAGMA foreign_keys = 0`); err != nil {
		t.Fatal(err)
	}
	if err := checkCells(t.Context(), db, "x", most); err != nil {
		t.Fatalf("a backup that nobody changed: %v", err)
	}
	var cells []struct {
		Table  string `db:"t"`
		Column string `db:"c"`
		Key    bool   `db:"key"`
	}
	if err := db.SelectContext(t.Context(), &cells, `SELECT m.name AS t, c.name AS c, c.type = 'INTEGER' AND c.pk > 0 AS key
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`); err != nil {
		t.Fatal(err)
	}
	if len(cells) < 100 {
		t.Errorf("only %d columns", len(cells))
	}
	for _, large := range cells {
		if large.Key {
			continue
		}
		var columns, values []string
		for _, c := range cells {
			if c.Table != large.Table || c.Key {
				continue
			}
			value := "'" + c.Column + "'"
			if c == large {
				value = fmt.Sprintf("zeroblob(%d)", most+1)
			}
			columns, values = append(columns, `"`+c.Column+`"`), append(values, value)
		}
		tx := db.MustBeginTx(t.Context(), nil)
		_, err := tx.ExecContext(t.Context(), `INSERT INTO "`+large.Table+`" (`+strings.Join(columns, ", ")+`) VALUES (`+
			strings.Join(values, ", ")+`)`)
		if err != nil {
			t.Errorf("%s.%s: %v", large.Table, large.Column, err)
		} else if err := checkCells(t.Context(), tx, "x", most); core.KindOf(err) != core.Invalid ||
			!strings.Contains(err.Error(), large.Table) {
			t.Errorf("a large %s.%s: %v", large.Table, large.Column, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABackupTooLargeIsNotEvenCopied(t *testing.T) {
	t.Parallel()
	file, trial := foreign(t), t.TempDir()
	if err := os.Truncate(file, maxBackup+4096); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := Prepare(t.Context(), trial, file); core.KindOf(err) != core.Invalid {
		t.Errorf("prepare: %v", err)
	}
	if entries, err := os.ReadDir(trial); err != nil || len(entries) > 0 {
		t.Errorf("it was copied: %v, %v", entries, err)
	}
}

// patched is a file with pieces of it replaced: each is three bytes of where, one of how many, and the bytes.
func patched(file, patch []byte) []byte {
	out := slices.Clone(file)
	for len(patch) > 4 {
		at, n := int(patch[0])<<16|int(patch[1])<<8|int(patch[2]), min(int(patch[3]), len(patch)-4)
		copy(out[at%len(out):], patch[4:4+n])
		patch = patch[4+n:]
	}
	return out
}

// FuzzBackup opens backups that somebody changed: they are refused, or the home they make works.
func FuzzBackup(f *testing.F) {
	whole, err := os.ReadFile(foreign(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, uint32(len(whole)))
	f.Add([]byte{}, uint32(4096))
	f.Add([]byte{}, uint32(50))
	f.Add([]byte{0, 0, 16, 2, 0, 1}, uint32(len(whole)))             // the size of pages
	f.Add([]byte{0, 0, 100, 4, 13, 255, 255, 0}, uint32(len(whole))) // the first page of the schema
	f.Add([]byte{0, 16, 0, 8, 10, 0, 0, 255, 0, 0, 0, 0}, uint32(len(whole)))
	f.Fuzz(func(t *testing.T, patch []byte, size uint32) {
		data := patched(whole, patch)
		data = data[:min(len(data), int(size))]
		file := filepath.Join(t.TempDir(), "backup")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // whatever the file says, there is little of it
		defer cancel()
		r, err := Prepare(ctx, t.TempDir(), file)
		if err == nil {
			_, err = r.Put(ctx, dir, nil)
		}
		if err != nil {
			if kind := core.KindOf(err); kind != core.Invalid && kind != core.Unsupported {
				t.Errorf("refused as %s: %v", kind, err)
			}
			return
		}
		s, err := storage.Open(t.Context(), storage.Config{Dir: dir})
		if err != nil {
			t.Fatalf("it is accepted and does not open: %v", err)
		}
		defer func() { _ = s.Close() }() // the test is about its opening
		if _, err := s.Agents().List(t.Context(), core.AgentFilter{}, core.Page{}); err != nil {
			t.Error(err)
		}
		if _, err := s.Messages().List(t.Context(), core.MessageFilter{}, core.Page{}); err != nil {
			t.Error(err)
		}
	})
}

func open(t *testing.T, cfg storage.Config) *storage.Store {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := storage.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newAgent(tb testing.TB, s core.Store) core.AgentID {
	tb.Helper()
	a := core.Agent{ID: core.NewAgentID(), Name: "a", Type: core.AgentLettaV1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	if err := s.Agents().Create(tb.Context(), &a); err != nil {
		tb.Fatalf("create agent: %v", err)
	}
	c := core.Conversation{ID: core.DefaultConversation(a.ID), Agent: a.ID, CreatedAt: time.Now()}
	if err := s.Conversations().Create(tb.Context(), &c); err != nil {
		tb.Fatalf("create conversation: %v", err)
	}
	return a.ID
}

func say(tb testing.TB, s core.Store, a core.AgentID, i int) {
	tb.Helper()
	conv := core.DefaultConversation(a)
	err := s.Tx(tb.Context(), func(ctx context.Context, tx core.Store) error {
		m := core.Message{
			ID: core.NewMessageID(), Agent: a, Conversation: conv, Role: core.RoleUser, CreatedAt: time.Now(),
			Content: []core.Content{core.Text(fmt.Sprintf("message %d of the thread", i))},
		}
		if err := tx.Messages().Insert(ctx, &m); err != nil {
			return err
		}
		return tx.Messages().Enter(ctx, conv, i+1, []core.MessageID{m.ID}, nil)
	})
	if err != nil {
		tb.Errorf("say: %v", err)
	}
}

func TestRunsUnderWayInABackupAreMarkedWhateverItSaysOfThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const runs = `INSERT INTO runs (id, agent_id, conversation_id, status, stop_reason, background, request, created_at, completed_at, data)
		SELECT `
	file := foreign(t,
		runs+`'run-1', id, id, 'running', '', 1, '', 1, 0, '{"restored":false,"RESTORED":false}' FROM agents`,
		runs+`'run-2', id, id, 'created', '', 0, '', 2, 0, '{}' FROM agents`,
		runs+`'run-3', id, id, 'completed', 'end_turn', 1, '', 3, 4, '{}' FROM agents`,
	)
	r, err := Prepare(t.Context(), t.TempDir(), file)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ended != 2 {
		t.Errorf("%d runs are to end", r.Ended)
	}
	if _, err := r.Put(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	s := open(t, storage.Config{Dir: dir})
	left, err := s.Runs().Unfinished(t.Context())
	if err != nil || len(left) != 2 || !left[0].Restored || !left[1].Restored {
		t.Errorf("unfinished: %+v, %v", left, err)
	}
	if done, err := s.Runs().Get(t.Context(), "run-3"); err != nil || done.Restored {
		t.Errorf("a run that was over: %+v, %v", done, err)
	}
}

func TestAWriteAheadLogMovesWithTheFactsThatAreReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loci.db")
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(path+suffix, []byte("facts"+suffix), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to, err := keep(t.Context(), path, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if got, err := os.ReadFile(to + suffix); string(got) != "facts"+suffix {
			t.Errorf("%q holds %q, %v", suffix, got, err)
		}
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log stays: %v", err)
	}
	if to, err := keep(t.Context(), path+".none", time.Unix(0, 0)); to != "" || err != nil {
		t.Errorf("no facts: %q, %v", to, err)
	}
}
