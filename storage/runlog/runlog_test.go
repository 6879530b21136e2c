package runlog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
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

// openLog is a run log alone; its writer counts its transactions.
func openLog(t *testing.T) *Log {
	t.Helper()
	l, err := tryOpen(t.Context(), filepath.Join(t.TempDir(), File), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func delta(run, seq int) core.Event {
	return core.Event{
		Run:  core.RunID(fmt.Sprint("run-", run)),
		Seq:  int64(seq),
		At:   time.Unix(int64(seq), 0),
		Body: core.Notice{Kind: "test", Text: "word"},
	}
}

func TestRule7AnIdleAppendIsOneTransactionAtOnce(t *testing.T) {
	t.Parallel()
	events := openLog(t)
	began := events.f.Commits()
	for i := 1; i <= 3; i++ {
		if err := events.Append(t.Context(), delta(1, i)); err != nil {
			t.Fatal(err)
		}
		if got := events.f.Commits() - began; int(got) != i {
			t.Fatalf("after %d appends: %d transactions", i, got)
		}
	}
}

func TestRule7AppendsThatWaitShareTransactions(t *testing.T) {
	t.Parallel()
	const runs, each = 64, 1
	events := openLog(t)
	busy, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { // a transaction that is under way
		err := events.f.Do(t.Context(), func(context.Context, *sqlite.Querier) error {
			close(busy)
			<-goOn
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-busy
	for run := range runs {
		all.Go(func() {
			for seq := 1; seq <= each; seq++ {
				if err := events.Append(t.Context(), delta(run, seq)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	coretest.Until(t, "the appends wait", func() bool { return events.f.Waiting() >= runs })
	before := events.f.Commits()
	close(goOn)
	all.Wait()
	if got := events.f.Commits() - before; got > 3 { // the one under way, then all that waited
		t.Errorf("%d events took %d transactions", runs*each, got)
	}
	for run := range runs {
		got, err := events.Read(t.Context(), core.RunID(fmt.Sprint("run-", run)), 0, 0)
		if err != nil || len(got) != each {
			t.Fatalf("run %d has %d events, %v", run, len(got), err)
		}
	}
}

func TestARunLogThatIsDamagedInItsMidstIsPutAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for run := range 200 {
		if err := l.Append(
			t.Context(),
			core.Event{
				Run:  core.RunID(fmt.Sprint("run-", run)),
				Seq:  1,
				Body: core.Notice{Kind: "test", Text: strings.Repeat("word ", 100)},
			},
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, File)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage"), int(info.Size()/14)), info.Size()/2)
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	db, err := sqlite.OpenPool(t.Context(), path, sqlite.Normal, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := lookThrough(t.Context(), db, 1); err != nil {
		t.Errorf("a look that has no time: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = Open(t.Context(), Config{Dir: dir, Clock: time.Now, Logger: slog.New(slog.DiscardHandler), look: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for run := range 200 { // as a start takes up runs that were under way
		if _, _, err := l.Last(t.Context(), core.RunID(fmt.Sprint("run-", run))); err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
	}
	kept, err := filepath.Glob(path + ".broken-*")
	if err != nil || len(kept) == 0 {
		t.Errorf("nothing kept: %v", err)
	}
}

func TestThePragmasHoldOnTheLiveConnections(t *testing.T) {
	t.Parallel()
	l := openLog(t)
	written := func(d any, text string) error {
		return l.f.Alone(t.Context(), func(ctx context.Context, q *sqlite.Querier) error { return q.Get(ctx, d, text) })
	}
	read := func(d any, text string) error { return l.f.Readers.GetContext(t.Context(), d, text) }
	for _, pragma := range []struct{ name, writer, reader string }{
		{"journal_mode", "wal", "wal"},
		{"synchronous", "1", "1"},
		{"foreign_keys", "1", "1"},
		{"busy_timeout", sqlite.BusyTimeoutMillis, sqlite.BusyTimeoutMillis},
		{"query_only", "0", "1"},
	} {
		var writer, reader string
		werr, rerr := written(&writer, "PRAGMA "+pragma.name), read(&reader, "PRAGMA "+pragma.name)
		if werr != nil || rerr != nil || writer != pragma.writer || reader != pragma.reader {
			t.Errorf("%s: the writer has %q (%v), the reader %q (%v)", pragma.name, writer, werr, reader, rerr)
		}
	}
}

func TestAnEmptiedLogHasNoBytesLeft(t *testing.T) {
	t.Parallel()
	events := openLog(t)
	long := delta(1, 1)
	long.Body = core.Notice{Kind: "test", Text: strings.Repeat("word ", 200_000)}
	if err := events.Append(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if err := events.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seq, _, err := events.Last(t.Context(), long.Run); seq != 0 || err != nil {
		t.Errorf("its last event is %d, %v", seq, err)
	}
	var pages int
	if err := events.f.Read.Get(t.Context(), &pages, `SELECT page_count FROM pragma_page_count()`); err != nil || pages > 50 {
		t.Errorf("%d pages are left, %v", pages, err)
	}
}
