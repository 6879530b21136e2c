package sqlite

import (
	"context"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

// PartMark is in the name of a copy that is being written, or was when its process was killed.
const PartMark = ".part-"

// Copy writes a complete copy of a database, readable by its owner only; doing is for the error's text.
func Copy(ctx context.Context, db *sqlx.DB, to, doing string) error {
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return Classify(doing, err)
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return core.E(core.Internal, "%s: %w", doing, err)
	}
	return SyncFile(to)
}

// CopyWhole writes a copy that gets its name only once it is complete.
func CopyWhole(ctx context.Context, db *sqlx.DB, to, doing string) error {
	part := to + PartMark + "copy"
	Remove(part)
	defer Remove(part)
	if err := Copy(ctx, db, part, doing); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return core.E(core.Internal, "%s: %w", doing, err)
	}
	return SyncFile(to)
}

// SyncFile syncs a file and its directory entry to disk.
func SyncFile(path string) error {
	for _, p := range []string{path, filepath.Dir(path)} {
		f, err := os.Open(p)
		if err != nil {
			return core.E(core.Internal, "sync %s: %w", filepath.Base(p), err)
		}
		err = f.Sync()
		_ = f.Close()
		if err != nil && p == path {
			return core.E(core.Internal, "sync %s: %w", filepath.Base(p), err)
		}
	}
	return nil
}

// Remove removes a database and its companion files.
func Remove(path string) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + suffix) // most don't exist
	}
}
