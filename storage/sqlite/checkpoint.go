package sqlite

import (
	"context"
	"errors"
	"time"
)

// CheckpointResult is the result row of Checkpoint.
type CheckpointResult struct {
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
