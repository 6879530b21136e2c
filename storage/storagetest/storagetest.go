// Package storagetest holds what tests need of storage: a store on a temporary folder, and the suite that every
// implementation of core.Store has to pass.
package storagetest

import (
	"testing"

	"loci/storage"
)

// OpenTest opens a store in a temporary folder and closes it with the test.
func OpenTest(t testing.TB) *storage.Store {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}
