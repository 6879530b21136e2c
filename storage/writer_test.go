package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/storage/sqlite"
)

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(ctx context.Context, t *testing.T, s core.Store, key string) {
	t.Helper()
	if err := s.Meta().Put(ctx, key, "x"); err != nil {
		t.Errorf("put %s: %v", key, err)
	}
}

func has(t *testing.T, s core.Store, key string) bool {
	t.Helper()
	_, ok, err := s.Meta().Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return ok
}

// crowd holds the writer, lets n callers queue up behind it, and releases all of them together.
func crowd(t *testing.T, s *Store, n int, fn func(i int) error) []error {
	t.Helper()
	running, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Tx(context.Background(), func(context.Context, core.Store) error {
			close(running)
			<-release
			return nil
		})
	})
	<-running
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	coretest.Until(t, "the writes wait", func() bool { return s.facts.Waiting() == n })
	close(release)
	wg.Wait()
	return errs
}

func TestACrowdSharesOneCommit(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	before := s.facts.Commits()
	errs := crowd(t, s, 50, func(i int) error { return s.Meta().Put(t.Context(), fmt.Sprint("k", i), "x") })
	for i, err := range errs {
		if err != nil || !has(t, s, fmt.Sprint("k", i)) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if n := s.facts.Commits() - before; n != 2 { // the holder's and the crowd's
		t.Errorf("%d commits for a crowd of 50", n)
	}
}

func TestOneFailureOfACrowdTakesBackOnlyItself(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	boom := errors.New("boom")
	errs := crowd(t, s, 9, func(i int) error {
		return s.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
			put(ctx, t, tx, fmt.Sprint("k", i))
			switch i % 3 {
			case 1:
				return boom
			case 2:
				panic("a bug")
			}
			return nil
		})
	})
	for i, err := range errs {
		ok := has(t, s, fmt.Sprint("k", i))
		switch i % 3 {
		case 0:
			if err != nil || !ok {
				t.Errorf("caller %d: %v, kept %v", i, err, ok)
			}
		case 1:
			if !errors.Is(err, boom) || ok {
				t.Errorf("caller %d: %v, kept %v", i, err, ok)
			}
		case 2:
			if core.KindOf(err) != core.Internal || !strings.Contains(err.Error(), "a bug") || ok {
				t.Errorf("caller %d: %v, kept %v", i, err, ok)
			}
		}
	}
}

func TestABrokenSavepointRunsEveryoneAgainAlone(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	var mu sync.Mutex
	runs := map[int]int{}
	before := s.facts.Commits()
	errs := crowd(t, s, 5, func(i int) error {
		return s.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
			mu.Lock()
			runs[i]++
			first := runs[i] == 1
			mu.Unlock()
			put(ctx, t, tx, fmt.Sprint("k", i))
			if i == 2 && first {
				// As SQLite does by itself when the disk is full: the whole transaction is gone.
				_, q := tx.(*scope).read(ctx)
				if _, err := q.Exec(ctx, "ROLLBACK"); err != nil {
					t.Errorf("rollback: %v", err)
				}
				return errors.New("broken")
			}
			return nil
		})
	})
	for i, err := range errs {
		if err != nil || !has(t, s, fmt.Sprint("k", i)) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if runs[2] != 2 {
		t.Errorf("the broken one ran %d times", runs[2])
	}
	if n := s.facts.Commits() - before; n != 6 {
		t.Errorf("%d commits, want one each and the holder's", n)
	}
}

func TestAFailedCommitIsHeardByEveryone(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	boom := errors.New("boom")
	errs := crowd(t, s, 4, func(i int) error {
		return s.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
			put(ctx, t, tx, fmt.Sprint("k", i))
			switch i {
			case 0: // a violation that shows only at the commit
				_, q := tx.(*scope).read(ctx)
				if _, err := q.Exec(ctx, "PRAGMA defer_foreign_keys = ON"); err != nil {
					return err
				}
				_, err := q.Exec(ctx, "INSERT INTO agent_archives (agent_id, archive_id) VALUES ('none', 'none')")
				return err
			case 1:
				return boom
			}
			return nil
		})
	})
	for i, err := range errs {
		if err == nil || has(t, s, fmt.Sprint("k", i)) {
			t.Errorf("caller %d: %v", i, err)
		}
		if i == 1 && !errors.Is(err, boom) {
			t.Errorf("caller 1 heard %v instead of its own error", err)
		}
	}
	put(t.Context(), t, s, "later")
}

