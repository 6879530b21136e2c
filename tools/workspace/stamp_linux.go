package workspace

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
)

// stampOf tells a file apart from what it was, beside its size and time: no program can set these.
func stampOf(info fs.FileInfo) (changed int64, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}

// survey looks at what is in a folder, in half of the time that the library's way takes.
func (f *folder) survey(rel string, began time.Time) ([]named, error) {
	dir, err := f.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(names) > maxEntries:
		return nil, errLarge
	}
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	found := make([]named, 0, len(names))
	err = raw.Control(func(fd uintptr) {
		var st unix.Stat_t
		for _, name := range names {
			if unix.Fstatat(int(fd), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil { // else it went meanwhile
				found = append(found, named{name, stamped(&st, began)})
			}
		}
	})
	return found, err
}

// stamped is seen, of what the system says.
func stamped(st *unix.Stat_t, began time.Time) entry {
	e := entry{size: st.Size, modified: st.Mtim.Nano(), changed: st.Ctim.Nano(), inode: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind = core.PathFile
	case unix.S_IFDIR:
		e.Kind = core.PathFolder
	case unix.S_IFLNK:
		e.Kind = core.PathLink
	default:
		e.Kind = core.PathOther
	}
	if e.Kind == core.PathFile || e.Kind == core.PathFolder {
		e.Mode = fs.FileMode(st.Mode & 0o777)
		for i, mode := range [...]fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
			if st.Mode&(unix.S_ISVTX<<i) != 0 {
				e.Mode |= mode
			}
		}
	}
	e.young = young(&e, began)
	return e
}
