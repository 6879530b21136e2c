package view

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"loci/storage/vectors"
)

func TestOnlyCodeFilesAreRemovedToBeMadeAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{VectorFiles + "1" + vectors.Ending, VectorFiles + "notes.txt", "mine" + vectors.Ending, "loci.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveVectors(dir)
	RemoveVectors(filepath.Join(dir, "none"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"loci.db", "mine" + vectors.Ending, VectorFiles + "notes.txt"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}