func TestACallerThatGivesUpBeforeItsTurnWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	running, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Tx(context.Background(), func(context.Context, core.Store) error {
			close(running)
			<-release
			return nil
		})
	})
	<-running
	ctx, cancel := context.WithCancelCause(t.Context())
	answer := make(chan error, 1)
	wg.Go(func() { answer <- s.Meta().Put(ctx, "gone", "x") })
	coretest.Until(t, "the write waits", func() bool { return s.facts.Waiting() == 1 })
	cancel(core.ErrCancelled)
	if err := <-answer; core.KindOf(err) != core.Cancelled { // while the writer is still busy
		t.Errorf("error %v", err)
	}
	close(release)
	wg.Wait()
	put(t.Context(), t, s, "next")
	if has(t, s, "gone") {
		t.Error("it was written all the same")
	}
}

func TestACallerThatHadGivenUpIsTold(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(core.ErrCancelled)
	if err := s.Meta().Put(ctx, "gone", "x"); core.KindOf(err) != core.Cancelled {
		t.Errorf("error %v", err)
	}
	if has(t, s, "gone") {
		t.Error("it was written all the same")
	}
}

func TestACopyThatFailsLeavesNoPart(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	dir := t.TempDir()
	to := filepath.Join(dir, "copy.db")
	if err := os.MkdirAll(filepath.Join(to, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.CopyWhole(t.Context(), s.facts.Readers, to, "copy"); err == nil {
		t.Error("a folder was replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestACancelledCallerDoesNotHarmItsRunningFunction(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Tx(ctx, func(inner context.Context, tx core.Store) error {
		cancel()
		if inner.Err() != nil {
			t.Error("the function's context ended with the caller's")
		}
		put(ctx, t, tx, "k") // even by mistake with the caller's own
		return nil
	})
	if err != nil || !has(t, s, "k") {
		t.Errorf("error %v, kept %v", err, has(t, s, "k"))
	}
}

func TestATransactionOnTheOuterStorePanicsInsideOne(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	var caught any
	err := s.Tx(t.Context(), func(ctx context.Context, _ core.Store) error {
		defer func() { caught = recover() }()
		return s.Meta().Put(ctx, "k", "x")
	})
	if err != nil || caught == nil {
		t.Errorf("error %v, panic %v", err, caught)
	}
}

func TestATransactionIsOfNoUseAfterItsFunction(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	var kept core.Store
	if err := s.Tx(t.Context(), func(_ context.Context, tx core.Store) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("it was used")
		}
	}()
	_ = kept.Meta().Put(t.Context(), "k", "x")
}

func TestAClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Meta().Put(t.Context(), "k", "x"); core.KindOf(err) != core.Unavailable {
		t.Errorf("write: %v", err)
	}
	if _, _, err := s.Meta().Get(t.Context(), "k"); core.KindOf(err) != core.Unavailable {
		t.Errorf("read: %v", err)
	}
	if _, err := matchMessages(t.Context(), s, core.SearchQuery{Text: "word"}, core.MessageFilter{}); core.KindOf(err) != core.Unavailable {
		t.Errorf("search: %v", err)
	}
}

func TestThePragmasHoldOnTheLiveConnections(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	put(t.Context(), t, s, "k")
	type live struct {
		name     string
		get      func(dest any, text string) error
		readOnly bool
	}
	written := func(f *sqlite.File, d any, text string) error {
		return f.Alone(t.Context(), func(ctx context.Context, q *sqlite.Querier) error { return q.Get(ctx, d, text) })
	}
	conns := []live{
		{"facts writer", func(d any, text string) error { return written(s.facts, d, text) }, false},
		{"facts reader", func(d any, text string) error { return s.facts.Readers.GetContext(t.Context(), d, text) }, true},
	}
	for _, c := range conns {
		want := map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": sqlite.BusyTimeoutMillis, "query_only": "0",
		}
		if c.readOnly {
			want["query_only"] = "1"
		}
		for pragma, v := range want {
			var got string
			if err := c.get(&got, "PRAGMA "+pragma); err != nil || got != v {
				t.Errorf("%s: %s = %q (%v), want %q", c.name, pragma, got, err, v)
			}
		}
	}
	if _, err := s.facts.Readers.ExecContext(t.Context(), `DELETE FROM meta`); err == nil {
		t.Error("a reader could write")
	}
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlite.Full, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if n := db.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d writers", n)
	}
}

func TestReadersAndWritersNeverSeeALock(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := newAgent(t, s)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 40 {
				say(t, s, a, i)
			}
		})
		wg.Go(func() {
			for range 40 {
				if _, err := s.Messages().List(t.Context(), core.MessageFilter{Agent: a}, core.Page{Desc: true}); err != nil {
					t.Errorf("list: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 5 {
			if err := WriteBackup(t.Context(), s, filepath.Join(s.cfg.Dir, fmt.Sprint("backup", i))); err != nil {
				t.Errorf("backup: %v", err)
			}
		}
	})
	wg.Wait()
	got, err := s.Agents().Get(t.Context(), a)
	if err != nil || got.MessageCount != 320 {
		t.Errorf("%d messages counted (%v), want 320", got.MessageCount, err)
	}
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

// say appends one message to the agent's default conversation.
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
