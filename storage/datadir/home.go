// Package datadir is the folder of a home's data, without what is in its files: what they are called and how large they are,
// what must not be missing, what is laid up for a full disk, and which copies of it are elsewhere.
package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"loci/core"
	"loci/storage/migrations"
	"loci/storage/runlog"
	"loci/storage/view"
)

// The files of a home.
const (
	FactsFile  = migrations.File
	EventsFile = runlog.File
	IndexFile  = view.File
)

// CheckEmptied refuses facts that are missing, or without a byte, beside files that only come after them: somebody's memory
// is gone, and a fresh home in its place would hide that. A first opening that was killed leaves none of them: the
// facts have their first page before their write-ahead log begins, which SQLite removes where they have none.
func CheckEmptied(dir string) error {
	size := func(names ...string) (bytes int64) {
		for _, name := range names {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				bytes += info.Size()
			}
		}
		return bytes
	}
	path := filepath.Join(dir, FactsFile)
	after := size(FactsFile+"-wal", EventsFile, EventsFile+"-wal", IndexFile, IndexFile+"-wal")
	if size(FactsFile) > 0 || after == 0 {
		return nil
	}
	_, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	what := "empty"
	if missing {
		what = "missing"
	}
	return core.E(core.Internal, "%s is %s, but the files beside it are not: what it held is lost", path, what).
		WithHint("restore a backup with `loci restore FILE`, or delete the folder %s to begin anew", dir)
}
