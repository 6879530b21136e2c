package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram gives back the pages of the executable file, code and constants, that startup touched: most of that
// is initialisation that never runs again. Pages still needed are mapped again from the page cache on their next use.
// It only touches read-only mappings, so nothing is lost.
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

// readOnlyMapping parses a line of /proc/self/maps: range, permissions, offset, device, inode, path.
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
