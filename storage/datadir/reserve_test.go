package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheReserveSpellsNoText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ReserveFile)
	if err := LayUp(path); err != nil {
		t.Fatal(err)
	}
	room, err := os.ReadFile(path)
	if err != nil || len(room) != reserveBytes {
		t.Fatalf("%d bytes, %v", len(room), err)
	}
	for i, b := range room {
		if b < 0x80 {
			t.Fatalf("byte %d is %q", i, b)
		}
	}
}
