package backup

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
	"loci/storage"
	"loci/storage/datadir"
	"loci/storage/migrations"
	"loci/storage/sqlite"
	"loci/storage/view"
)

// Restoration is a backup that was read whole and may take the place of a home's facts.
type Restoration struct {
	path    string // of the copy, which is ready to be used
	Waiting []Held
	Ended   int // runs that were under way when the backup was made, and don't go on
}

// Prepare copies a backup, which may be anybody's, into the folder dir and accepts it only whole: the schema that the
// migrations make and nothing more, references and rows that can be read, values of a sane size. The copy is brought to the
// newest schema, and it holds no path outside of the home that anything would act on: see Held. dir is on the same disk as
// the home, and its owner removes it.
func Prepare(ctx context.Context, dir, file string) (*Restoration, error) {
	if err := checkHeader(file); err != nil {
		return nil, err
	}
	r := &Restoration{path: filepath.Join(dir, datadir.FactsFile)}
	if err := copyFile(ctx, file, r.path); err != nil {
		return nil, err
	}
	db, err := sqlite.OpenPool(ctx, r.path, sqlite.Full, false, distrust)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, notBackup(file)
	}
	err = r.accept(ctx, db, file)
	if cerr := db.Close(); err == nil {
		err = sqlite.Classify("close the copy of the backup", cerr)
	}
	if err == nil {
		err = sqlite.SyncFile(r.path)
	}
	return r, err
}

func (r *Restoration) accept(ctx context.Context, db *sqlx.DB, file string) error {
	if err := checkCopy(ctx, db, file); err != nil {
		return err
	}
	if err := checkCells(ctx, db, file, maxCell); err != nil {
		return err
	}
	if _, err := migrations.Facts().Migrate(ctx, db, nil); err != nil {
		return err
	}
	damaged, err := storage.DamagedRows(ctx, db)
	if err != nil {
		return err
	}
	if damaged.Rows > 0 {
		return core.E(core.Invalid, "%s is damaged: %s", file, damaged.Named[0]).WithHint("use an older backup")
	}
	return r.disarm(ctx, db)
}

// disarm takes from the copy what would act by itself: what it names outside of the home waits, its unfinished runs end, and no
// file is put back. What files held is not in a backup, and it could name any file of the machine.
func (r *Restoration) disarm(ctx context.Context, db *sqlx.DB) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return sqlite.Classify("disarm the backup", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if r.Waiting, err = hold(ctx, tx); err != nil {
		return err
	}
	if r.Ended, err = storage.RestoreRuns(ctx, tx); err != nil {
		return err
	}
	for _, drop := range []string{`DELETE FROM file_changes`, `UPDATE rewinds SET unfinished = FALSE WHERE unfinished`} {
		if _, err := tx.ExecContext(ctx, drop); err != nil {
			return sqlite.Classify("disarm the backup", err)
		}
	}
	return sqlite.Classify("disarm the backup", tx.Commit())
}

// Put replaces the facts of the home in dir, whose store must be closed. What it replaces is kept beside it, and its path
// returned ("" when there was nothing). Run log and index are dropped: they are of another history.
func (r *Restoration) Put(ctx context.Context, dir string, clock func() time.Time) (kept string, err error) {
	if clock == nil {
		clock = time.Now
	}
	path := filepath.Join(dir, datadir.FactsFile)
	if err := raiseEpoch(ctx, r.path, max(epochOf(ctx, path), epochOf(ctx, r.path))+1); err != nil {
		return "", err
	}
	if err := sqlite.SyncFile(r.path); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", sqlite.Classify("restore", context.Cause(ctx))
	}
	// From here on it is a few renames, which are not interrupted.
	if kept, err = keep(context.WithoutCancel(ctx), path, clock()); err != nil {
		return kept, err
	}
	sqlite.Remove(filepath.Join(dir, datadir.IndexFile))
	sqlite.Remove(filepath.Join(dir, datadir.EventsFile))
	view.RemoveVectors(dir)
	if err := os.Rename(r.path, path); err != nil {
		return kept, core.E(core.Internal, "put the backup in place: %w", err)
	}
	return kept, sqlite.SyncFile(path)
}

// keep gives the present facts a second name; the first one is then replaced in one move, so that at no moment a crash
// leaves a home without facts. A write-ahead log that could not be folded in moves along: it must not meet the new file.
func keep(ctx context.Context, path string, now time.Time) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	to := path + ".replaced-" + now.UTC().Format("20060102T150405.000000")
	if err := os.Link(path, to); err != nil {
		if err := copyFile(ctx, path, to); err != nil {
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
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, false)
	if err != nil {
		return 0
	}
	defer func() { _ = db.Close() }()
	var text string
	if err := db.GetContext(ctx, &text, `SELECT value FROM meta WHERE key = $1`, storage.MetaEpoch); err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func raiseEpoch(ctx context.Context, path string, epoch int64) error {
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, false)
	if err != nil {
		return err
	}
	err = setMeta(ctx, db, storage.MetaEpoch, strconv.FormatInt(epoch, 10))
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return sqlite.Classify("raise epoch", err)
}

func setMeta(ctx context.Context, on sqlx.ExecerContext, key, value string) error {
	_, err := on.ExecContext(
		ctx,
		`INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key,
		value,
	)
	return sqlite.Classify("put meta", err)
}

// copyFile copies a file until the context ends.
func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		kind := core.Internal
		if errors.Is(err, fs.ErrNotExist) {
			kind = core.NotFound
		}
		return core.E(kind, "read the backup: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read from
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return core.E(core.Internal, "copy the backup: %w", err)
	}
	_, err = io.Copy(out, &untilEnd{ctx, io.LimitReader(in, maxBackup)})
	if serr := out.Sync(); err == nil {
		err = serr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return sqlite.Classify("copy the backup", err)
}

// untilEnd reads until the context ends.
type untilEnd struct {
	ctx context.Context //nolint:containedctx // a reader's method has no place for it
	r   io.Reader
}

func (u *untilEnd) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
