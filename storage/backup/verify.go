package backup

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage"
	"loci/storage/migrations"
	"loci/storage/sqlite"
)

// The bounds of a backup, whoever made it.
const (
	maxBackup = 64 << 30  // bytes
	maxCell   = 256 << 20 // bytes of one value
	maxSchema = 1 << 20   // bytes of one statement of the schema
)

// The first bytes of an SQLite file: the magic, then the size of its pages, where 1 stands for 65536.
const (
	headerBytes = 100
	pageSizeAt  = 16
)

// distrust keeps SQL of the schema from calling functions that have effects.
const distrust = "trusted_schema(0)"

const hintBackup = "give the path of a file that `loci backup` wrote"

// checkHeader looks at a file before anything of it is copied or opened as a database.
func checkHeader(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.E(core.NotFound, "there is no file %s", path).WithHint(hintBackup)
	case err != nil:
		return core.E(core.Invalid, "the backup cannot be read: %w", err).WithHint(hintBackup)
	case !info.Mode().IsRegular():
		return core.E(core.Invalid, "%s is not a file", path).WithHint(hintBackup)
	case info.Size() > maxBackup:
		return core.E(core.Invalid, "%s has %d GB, more than the %d GB that a backup may have", path, info.Size()>>30, maxBackup>>30).
			WithHint(hintBackup)
	}
	f, err := os.Open(path)
	if err != nil {
		return core.E(core.Forbidden, "the backup cannot be read: %w", err).WithHint(hintBackup)
	}
	defer func() { _ = f.Close() }() // it was only read from
	head := make([]byte, headerBytes)
	_, err = io.ReadFull(f, head)
	page := int64(binary.BigEndian.Uint16(head[pageSizeAt:]))
	if page == 1 {
		page = 65536
	}
	if err != nil || !bytes.HasPrefix(head, []byte(sqlite.Magic)) || page < 512 || info.Size()%page != 0 {
		return notBackup(path)
	}
	return nil
}

func notBackup(path string) *core.Error {
	return core.E(core.Invalid, "%s is not a backup of loci, or is damaged", path).WithHint(hintBackup)
}

// checkCopy reads a whole copy of the facts, of whatever origin. Its schema comes first: until that is known to be what the
// migrations make, statement by statement, no statement runs that could start a trigger or read a view of somebody else's.
func checkCopy(ctx context.Context, db *sqlx.DB, path string) error {
	have, _, err := migrations.Facts().Check(ctx, db)
	if core.KindOf(err) == core.Unsupported || ctx.Err() != nil {
		return err
	}
	if err != nil || have == 0 {
		return notBackup(path)
	}
	if err := checkSchema(ctx, db, path); err != nil {
		return err
	}
	if err := checkIntegrity(ctx, db, path); err != nil {
		return err
	}
	var table string
	err = db.QueryRowxContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table)
	if err == nil {
		return core.E(core.Invalid, "%s is damaged: rows of %s refer to others that are not there", path, table).
			WithHint("use an older backup")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return sqlite.Classify("check references", err)
	}
	return nil
}

// maxFaults bounds how many faults of a file are looked at.
const maxFaults = 1000

// checkIntegrity refuses a file whose structure is damaged. Rows that only lack a value are named with the other damaged ones.
func checkIntegrity(ctx context.Context, db *sqlx.DB, path string) error {
	var faults []string
	err := db.SelectContext(ctx, &faults, `PRAGMA integrity_check(`+strconv.Itoa(maxFaults)+`)`)
	if err != nil && ctx.Err() != nil {
		return sqlite.Classify("check the copy", err)
	}
	all := len(faults)
	faults = slices.DeleteFunc(faults, func(f string) bool { return f == "ok" || strings.HasPrefix(f, "NULL value in ") })
	switch {
	case err != nil:
		faults = []string{err.Error()}
	case all >= maxFaults:
		faults = append(faults, "it has too many faults to look at")
	}
	if len(faults) > 0 {
		return core.E(core.Invalid, "%s is damaged: %s", path, faults[0]).WithHint("use an older backup")
	}
	return nil
}

