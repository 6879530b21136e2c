//go:build !linux

package contents

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// syncAll brings all of a folder to disk, one file after the other.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // it made room
			return nil
		}
		return err
	})
}
