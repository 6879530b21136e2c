package storage_test

import (
	"testing"

	"loci/storage/storagetest"
)

func TestSQLiteIsAStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) storagetest.Store {
		t.Helper()
		return storagetest.OpenTest(t)
	})
}

func TestAStatementThatFailsLeavesNothingByHalf(t *testing.T) {
	t.Parallel()
	storagetest.RunFaults(t)
}
