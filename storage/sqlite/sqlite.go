package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"loci/core"
)

// The levels of PRAGMA synchronous: facts must survive a power cut, the other two files need not.
const (
	Full   = "FULL"
	Normal = "NORMAL"
)

// Magic is the first bytes of every SQLite file.
const Magic = "SQLite format 3\x00"

// BusyTimeoutMillis is how long a statement waits for another process.
const BusyTimeoutMillis = "10000"

// dsn names a file with the pragmas that every connection of a pool gets. busy_timeout comes first because switching to
// WAL may already have to wait.
func dsn(path, synchronous string, readOnly bool, pragmas ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	v := url.Values{}
	v.Add("_pragma", "busy_timeout("+BusyTimeoutMillis+")")
	v.Add("_pragma", "journal_mode(WAL)")
	v.Add("_pragma", "foreign_keys(1)")
	v.Add("_pragma", "synchronous("+synchronous+")")
	v.Add("_pragma", "journal_size_limit(67108864)")
	for _, p := range pragmas {
		v.Add("_pragma", p)
	}
	if readOnly {
		v.Add("_pragma", "query_only(1)")
	} else {
		v.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: v.Encode()}
	return u.String()
}

// OpenPool opens a file's writer pool (one connection) or reader pool. The path is made absolute for SQLite's URIs.
func OpenPool(ctx context.Context, path, synchronous string, readOnly bool, pragmas ...string) (*sqlx.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, core.E(core.Internal, "open %s: %w", path, err)
	}
	db, err := sqlx.Open("sqlite", dsn(abs, synchronous, readOnly, pragmas...))
	if err != nil {
		return nil, Classify("open "+filepath.Base(path), err)
	}
	n := 1
	if readOnly {
		n = max(4, runtime.NumCPU())
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, Classify("open "+filepath.Base(path), err)
	}
	return db, nil
}

const hintFull = "the disk is full; free some space and try again"

// Classify turns a driver error into a core.Error with a kind; errors that already have one pass unchanged.
func Classify(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &core.Error{Kind: core.KindOf(err), Op: op, Err: err}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return &core.Error{Kind: core.NotFound, Op: op, Msg: "not found", Err: err}
	}
	if strings.HasPrefix(err.Error(), "sql: Scan error") { // a value that is none of its column's kind; the library has no type for it
		return damaged()
	}
	e := &core.Error{Kind: core.Internal, Op: op, Err: err}
	if IsFull(err) {
		e.Kind, e.Hint = core.Unavailable, hintFull
		return e
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return e
	}
	switch se.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		e.Kind = core.Conflict
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		e.Kind, e.Msg = core.NotFound, "something it refers to does not exist"
	default:
		classifyPrimary(e, se.Code()&0xff)
	}
	return e
}

// IsFull reports whether the disk is full. The shared-memory file beside a write-ahead log has its own error for that.
func IsFull(err error) bool {
	var se *sqlite.Error
	if errors.As(err, &se) {
		return se.Code()&0xff == sqlite3.SQLITE_FULL || se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
	}
	return errors.Is(err, syscall.ENOSPC)
}

func classifyPrimary(e *core.Error, code int) {
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Kind, e.Hint = core.Unavailable, "another program holds the database; try again"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Hint = "the database file is damaged; restore a backup with `loci restore FILE`"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Hint = "check that the data folder exists and can be written"
	}
}

func IsConflict(err error) bool { return core.KindOf(err) == core.Conflict }
