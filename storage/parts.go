package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loci/storage/sqlite"
)

// Unfinished is the time of a backup that is being written, or was when its process was killed. Its name has sqlite.PartMark.
const Unfinished = 0

// NoteBackup notes where a copy is before it is there, so that forgetting can tell of it, whatever happens meanwhile.
func NoteBackup(ctx context.Context, q *sqlite.Querier, path string, at sqlite.Micros) error {
	_, err := q.Exec(ctx, `INSERT INTO backups (path, at) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET at = excluded.at`, path, at)
	return sqlite.Classify("note the backup", err)
}

// RemoveParts removes what is left of unfinished backups, while none is being made: inside of Maintain. What cannot be reached stays noted.
func (s *Store) RemoveParts(ctx context.Context) error {
	var parts []string
	if err := s.facts.Read.All(ctx, &parts, `SELECT path FROM backups WHERE at = $1`, Unfinished); err != nil {
		return sqlite.Classify("list unfinished backups", err)
	}
	for _, part := range parts {
		if strings.Contains(filepath.Base(part), sqlite.PartMark) { // whatever the row says, no other file is ours to remove
			sqlite.Remove(part)
		}
		if !Gone(part) {
			continue
		}
		err := s.write(ctx, "note that a backup is gone", func(ctx context.Context, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, `DELETE FROM backups WHERE path = $1`, part)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Gone reports whether a file is not in its folder, which is there: it is not merely on a disk that is not.
func Gone(path string) bool {
	_, err := os.Lstat(path)
	_, above := os.Stat(filepath.Dir(path))
	return errors.Is(err, fs.ErrNotExist) && above == nil
}
