package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

// SweepCopies removes what killed migrations left of copies in a folder.
func SweepCopies(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return core.E(core.Internal, "look for copies in %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), CopyPrefix) && strings.Contains(e.Name(), ".db"+sqlite.PartMark) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return core.E(core.Internal, "remove half a copy: %w", err)
			}
		}
	}
	return nil
}

// CopyPrefix is how the names of copies made before a migration begin.
const CopyPrefix = "loci-v"

// CopyName returns the name of a copy made before a migration: the version it holds and when it was made.
func CopyName(dir string, version int64, now time.Time) string {
	name := fmt.Sprintf(CopyPrefix+"%d-%s", version, now.UTC().Format("20060102T150405"))
	path := filepath.Join(dir, name+".db")
	for n := 2; ; n++ {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d.db", name, n))
	}
}
