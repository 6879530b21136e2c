//go:build !unix

package vectors

import (
	"os"
	"unsafe"
)

// mapped says whether a file's blocks stay off the heap.
const mapped = false

// mapBlock reads a piece of a file into the heap, on systems where a mapped file couldn't be removed.
func mapBlock(f *os.File, at int64, size int) (mem []byte, free func(), err error) {
	room := make([]uint64, (size+7)/8)
	mem = unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), size)
	_, err = f.ReadAt(mem, at)
	return mem, func() {}, err
}