// checkSchema compares a file's schema with that of a fresh home after the same migrations, in the order of the file.
func checkSchema(ctx context.Context, db *sqlx.DB, path string) error {
	other := core.E(core.Invalid, "%s is not a backup of loci: its schema is not one that loci made", path).WithHint(hintBackup)
	var applied []struct {
		Version int64 `db:"version_id"`
		Applied bool  `db:"is_applied"`
	}
	if err := db.SelectContext(ctx, &applied, `SELECT version_id, is_applied FROM goose_db_version ORDER BY id LIMIT 1000`); err != nil {
		return classifyOr(ctx, err, other)
	}
	fresh, err := sqlx.Open("sqlite", ":memory:")
	if err != nil {
		return sqlite.Classify("make a schema to compare with", err)
	}
	defer func() { _ = fresh.Close() }()
	fresh.SetMaxOpenConns(1) // each connection would be a database of its own
	provider, err := migrations.Facts().Provider(fresh)
	if err != nil {
		return err
	}
	for _, a := range applied {
		if a.Version == 0 {
			continue
		}
		if _, err := provider.ApplyVersion(ctx, a.Version, true); err != nil || !a.Applied {
			return classifyOr(ctx, err, other)
		}
	}
	want, err := statements(ctx, fresh)
	if err != nil {
		return err
	}
	have, err := statements(ctx, db)
	if err != nil || !slices.Equal(want, have) {
		return classifyOr(ctx, err, other)
	}
	return nil
}

// classifyOr is the end of the context, or else what is told of any other error.
func classifyOr(ctx context.Context, err error, otherwise *core.Error) error {
	if ctx.Err() != nil && err != nil {
		return sqlite.Classify("check the schema", err)
	}
	return otherwise
}

// statements is the schema of a file, in an order of its own.
func statements(ctx context.Context, db *sqlx.DB) ([]string, error) {
	var out []string
	err := db.SelectContext(
		ctx,
		&out,
		`SELECT type || ' ' || name || ' ' || tbl_name || ' ' || substr(COALESCE(sql, ''), 1, $1) FROM sqlite_master
		ORDER BY 1 LIMIT 1000`,
		maxSchema,
	)
	return out, sqlite.Classify("read the schema", err)
}

// countWhole checks a copy that this store made, and counts its rows.
func countWhole(ctx context.Context, path string) (map[string]int, error) {
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, false, distrust)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := checkCopy(ctx, db, path); err != nil {
		return nil, err
	}
	return countRows(ctx, db.GetContext)
}

// checkCells refuses values that are larger than anything that loci writes, before any of them is read, and then those that
// their columns can't hold. The schema says which there are: it has been compared with ours.
func checkCells(ctx context.Context, db sqlx.QueryerContext, path string, most int64) error {
	var columns []struct {
		Table string `db:"t"`
		Name  string `db:"name"`
	}
	err := sqlx.SelectContext(ctx, db, &columns, `SELECT m.name AS t, c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	if err != nil {
		return sqlite.Classify("list the columns", err)
	}
	sizes := map[string][]string{}
	for _, c := range columns {
		sizes[c.Table] = append(sizes[c.Table], `COALESCE(octet_length("`+c.Name+`"), 0)`)
	}
	for table, of := range sizes {
		var found int64
		text := `SELECT COALESCE(MAX(max(0, ` + strings.Join(of, ", ") + `)), 0) FROM "` + table + `"`
		if err := sqlx.GetContext(ctx, db, &found, text); err != nil {
			return sqlite.Classify("measure "+table, err)
		}
		if found > most {
			return core.E(core.Invalid, "%s is not a backup of loci: a value in %s has %d MB", filepath.Base(path), table, found>>20).
				WithHint(hintBackup)
		}
	}
	if err := checkCounters(ctx, db, path); err != nil {
		return err
	}
	misfits, err := sqlite.Misfits(ctx, db, 1)
	if err == nil && len(misfits) > 0 {
		err = core.E(core.Invalid, "%s is damaged: %s: %s", path, misfits[0].Row, misfits[0].Why).WithHint("use an older backup")
	}
	return err
}

// checkCounters refuses counters that are no numbers.
func checkCounters(ctx context.Context, db sqlx.QueryerContext, path string) error {
	for table, text := range map[string]string{
		"sqlite_sequence": `SELECT COUNT(*) FROM sqlite_sequence
			WHERE typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND ` + sqlite.MaxNumber,
		"meta": `SELECT COUNT(*) FROM meta WHERE key = '` + storage.MetaEpoch + `' AND
			(value <> CAST(CAST(value AS INTEGER) AS TEXT) OR CAST(value AS INTEGER) NOT BETWEEN 0 AND ` + sqlite.MaxNumber + `)`,
	} {
		var n int
		if err := sqlx.GetContext(ctx, db, &n, text); err != nil {
			return sqlite.Classify("look at "+table, err)
		}
		if n > 0 {
			return noRoom(path, table)
		}
	}
	return nil
}

func noRoom(path, table string) error {
	return core.E(core.Invalid, "%s is not a backup of loci: a number in %s leaves no room to count on", filepath.Base(path), table).
		WithHint(hintBackup)
}
