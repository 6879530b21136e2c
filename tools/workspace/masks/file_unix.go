//go:build unix

package masks

import (
	"io/fs"
	"syscall"
)

// file is what all names of a file have in common.
type file struct{ device, inode uint64 }

// identify returns which file an entry is, and whether that has several names.
func identify(e fs.DirEntry) (file, bool) {
	info, err := e.Info()
	if err != nil {
		return file{}, false // it is gone
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return file{}, false
	}
	return file{uint64(st.Dev), st.Ino}, true //nolint:unconvert // the types differ between systems
}
