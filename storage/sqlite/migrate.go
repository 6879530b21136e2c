package sqlite

import (
	"context"
	"database/sql"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"loci/core"
)

// Schema holds the migrations of one file.
type Schema struct {
	Name   string // of the file, for error messages
	Root   fs.FS
	Folder string
	Steps  map[int64]Step // those that SQL can't express
}

// Step is a migration in Go. It changes rows, never the schema, because the schema of a restored backup is compared with
// the SQL.
type Step func(ctx context.Context, tx *sql.Tx) error

// newest returns the newest version that this binary knows.
func (s Schema) newest() (int64, error) {
	entries, err := fs.ReadDir(s.Root, s.Folder)
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
	for n := range s.Steps {
		newest = max(newest, n)
	}
	return newest, nil
}

// version returns a file's schema version, 0 if it is empty.
func (s Schema) version(ctx context.Context, db *sqlx.DB) (int64, error) {
	var tables int
	if err := db.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master WHERE name = 'goose_db_version'`); err != nil {
		return 0, Classify("read "+s.Name, err)
	}
	if tables == 0 {
		return 0, nil
	}
	var version int64
	err := db.GetContext(ctx, &version, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`)
	return version, Classify("read "+s.Name, err)
}

// Check returns a file's version and refuses one written by a newer program.
func (s Schema) Check(ctx context.Context, db *sqlx.DB) (have, newest int64, err error) {
	if newest, err = s.newest(); err != nil {
		return 0, 0, err
	}
	if have, err = s.version(ctx, db); err != nil {
		return 0, 0, err
	}
	if have > newest {
		return have, newest, core.E(core.Unsupported, "%s was written by a newer version of loci: its schema is %d, "+
			"this program knows up to %d", s.Name, have, newest).
			WithHint("install the newer version again, or restore an older backup with `loci restore FILE`")
	}
	return have, newest, nil
}

// complete reports whether a file has every migration: two that were written in parallel may have been applied in either
// order.
func (s Schema) complete(ctx context.Context, db *sqlx.DB, have int64) (bool, error) {
	if have == 0 {
		return false, nil
	}
	entries, err := fs.ReadDir(s.Root, s.Folder)
	if err != nil {
		return false, core.E(core.Internal, "read migrations: %w", err)
	}
	var applied int
	err = db.GetContext(ctx, &applied, `SELECT COUNT(DISTINCT version_id) FROM goose_db_version WHERE is_applied AND version_id > 0`)
	return applied == len(entries)+len(s.Steps), Classify("read "+s.Name, err)
}

// Migrate brings a file to the newest schema. It copies an existing file beside it first and returns the copy's path.
func (s Schema) Migrate(ctx context.Context, db *sqlx.DB, copyTo func(version int64) string) (string, error) {
	have, newest, err := s.Check(ctx, db)
	if err != nil {
		return "", err
	}
	if done, err := s.complete(ctx, db, have); err != nil || done {
		return "", err
	}
	kept := ""
	if have > 0 && copyTo != nil {
		kept = copyTo(have)
		if err := CopyWhole(ctx, db, kept, "copy "+s.Name+" before its migration"); err != nil {
			return "", err
		}
	}
	provider, err := s.Provider(db)
	if err != nil {
		return "", err
	}
	if _, err := provider.Up(ctx); err != nil {
		return "", core.E(core.Internal, "migrate %s from version %d to %d: %w", s.Name, have, newest, err)
	}
	return kept, nil
}

// Provider returns what applies a file's migrations.
func (s Schema) Provider(db *sqlx.DB) (*goose.Provider, error) {
	folder, err := fs.Sub(s.Root, s.Folder)
	if err != nil {
		return nil, core.E(core.Internal, "read migrations: %w", err)
	}
	var steps []*goose.Migration
	for n, run := range s.Steps {
		steps = append(steps, goose.NewGoMigration(n, &goose.GoFunc{RunTx: run}, nil))
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, folder,
		goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true), goose.WithGoMigrations(steps...))
	if err != nil {
		return nil, core.E(core.Internal, "prepare migration of %s: %w", s.Name, err)
	}
	return provider, nil
}
