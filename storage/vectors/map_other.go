//go:build !unix

package vectors

import (
	"os"
	"unsafe"
)

// mapped says that blocks of a file need no heap.
const mapped = false

// mapBlock reads a piece of a file into the heap: where files cannot be mapped so that they can still be removed.
func mapBlock(f *os.File, at int64, size int) (mem []byte, free func(), err error) {
	room := make([]uint64, (size+7)/8)
	mem = unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), size)
	_, err = f.ReadAt(mem, at)
	return mem, func() {}, err
}
