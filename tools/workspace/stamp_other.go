//go:build !linux

package workspace

import (
	"io/fs"
	"time"
)

// stampOf knows nothing where there are no shell lines.
func stampOf(fs.FileInfo) (changed int64, inode uint64) { return 0, 0 }

// survey looks at what is in a folder.
func (f *folder) survey(rel string, began time.Time) (found []named, err error) {
	entries, err := f.entries(rel)
	for _, d := range entries {
		if info, err := d.Info(); err == nil { // else it went meanwhile
			found = append(found, named{d.Name(), seen(info, began)})
		}
	}
	return found, err
}
