package storage

import (
	"context"
	"testing"
)

// What storage/backup does, which imports this package: a test outside of it fills it in.
var (
	WriteBackup   func(ctx context.Context, s *Store, path string) error
	RestoreBackup func(ctx context.Context, dir, trial, file string) (kept string, err error)
)

// restore puts a backup in the place of a home's facts.
func restore(t *testing.T, dir, file string) (kept string, err error) {
	t.Helper()
	return RestoreBackup(t.Context(), dir, t.TempDir(), file)
}
