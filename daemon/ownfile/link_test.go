package ownfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"loci/daemon/ownfile"
)

func TestALinkThatLeadsNowhereIsNoMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := os.Symlink(filepath.Join(dir, "gone"), path); err != nil {
		t.Fatal(err)
	}
	if text, err := ownfile.Read(path, 10); err == nil || text != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gone"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ownfile.Read(path, 10); err != nil || string(text) != "x" {
		t.Errorf("a link to a file: %q, %v", text, err)
	}
}
