package storage

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"loci/core"
)

// The levels of PRAGMA synchronous: facts are a promise, the other two files are not.
const (
	syncFull   = "FULL"
	syncNormal = "NORMAL"
)

const busyTimeoutMillis = "10000"

// dsn names a file with the pragmas that every connection of a pool gets. busy_timeout comes first: switching to WAL
// may already have to wait.
func dsn(path, synchronous string, readOnly bool, pragmas ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	v := url.Values{}
	v.Add("_pragma", "busy_timeout("+busyTimeoutMillis+")")
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

// indexCache is how much a connection to the index keeps of it: a search touches a thousand pages, and those above the
// leaves are always the same.
const indexCache = "cache_size(-8192)"

// openPool opens the writer pool (one connection) or the reader pool of a file. The path is made absolute, for SQLite's URIs.
func openPool(ctx context.Context, path, synchronous string, readOnly bool, pragmas ...string) (*sqlx.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, core.E(core.Internal, "open %s: %w", path, err)
	}
	db, err := sqlx.Open("sqlite", dsn(abs, synchronous, readOnly, pragmas...))
	if err != nil {
		return nil, classify("open "+filepath.Base(path), err)
	}
	n := 1
	if readOnly {
		n = max(4, runtime.NumCPU())
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, classify("open "+filepath.Base(path), err)
	}
	return db, nil
}

// classify turns an error of the driver into one of a kind; errors that already have one pass unchanged.
func classify(op string, err error) error {
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
	e := &core.Error{Kind: core.Internal, Op: op, Err: err}
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

func classifyPrimary(e *core.Error, code int) {
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Kind, e.Hint = core.Unavailable, "another program holds the database; try again"
	case sqlite3.SQLITE_FULL:
		e.Kind, e.Hint = core.Unavailable, "the disk is full; free some space and try again"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Hint = "the database file is damaged; restore a backup with `loci restore FILE`"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Hint = "check that the data folder exists and can be written"
	}
}

func isConflict(err error) bool { return core.KindOf(err) == core.Conflict }
