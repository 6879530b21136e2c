package contents

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll brings all of a folder to disk, with what else its file system has not written yet.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
