package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"loci/core"
)

// isTemp reports whether replaceFile names so what is not whole yet.
func isTemp(name string) bool {
	word, ours := strings.CutPrefix(name, ".loci-")
	word, whole := strings.CutSuffix(word, ".tmp")
	return ours && whole && len(word) == 12 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

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
		if e.Type().IsRegular() && isTemp(e.Name()) {
			err = errors.Join(err, root.Remove(path.Join(dir, e.Name())))
		}
	}
	return err
}
