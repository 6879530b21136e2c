package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"loci/core/coretest"
)

// start opens a file with a table of numbers.
func start(t *testing.T, path string, hook func(string) error) *File {
	t.Helper()
	db, err := OpenPool(t.Context(), path, Full, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), db, path, Full, hook, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func insert(n int) func(context.Context, *Querier) error {
	return func(ctx context.Context, q *Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO numbers VALUES ($1)`, n)
		return err
	}
}

func numbers(t *testing.T, f *File) []int {
	t.Helper()
	var all []int
	if err := f.Read.All(t.Context(), &all, `SELECT n FROM numbers ORDER BY n`); err != nil {
		t.Fatal(err)
	}
	return all
}

// hold keeps the writer busy until it is released.
func hold(wg *sync.WaitGroup, f *File) (release func()) {
	running, free := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		_ = f.Do(context.Background(), func(context.Context, *Querier) error {
			close(running)
			<-free
			return nil
		})
	})
	<-running
	return func() { close(free) }
}

// TestClosingAnswersEverybodyWhoWaitsForTheWriter: what is answered with nil is stored, and what isn't is refused as closed.
func TestClosingAnswersEverybodyWhoWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	const callers = maxGroup + 40 // more than the queue takes
	stored := map[int]bool{}
	for round := range 10 {
		f := start(t, path, nil)
		var wg sync.WaitGroup
		release := hold(&wg, f)
		errs := make([]error, callers)
		for i := range callers {
			do := f.Do
			if i%50 == 7 {
				do = f.Alone
			}
			wg.Go(func() { errs[i] = do(context.Background(), insert(round*callers+i)) })
		}
		coretest.Until(t, "the queue is full", func() bool { return f.Waiting() == maxGroup })
		wg.Go(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		if round%2 == 0 { // half of the times those that found no place are told before the others
			<-f.w.closing
		}
		release()
		wg.Wait()
		for i, err := range errs {
			if stored[round*callers+i] = err == nil; err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("round %d, caller %d: %v", round, i, err)
			}
		}
	}
	f := start(t, path, nil)
	defer func() { _ = f.Close() }()
	for _, n := range numbers(t, f) {
		if !stored[n] {
			t.Errorf("%d was refused and is stored", n)
		}
		delete(stored, n)
	}
	for n, ok := range stored {
		if ok {
			t.Errorf("%d was acknowledged and is gone", n)
		}
	}
}

var errFault = errors.New("the disk failed")

// TestAFailureOfTheTransactionItselfReachesEverybodyInIt, or is nobody's where each can be run again alone.
func TestAFailureOfTheTransactionItselfReachesEverybodyInIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		nth   int // since the holder runs
		fails bool
	}{
		"begin":            {"BEGIN IMMEDIATE", 1, true},
		"first savepoint":  {"SAVEPOINT job", 1, false},
		"second savepoint": {"SAVEPOINT job", 2, false},
		"release":          {"RELEASE job", 2, false},
		"commit":           {"COMMIT", 2, true}, // the first is the holder's
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			f := start(t, filepath.Join(t.TempDir(), "x.db"), func(text string) error {
				if text == c.text && seen.Add(1) == 0 {
					return errFault
				}
				return nil
			})
			defer func() { _ = f.Close() }()
			var wg sync.WaitGroup
			release := hold(&wg, f)
			seen.Store(int64(-c.nth))
			errs := make([]error, 3)
			for i := range errs {
				wg.Go(func() { errs[i] = f.Do(context.Background(), insert(i)) })
			}
			coretest.Until(t, "the writes wait", func() bool { return f.Waiting() == len(errs) })
			release()
			wg.Wait()
			for i, err := range errs {
				if errors.Is(err, errFault) != c.fails || !c.fails && err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			}
			want := []int{0, 1, 2}
			if c.fails {
				want = nil
			}
			if got := numbers(t, f); !slices.Equal(got, want) {
				t.Errorf("stored %v", got)
			}
			if err := f.Do(t.Context(), insert(9)); err != nil {
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

func TestASavepointThatFailsIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for text, result := range map[string]error{"SAVEPOINT nested1": nil, "RELEASE nested1": nil, "ROLLBACK TO nested1": boom} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := start(t, filepath.Join(t.TempDir(), "x.db"), func(s string) error {
				if s == text {
					return errFault
				}
				return nil
			})
			defer func() { _ = f.Close() }()
			err := f.Scope().Tx(t.Context(), func(ctx context.Context, tx *Scope) error {
				return tx.Tx(ctx, func(ctx context.Context, tx *Scope) error {
					if err := tx.Write(ctx, "insert", insert(1)); err != nil {
						return err
					}
					return result
				})
			})
			if got := numbers(t, f); !errors.Is(err, errFault) || len(got) > 0 {
				t.Errorf("error %v, stored %v", err, got)
			}
		})
	}
}
