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
	leastReserve = 256 << 10 // with which an opening succeeds
)

// LayUp makes the reserve if it is not there, a smaller one where the disk has no more room.
func LayUp(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	room := make([]byte, reserveBytes)
	_, err := rand.Read(room) // no file system makes that much smaller
	for i := range room {
		room[i] |= 0x80 // no letter: by chance it would spell a text that was forgotten
	}
	for size := reserveBytes; err == nil && size >= leastReserve; size /= 2 {
		werr := os.WriteFile(path, room[:size], 0o600)
		if werr == nil {
			return nil
		}
		_ = os.Remove(path) // half of it is of no use
		if size/2 < leastReserve {
			err = werr
		}
	}
	return core.E(core.Internal, "lay up %s: %w", path, err)
}
