package storage

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// openLog is a run log alone; its writer counts its transactions.
func openLog(t *testing.T) *EventLog {
	t.Helper()
	l, err := tryEvents(t.Context(), filepath.Join(t.TempDir(), eventsFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func delta(run, seq int) core.Event {
	return core.Event{Run: core.RunID(fmt.Sprint("run-", run)), Seq: int64(seq), At: time.Unix(int64(seq), 0), Body: core.Notice{Kind: "test", Text: "word"}}
}

func TestRule7AnIdleAppendIsOneTransactionAtOnce(t *testing.T) {
	t.Parallel()
	events := openLog(t)
	began := events.f.w.commits.Load()
	for i := 1; i <= 3; i++ {
		if err := events.Append(t.Context(), delta(1, i)); err != nil {
			t.Fatal(err)
		}
		if got := events.f.w.commits.Load() - began; int(got) != i {
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
		err := events.f.w.do(t.Context(), func(context.Context, *querier) error {
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
	for ticker := time.NewTicker(time.Millisecond); len(events.f.w.jobs) < runs; {
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal("the appends never came to wait")
		}
	}
	before := events.f.w.commits.Load()
	close(goOn)
	all.Wait()
	if got := events.f.w.commits.Load() - before; got > 3 { // the one under way, then all that waited
		t.Errorf("%d events took %d transactions", runs*each, got)
	}
	for run := range runs {
		got, err := events.Read(t.Context(), core.RunID(fmt.Sprint("run-", run)), 0, 0)
		if err != nil || len(got) != each {
			t.Fatalf("run %d has %d events, %v", run, len(got), err)
		}
	}
}
