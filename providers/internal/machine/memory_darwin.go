package machine

import (
	"encoding/binary"
	"runtime"
	"syscall"
)

// Unified reports whether models on the graphics processor use the main memory.
const Unified = runtime.GOARCH == "arm64"

// Memory returns the size of the main memory in bytes.
func Memory() int64 {
	text, err := syscall.Sysctl("hw.memsize") // the bytes of the number, without the zeros at its end
	if err != nil || len(text) > 8 {
		return 0
	}
	var raw [8]byte
	copy(raw[:], text)
	return int64(binary.LittleEndian.Uint64(raw[:]))
}
