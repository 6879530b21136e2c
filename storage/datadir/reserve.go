package datadir

import (
	"crypto/rand"
	"os"

	"loci/core"
)

// The reserve is room on the disk: what three write-ahead logs need to begin, and the little that an opening writes.
const (
	ReserveFile  = "reserve"
	reserveBytes = 1 << 20
)

// LayUp makes the reserve if it is not there.
func LayUp(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	room := make([]byte, reserveBytes)
	_, err := rand.Read(room) // no file system makes that much smaller
	for i := range room {
		room[i] |= 0x80 // no letter: by chance it would spell a text that was forgotten
	}
	if err == nil {
		err = os.WriteFile(path, room, 0o600)
	}
	if err != nil {
		_ = os.Remove(path) // half of it is of no use
		return core.E(core.Internal, "lay up %s: %w", path, err)
	}
	return nil
}
