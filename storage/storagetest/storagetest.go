// Package storagetest holds what tests need of storage: a store on a temporary folder, and the suite that every
// implementation of core.Store has to pass.
package storagetest

import (
	"testing"

	"loci/core/finder"
	"loci/storage"
)

// OpenTest opens a store in a temporary folder and closes it with the test.
func OpenTest(tb testing.TB) *storage.Store {
	tb.Helper()
	s, err := storage.Open(tb.Context(), storage.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	return s
}

// Search returns what finds texts in a store, by words alone.
func Search(s finder.Store) *finder.Finder { return finder.New(finder.Config{Store: s}) }
