package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram gives back the pages of the program's own file, code and constants, that starting has touched: most of it
// is initialisation that never runs again. What is still needed is mapped again at its next use, out of the page cache.
// Only mappings that cannot be written are named, so that nothing is lost by it.
func releaseProgram() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		from, until, ok := readOnlyMapping(line, exe)
		if !ok {
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, until-from, syscall.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return nil
}

// readOnlyMapping reads a line of /proc/self/maps: range, rights, offset, device, inode, path.
func readOnlyMapping(line, exe string) (from, until uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[5] != exe || !strings.HasPrefix(fields[1], "r-") {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(low, 16, strconv.IntSize)
	if err != nil {
		return 0, 0, false
	}
	b, err := strconv.ParseUint(high, 16, strconv.IntSize)
	return uintptr(a), uintptr(b), err == nil && a < b
}
