package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

// counted are the tables whose rows a backup must not have fewer of than the facts had when it began.
func counted() []string {
	return []string{"agents", "blocks", "block_versions", "conversations", "messages", "context", "runs", "steps", "snapshots", "archives", "passages"}
}

// Backup writes a whole, verified copy of the facts to path while the store is in use. The file appears under its name
// only when it has been read back; an existing one is not replaced.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	s.maintenance.Lock()
	defer s.maintenance.Unlock()
	path, err = filepath.Abs(path)
	if err != nil {
		return core.E(core.Invalid, "backup path %q: %w", path, err)
	}
	if err := isFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return core.E(core.Conflict, "%s exists already", path).WithHint("choose another name")
	}
	if err := s.removeParts(ctx); err != nil {
		return err
	}
	before, err := countRows(ctx, s.facts.readerDB)
	if err != nil {
		return err
	}
	temp := path + ".part-" + strconv.FormatInt(s.cfg.Clock().UnixNano(), 36)
	if err := s.noteBackup(ctx, temp, unfinished); err != nil {
		return err
	}
	defer func() {
		if rerr := s.removeParts(context.WithoutCancel(ctx)); err == nil {
			err = rerr
		}
	}()
	if err := s.copyFacts(ctx, temp); err != nil {
		return err
	}
	after, err := verify(ctx, temp)
	if err != nil {
		return err
	}
	for table, n := range before {
		if after[table] < n {
			return core.E(core.Internal, "the backup holds %d rows of %s, the database %d", after[table], table, n)
		}
	}
	if err := s.noteBackup(ctx, path, s.now()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return core.E(core.Internal, "name the backup: %w", err)
	}
	return syncFile(path)
}

// unfinished is the time of a backup that is being written, or was when its process was killed.
const unfinished = 0

// noteBackup notes where a copy is before it is there, so that forgetting can tell of it, whatever happens meanwhile.
func (s *Store) noteBackup(ctx context.Context, path string, at micros) error {
	return s.write(ctx, "note the backup", func(ctx context.Context, q *querier) error {
		_, err := q.exec(ctx, `INSERT INTO backups (path, at) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET at = excluded.at`, path, at)
		return err
	})
}

