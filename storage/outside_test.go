package storage_test

import (
	"context"

	"loci/storage"
	"loci/storage/backup"
)

func init() { //nolint:gochecknoinits // the tests inside of the package cannot import what imports it
	storage.WriteBackup = backup.Write
	storage.RestoreBackup = func(ctx context.Context, dir, trial, file string) (string, error) {
		r, err := backup.Prepare(ctx, trial, file)
		if err != nil {
			return "", err
		}
		return r.Put(ctx, dir, nil)
	}
}
