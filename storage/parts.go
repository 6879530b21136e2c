package storage

import (
	"context"
	"path/filepath"
	"strings"

	"loci/storage/datadir"
	"loci/storage/sqlite"
)

// RemoveParts removes what is left of unfinished backups, while none is being made: inside of Maintain. What cannot be reached stays noted.
func (s *Store) RemoveParts(ctx context.Context) error {
	var parts []string
	if err := s.facts.Read.All(ctx, &parts, `SELECT path FROM backups WHERE at = $1`, datadir.Unfinished); err != nil {
		return sqlite.Classify("list unfinished backups", err)
	}
	for _, part := range parts {
		if strings.Contains(filepath.Base(part), sqlite.PartMark) { // whatever the row says, no other file is ours to remove
			sqlite.Remove(part)
		}
		if !datadir.Gone(part) {
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
