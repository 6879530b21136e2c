package permission

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds how many links one path may go through.
const maxLinks = 40

// Real returns where an absolute path leads through links, also where its last part doesn't exist yet: a link that
// leads nowhere is followed, because writing to it makes what it names. Empty: it can't be said.
func Real(path string) string {
	volume := filepath.VolumeName(path)
	rest := split(path[len(volume):])
	reached := volume + string(filepath.Separator)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			reached = filepath.Dir(reached)
			continue
		}
		if name == "." || name == "" {
			continue
		}
		next := filepath.Join(reached, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			reached = next
			continue
		case err != nil:
			return ""
		case info.Mode()&fs.ModeSymlink == 0:
			reached = next
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		target, err := os.Readlink(next)
		if err != nil {
			return ""
		}
		if filepath.IsAbs(target) {
			reached = filepath.VolumeName(target) + string(filepath.Separator)
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return reached
}
