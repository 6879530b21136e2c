package index

import (
	"context"

	"loci/storage/sqlite"
)

// Compact rewrites the file without unused pages, so nothing removed is left in it, and empties its write-ahead log.
func (x *Index) Compact(ctx context.Context) error {
	return x.use(func(f *files) error {
		if _, err := f.w.ExecContext(ctx, "VACUUM"); err != nil {
			return err
		}
		return sqlite.Truncate(ctx, func(ctx context.Context) (bool, error) {
			var row sqlite.CheckpointResult
			err := f.w.GetContext(ctx, &row, sqlite.Checkpoint)
			return row.Busy != 0, err
		})
	})
}
