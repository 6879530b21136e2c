package storage

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"loci/core"
)

//go:embed migrations
var migrations embed.FS

// schema is the migrations of one file.
type schema struct {
	name   string // of the file, for messages
	root   fs.FS
	folder string
}

func factsSchema() schema {
	return schema{name: factsFile, root: migrations, folder: "migrations/sqlite"}
}

func eventsSchema() schema {
	return schema{name: eventsFile, root: migrations, folder: "migrations/sqlite_events"}
}

// newest returns the version that this binary knows.
func (s schema) newest() (int64, error) {
	entries, err := fs.ReadDir(s.root, s.folder)
	if err != nil {
		return 0, core.E(core.Internal, "read migrations: %w", err)
	}
	var newest int64
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, core.E(core.Internal, "migration %s has no number", e.Name())
		}
		newest = max(newest, n)
	}
	return newest, nil
}

// version returns the schema version of a file, 0 of an empty one.
func (s schema) version(ctx context.Context, db *sqlx.DB) (int64, error) {
	var tables int
	if err := db.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master WHERE name = 'goose_db_version'`); err != nil {
		return 0, classify("read "+s.name, err)
	}
	if tables == 0 {
		return 0, nil
	}
	var version int64
	err := db.GetContext(ctx, &version, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`)
	return version, classify("read "+s.name, err)
}

// check returns the version of a file and refuses one that a newer program wrote.
func (s schema) check(ctx context.Context, db *sqlx.DB) (have, newest int64, err error) {
	if newest, err = s.newest(); err != nil {
		return 0, 0, err
	}
	if have, err = s.version(ctx, db); err != nil {
		return 0, 0, err
	}
	if have > newest {
		return have, newest, core.E(core.Unsupported, "%s was written by a newer version of loci: its schema is %d, this program knows up to %d", s.name, have, newest).
			WithHint("install the newer version again, or restore an older backup with `loci restore FILE`")
	}
	return have, newest, nil
}

// complete reports whether a file has every migration: two that were written side by side may come in either order.
func (s schema) complete(ctx context.Context, db *sqlx.DB, have int64) (bool, error) {
	if have == 0 {
		return false, nil
	}
	entries, err := fs.ReadDir(s.root, s.folder)
	if err != nil {
		return false, core.E(core.Internal, "read migrations: %w", err)
	}
	var applied int
	err = db.GetContext(ctx, &applied, `SELECT COUNT(DISTINCT version_id) FROM goose_db_version WHERE is_applied AND version_id > 0`)
	return applied == len(entries), classify("read "+s.name, err)
}

// migrate brings a file to the newest schema. An existing file is copied beside it first; the copy's path is returned.
func (s schema) migrate(ctx context.Context, db *sqlx.DB, copyTo func(version int64) string) (string, error) {
	have, newest, err := s.check(ctx, db)
	if err != nil {
		return "", err
	}
	if done, err := s.complete(ctx, db, have); err != nil || done {
		return "", err
	}
	kept := ""
	if have > 0 && copyTo != nil {
		kept = copyTo(have)
		if err := vacuumInto(ctx, db, kept, "copy "+s.name+" before its migration"); err != nil {
			return "", err
		}
	}
	folder, err := fs.Sub(s.root, s.folder)
	if err != nil {
		return "", core.E(core.Internal, "read migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, folder, goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true))
	if err != nil {
		return "", core.E(core.Internal, "prepare migration of %s: %w", s.name, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return "", core.E(core.Internal, "migrate %s from version %d to %d: %w", s.name, have, newest, err)
	}
	return kept, nil
}

// copyPrefix is how the names of copies made before a migration begin.
const copyPrefix = "loci-v"

// copyName returns the name of a copy made before a migration: the version it holds and when it was made.
func copyName(dir string, version int64, now time.Time) string {
	name := fmt.Sprintf(copyPrefix+"%d-%s", version, now.UTC().Format("20060102T150405"))
	path := filepath.Join(dir, name+".db")
	for n := 2; ; n++ {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d.db", name, n))
	}
}

// syncFile makes a file and its name in the folder durable.
func syncFile(path string) error {
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
