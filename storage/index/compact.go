package index

import (
	"context"
	"errors"
	"time"
)

// Compact writes the file anew without unused pages, so that nothing of what was removed is left in it, and empties its
// write-ahead log.
func (x *Index) Compact(ctx context.Context) error {
	return x.use(ctx, func(f *files) error {
		if _, err := f.w.ExecContext(ctx, "VACUUM"); err != nil {
			return err
		}
		return Truncate(ctx, func(ctx context.Context) (bool, error) {
			var row Checkpointed
			err := f.w.GetContext(ctx, &row, Checkpoint)
			return row.Busy != 0, err
		})
	})
}

// Checkpointed is what Checkpoint answers.
type Checkpointed struct {
	Busy  int `db:"busy"`
	Log   int `db:"log"`
	Pages int `db:"checkpointed"`
}

// Checkpoint folds the write-ahead log into the file and empties it.
const Checkpoint = `PRAGMA wal_checkpoint(TRUNCATE)`

const (
	truncateTries = 20
	truncateRest  = 100 * time.Millisecond
)

var errReaders = errors.New("readers keep the write-ahead log from being emptied")

// Truncate repeats a checkpoint until no reader is in its way.
func Truncate(ctx context.Context, checkpoint func(ctx context.Context) (busy bool, err error)) error {
	for range truncateTries {
		busy, err := checkpoint(ctx)
		if err != nil || !busy {
			return err
		}
		timer := time.NewTimer(truncateRest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return errReaders
}
