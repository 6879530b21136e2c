package ownfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/ownfile"
)

func TestAFileIsReadUpToItsBound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.toml")
	if text, err := ownfile.Read(path, 10); text != nil || err != nil {
		t.Errorf("no file: %q, %v", text, err)
	}
	for size, fits := range map[int]bool{0: true, 10: true, 11: false} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := ownfile.Read(path, 10)
		if fits && (err != nil || len(text) != size || text == nil) || !fits && core.KindOf(err) != core.Invalid {
			t.Errorf("%d bytes: %q, %v", size, text, err)
		}
	}
	if _, err := ownfile.Read(os.DevNull, 10); core.KindOf(err) != core.Invalid {
		t.Errorf("a device: %v", err)
	}
}

func TestAFileIsReplacedWhole(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "a.toml")
	for _, text := range []string{"one", "two"} {
		if err := ownfile.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	if names, err := os.ReadDir(dir); len(names) != 1 || err != nil {
		t.Errorf("beside it: %v, %v", names, err)
	}
}
