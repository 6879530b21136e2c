package storage_test

import (
	"testing"

	"loci/core"
	"loci/storage/storagetest"
)

func TestSQLiteIsAStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) core.Store {
		t.Helper()
		return storagetest.OpenTest(t)
	})
}
