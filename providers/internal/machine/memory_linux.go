package machine

import (
	"os"
	"strconv"
	"strings"
)

// Unified reports whether models on the graphics processor use the main memory.
const Unified = false

// Memory returns the size of the main memory in bytes.
func Memory() int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return total(string(raw))
}

func total(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return 0
		}
		return n << 10
	}
	return 0
}
