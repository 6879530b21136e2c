package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"

	"loci/core"
)

// tempFile is how replaceFile names what is not whole yet.
var tempFile = regexp.MustCompile(`^\.loci-[a-z2-7]{12}\.tmp$`)

// Sweep removes what is left beside the file of a change that the end of the daemon cut off. No change of it may be under way.
func Sweep(c *core.FileChange) error {
	root, err := os.OpenRoot(c.Workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	dir := path.Dir(c.Path)
	entries, err := fs.ReadDir(root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && tempFile.MatchString(e.Name()) {
			err = errors.Join(err, root.Remove(path.Join(dir, e.Name())))
		}
	}
	return err
}
