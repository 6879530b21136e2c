package datadir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"loci/storage/sqlite"
)

// Unfinished is the time of a backup that is being written, or was when its process was killed. Its name has sqlite.PartMark.
const Unfinished = 0

// NoteBackup notes where a copy is before it is there, so that forgetting can tell of it, whatever happens meanwhile.
func NoteBackup(ctx context.Context, q *sqlite.Querier, path string, at sqlite.Micros) error {
	_, err := q.Exec(ctx, `INSERT INTO backups (path, at) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET at = excluded.at`, path, at)
	return sqlite.Classify("note the backup", err)
}

// Gone reports whether a file is not in its folder, which is there: it is not merely on a disk that is not.
func Gone(path string) bool {
	_, err := os.Lstat(path)
	_, above := os.Stat(filepath.Dir(path))
	return errors.Is(err, fs.ErrNotExist) && above == nil
}
