// Package backup writes copies of the facts, reads those of whatever origin, and puts them back.
package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"loci/core"
	"loci/storage"
	"loci/storage/datadir"
	"loci/storage/sqlite"
)

// counted are the tables whose rows a backup must not have fewer of than the facts had when it began.
func counted() []string {
	return []string{
		"agents",
		"blocks",
		"block_versions",
		"conversations",
		"messages",
		"context",
		"runs",
		"steps",
		"snapshots",
		"archives",
		"passages",
		"passage_versions",
		"images",
	}
}

// Write writes a whole, verified copy of the facts to path while the store is in use. The file appears under its name
// only when it has been read back; an existing one is not replaced.
func Write(ctx context.Context, s *storage.Store, path string) error {
	return s.Maintain(ctx, func() error { return write(ctx, s, path) })
}

// Probe reads all facts by writing a verified copy beside path and removing it: nothing of it is left.
func Probe(ctx context.Context, s *storage.Store, path string) error {
	return s.Maintain(ctx, func() error { return copied(ctx, s, path, func(string) error { return nil }) })
}

// write is Write while nobody else makes a backup.
func write(ctx context.Context, s *storage.Store, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return core.E(core.Invalid, "backup path %q: %w", path, err)
	}
	if err := isFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return core.E(core.Conflict, "%s exists already", path).WithHint("choose another name")
	}
	return copied(ctx, s, path, func(temp string) error {
		if err := note(ctx, s, path, sqlite.ToMicros(s.Config().Clock())); err != nil {
			return err
		}
		if err := os.Rename(temp, path); err != nil {
			return core.E(core.Internal, "name the backup: %w", err)
		}
		return sqlite.SyncFile(path)
	})
}

// copied writes a copy beside path, verifies it and hands it to use. What is left of it then is removed.
func copied(ctx context.Context, s *storage.Store, path string, use func(temp string) error) (err error) {
	before, err := countRows(ctx, s.Reader().Get)
	if err != nil {
		return err
	}
	temp := path + sqlite.PartMark + strconv.FormatInt(s.Config().Clock().UnixNano(), 36)
	if err := note(ctx, s, temp, datadir.Unfinished); err != nil {
		return err
	}
	defer func() {
		if rerr := s.RemoveParts(context.WithoutCancel(ctx)); err == nil {
			err = rerr
		}
	}()
	if err := copyFacts(ctx, s, temp); err != nil {
		return err
	}
	if err := unnote(ctx, temp); err != nil {
		return err
	}
	after, err := countWhole(ctx, temp)
	if err != nil {
		return err
	}
	for table, n := range before {
		if after[table] < n {
			return core.E(core.Internal, "the backup holds %d rows of %s, the database %d", after[table], table, n)
		}
	}
	return use(temp)
}

func note(ctx context.Context, s *storage.Store, path string, at sqlite.Micros) error {
	return s.Transact(ctx, func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
		return datadir.NoteBackup(ctx, q, path, at)
	})
}

// unnote takes the note of a copy out of itself, where it tells of a file that never is.
func unnote(ctx context.Context, path string) error {
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, false)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `DELETE FROM backups WHERE path = $1`, path)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return sqlite.Classify("finish the backup", err)
}

// isFolder refuses to write where there is no folder: a missing one is more often a slip than a wish.
func isFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.E(core.NotFound, "there is no folder %s", path).WithHint("make it first")
	case err != nil:
		return core.E(core.Invalid, "the folder of the backup cannot be used: %w", err)
	case !info.IsDir():
		return core.E(core.Invalid, "%s is not a folder", path)
	}
	return nil
}

// copyFacts writes a copy on a connection of its own: readers refuse to write, and the writer has work to do.
func copyFacts(ctx context.Context, s *storage.Store, to string) error {
	db, err := sqlite.OpenPool(ctx, filepath.Join(s.Config().Dir, datadir.FactsFile), sqlite.Full, false)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return sqlite.Copy(ctx, db, to, "write backup")
}

func countRows(ctx context.Context, get func(ctx context.Context, dest any, query string, args ...any) error) (map[string]int, error) {
	counts := map[string]int{}
	for _, table := range counted() {
		var n int
		if err := get(ctx, &n, `SELECT COUNT(*) FROM `+table); err != nil {
			return nil, sqlite.Classify("count "+table, err)
		}
		counts[table] = n
	}
	return counts, nil
}
