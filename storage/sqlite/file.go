package sqlite

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// File is one SQLite file with its writer and readers.
type File struct {
	Read     *Querier // for reads outside of transactions
	Readers  *sqlx.DB
	w        *writer
	writerDB *sqlx.DB
}

// Start opens the readers and starts the writer of a file whose writer pool is open.
func Start(ctx context.Context, writerDB *sqlx.DB, path, synchronous string, hook func(string) error, after func()) (*File, error) {
	readers, err := OpenPool(ctx, path, synchronous, true)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, writerDB, hook, after)
	if err != nil {
		_ = readers.Close()
		return nil, err
	}
	return &File{w: w, Read: NewQuerier(readers, hook), writerDB: writerDB, Readers: readers}, nil
}

// Do runs fn in a transaction and returns after its commit.
func (f *File) Do(ctx context.Context, fn func(ctx context.Context, q *Querier) error) error {
	return f.w.do(ctx, fn)
}

// Alone runs fn while nobody else writes, but not in a transaction, for what SQLite doesn't do inside one.
func (f *File) Alone(ctx context.Context, fn func(ctx context.Context, q *Querier) error) error {
	return f.w.bare(ctx, fn)
}

// Commits returns how many transactions were committed.
func (f *File) Commits() int64 { return f.w.commits.Load() }

// Waiting returns how many functions are waiting for the writer.
func (f *File) Waiting() int { return len(f.w.jobs) }

// Close waits for pending writes. The readers close first, so that the writer's connection is the last one and folds the
// write-ahead log into the file.
func (f *File) Close() error {
	f.w.close()
	f.Read.Close()
	err := f.Readers.Close()
	if werr := f.writerDB.Close(); err == nil {
		err = werr
	}
	return err
}

// Vacuum rewrites the file without unused pages and empties the write-ahead log. No other writes run meanwhile.
func (f *File) Vacuum(ctx context.Context) error {
	err := f.Alone(ctx, func(ctx context.Context, q *Querier) error {
		_, err := q.Exec(ctx, "VACUUM")
		return err
	})
	if err != nil {
		return Classify("write the file anew", err)
	}
	return Truncate(ctx, func(ctx context.Context) (busy bool, err error) {
		err = f.Alone(ctx, func(ctx context.Context, q *Querier) error {
			var row CheckpointResult
			err := q.Get(ctx, &row, Checkpoint)
			busy = row.Busy != 0
			return err
		})
		return busy, Classify("empty the write-ahead log", err)
	})
}
