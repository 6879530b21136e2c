package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/jmoiron/sqlx"
)

// maxStatements bounds how many compiled statements a querier keeps. Texts that vary with their input (long IN lists)
// are rare compared to fixed ones; beyond the bound they are compiled on each use.
const maxStatements = 400

// maxStatementText is the longest statement text that is kept: one with tens of thousands of ids takes megabytes.
const maxStatementText = 8 << 10

// preparer is a pool or the writer's single connection.
type preparer interface {
	PreparexContext(ctx context.Context, query string) (*sqlx.Stmt, error)
}

// Querier runs statements, compiled once each.
type Querier struct {
	on   preparer
	hook func(sql string) error // sees every statement and may refuse it; may be nil

	mu     sync.Mutex // guards stmts and closed
	stmts  map[string]*sqlx.Stmt
	closed bool
}

func NewQuerier(on preparer, hook func(string) error) *Querier {
	return &Querier{on: on, hook: hook, stmts: map[string]*sqlx.Stmt{}}
}

// With runs use on the compiled statement. A statement that isn't kept is closed afterwards.
func (q *Querier) With(ctx context.Context, text string, use func(s *sqlx.Stmt) error) error {
	if q.hook != nil {
		if err := q.hook(text); err != nil {
			return err
		}
	}
	q.mu.Lock()
	known, closed := q.stmts[text], q.closed
	q.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if known != nil {
		return use(known)
	}
	s, err := q.on.PreparexContext(ctx, text)
	if err != nil {
		return err
	}
	if !q.keep(text, s) {
		defer func() { _ = s.Close() }()
	}
	return use(s)
}

// keep caches a statement unless the cache is full, another caller was faster, or the querier is closed.
func (q *Querier) keep(text string, s *sqlx.Stmt) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.stmts[text] != nil || len(q.stmts) >= maxStatements || len(text) > maxStatementText {
		return false
	}
	q.stmts[text] = s
	return true
}

// Exec returns how many rows were changed.
func (q *Querier) Exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = q.With(ctx, text, func(s *sqlx.Stmt) error {
		res, err := s.ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}

// Get scans one row; sql.ErrNoRows if there is none.
func (q *Querier) Get(ctx context.Context, dest any, text string, args ...any) error {
	return q.With(ctx, text, func(s *sqlx.Stmt) error { return s.GetContext(ctx, dest, args...) })
}

// Find scans one row and reports whether there was one.
func (q *Querier) Find(ctx context.Context, dest any, text string, args ...any) (bool, error) {
	err := q.Get(ctx, dest, text, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// All scans every row into a slice.
func (q *Querier) All(ctx context.Context, dest any, text string, args ...any) error {
	return q.With(ctx, text, func(s *sqlx.Stmt) error { return s.SelectContext(ctx, dest, args...) })
}

// Each scans every row into dest and calls use after each one; dest may point to sql.RawBytes.
func (q *Querier) Each(ctx context.Context, text string, args, dest []any, use func() error) error {
	return q.With(ctx, text, func(s *sqlx.Stmt) error {
		rows, err := s.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // rows.Err reports an incomplete read
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				return err
			}
			if err := use(); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// BatchBytes bounds the texts that are read at once for the index or for embedding; one that is longer comes alone.
const BatchBytes = 8 << 20

// ReadUpTo scans rows while their texts together, as size counts them, have at most so many bytes, and the first in any
// case; more says that it left some.
func ReadUpTo[R any](
	ctx context.Context,
	q *Querier,
	most int,
	size func(*R) int,
	text string,
	args ...any,
) (rows []R, more bool, err error) {
	err = q.With(ctx, text, func(s *sqlx.Stmt) error {
		found, err := s.QueryxContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { _ = found.Close() }() // what was read is complete or Err says so
		for found.Next() {
			var row R
			if err := found.StructScan(&row); err != nil {
				return err
			}
			most -= size(&row)
			if more = most < 0 && len(rows) > 0; more {
				return nil
			}
			rows = append(rows, row)
		}
		return found.Err()
	})
	return rows, more, err
}

// Named runs a statement with :name placeholders filled from a row struct.
func (q *Querier) Named(ctx context.Context, text string, row any) (int64, error) {
	bound, args, err := sqlx.BindNamed(sqlx.DOLLAR, text, row)
	if err != nil {
		return 0, err
	}
	return q.Exec(ctx, bound, args...)
}

// NamedGet is Named for a statement that returns one value.
func (q *Querier) NamedGet(ctx context.Context, dest any, text string, row any) error {
	bound, args, err := sqlx.BindNamed(sqlx.DOLLAR, text, row)
	if err != nil {
		return err
	}
	return q.Get(ctx, dest, bound, args...)
}

func (q *Querier) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.stmts {
		_ = s.Close()
	}
	q.stmts, q.closed = nil, true
}
