package datadir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSizesAreAddedUpByWhatFilesAreFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, n := range map[string]int{
		"loci.db": 5, "loci.db-wal": 6, "index.db": 7, "vectors-1.3.codes": 8, "vectors-2.1.codes": 9, "loci-v3-20260101T000000.db": 10,
		"other": 11,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts, err := Sizes(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, p := range parts {
		got[p.Name] = p.Bytes
		if p.For == "" {
			t.Errorf("nobody is told what %s is for", p.Name)
		}
	}
	if diff := cmp.Diff(map[string]int64{"facts": 11, "index": 7, "vectors": 17, "copies": 10}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Sizes(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has sizes")
	}
}

func TestCopiesMadeBeforeAMigrationAreCountedAsSuch(t *testing.T) {
	t.Parallel()
	if part := partOf(filepath.Base(CopyName(t.TempDir(), 3, time.Unix(0, 0)))); part != 4 {
		t.Errorf("a copy belongs to part %d", part)
	}
}