// removeParts removes what is left of unfinished backups, while none is being made. What cannot be reached stays noted.
func (s *Store) removeParts(ctx context.Context) error {
	var parts []string
	if err := s.facts.r.all(ctx, &parts, `SELECT path FROM backups WHERE at = $1`, unfinished); err != nil {
		return classify("list unfinished backups", err)
	}
	for _, part := range parts {
		removeDB(part)
		if !gone(part) {
			continue
		}
		err := s.write(ctx, "note that a backup is gone", func(ctx context.Context, q *querier) error {
			_, err := q.exec(ctx, `DELETE FROM backups WHERE path = $1`, part)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gone reports whether a file is not in its folder, which is there: it is not merely on a disk that is not.
func gone(path string) bool {
	_, err := os.Lstat(path)
	_, above := os.Stat(filepath.Dir(path))
	return errors.Is(err, fs.ErrNotExist) && above == nil
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
func (s *Store) copyFacts(ctx context.Context, to string) error {
	db, err := openPool(ctx, filepath.Join(s.cfg.Dir, factsFile), syncFull, false)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return vacuumInto(ctx, db, to, "write backup")
}

// vacuumInto writes a whole copy of a database that only its owner can read; doing is for the error's text.
func vacuumInto(ctx context.Context, db *sqlx.DB, to, doing string) error {
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return classify(doing, err)
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return core.E(core.Internal, "%s: %w", doing, err)
	}
	return syncFile(to)
}

// verify reads a copy of the facts: it must be whole and of a schema that this program knows.
func verify(ctx context.Context, path string) (map[string]int, error) {
	db, err := openPool(ctx, path, syncFull, false)
	if err != nil {
		return nil, core.E(core.Invalid, "%s is not a backup of loci: %w", filepath.Base(path), err)
	}
	defer func() { _ = db.Close() }()
	have, _, err := factsSchema().check(ctx, db)
	if core.KindOf(err) == core.Unsupported {
		return nil, err
	}
	if err != nil || have == 0 {
		return nil, core.E(core.Invalid, "%s is not a backup of loci", filepath.Base(path)).WithHint("give a file that `loci backup` wrote")
	}
	var result string
	if err := db.GetContext(ctx, &result, `PRAGMA integrity_check(1)`); err != nil || result != "ok" {
		return nil, core.E(core.Invalid, "%s is damaged: %s", filepath.Base(path), result)
	}
	return countRows(ctx, db)
}

func countRows(ctx context.Context, db *sqlx.DB) (map[string]int, error) {
	counts := map[string]int{}
	for _, table := range counted() {
		var n int
		if err := db.GetContext(ctx, &n, `SELECT COUNT(*) FROM `+table); err != nil {
			return nil, classify("count "+table, err)
		}
		counts[table] = n
	}
	return counts, nil
}

func removeDB(path string) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + suffix) // most do not exist
	}
}

// Restore puts a backup in the place of a home's facts. The store must be closed. What it replaces is kept beside it, and
// its path returned ("" when there was nothing). Run log and index are dropped: they are of another history.
func Restore(ctx context.Context, dir, file string, clock func() time.Time) (kept string, err error) {
	if clock == nil {
		clock = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", core.E(core.Internal, "make the data folder: %w", err)
	}
	path := filepath.Join(dir, factsFile)
	temp := path + ".restore"
	removeDB(temp)
	defer removeDB(temp)
	if err := copyFile(file, temp); err != nil {
		return "", err
	}
	if _, err := verify(ctx, temp); err != nil {
		return "", err
	}
	if err := raiseEpoch(ctx, temp, max(epochOf(ctx, path), epochOf(ctx, temp))+1); err != nil {
		return "", err
	}
	if err := syncFile(temp); err != nil {
		return "", err
	}
	if kept, err = keep(path, clock()); err != nil {
		return kept, err
	}
	removeDB(filepath.Join(dir, indexFile))
	removeDB(filepath.Join(dir, eventsFile))
	removeVectors(dir)
	if err := os.Rename(temp, path); err != nil {
		return kept, core.E(core.Internal, "put the backup in place: %w", err)
	}
	return kept, syncFile(path)
}

// keep gives the present facts a second name; the first one is then replaced in one move, so that at no moment a crash
// leaves a home without facts. A write-ahead log that could not be folded in moves along: it must not meet the new file.
func keep(path string, now time.Time) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	to := path + ".replaced-" + now.UTC().Format("20060102T150405.000000")
	if err := os.Link(path, to); err != nil {
		if err := copyFile(path, to); err != nil {
			return "", err
		}
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return to, core.E(core.Internal, "keep what is replaced: %w", err)
		}
	}
	return to, nil
}

// epochOf returns the epoch of a home's facts, 0 when they cannot be read. Closing the last connection folds the
// write-ahead log into the file.
func epochOf(ctx context.Context, path string) int64 {
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	db, err := openPool(ctx, path, syncFull, false)
	if err != nil {
		return 0
	}
	defer func() { _ = db.Close() }()
	var text string
	if err := db.GetContext(ctx, &text, `SELECT value FROM meta WHERE key = $1`, MetaEpoch); err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func raiseEpoch(ctx context.Context, path string, epoch int64) error {
	db, err := openPool(ctx, path, syncFull, false)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		MetaEpoch, strconv.FormatInt(epoch, 10))
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return classify("raise epoch", err)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		kind := core.Internal
		if errors.Is(err, fs.ErrNotExist) {
			kind = core.NotFound
		}
		return core.E(kind, "read the backup: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return core.E(core.Internal, "copy the backup: %w", err)
	}
	_, err = io.Copy(out, in)
	if serr := out.Sync(); err == nil {
		err = serr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return core.E(core.Internal, "copy the backup: %w", err)
	}
	return nil
}
