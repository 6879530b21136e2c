//go:build unix

package vectors

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapped says whether a file's blocks stay off the heap.
const mapped = true

// mapBlock maps a piece of a file for reading.
func mapBlock(f *os.File, at int64, size int) (mem []byte, free func(), err error) {
	mem, err = unix.Mmap(int(f.Fd()), at, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return mem, func() { _ = unix.Munmap(mem) }, nil
}
