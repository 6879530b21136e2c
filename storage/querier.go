package storage

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/jmoiron/sqlx"
)

// maxStatements bounds the statements a querier keeps compiled. Texts that vary with their input (long IN lists) are
// rare beside the fixed ones; beyond the bound they are compiled for each use.
const maxStatements = 400

// maxStatementText is the longest text of a statement that is kept: one with tens of thousands of ids takes megabytes.
const maxStatementText = 8 << 10

// preparer is a pool or the writer's one connection.
type preparer interface {
	PreparexContext(ctx context.Context, query string) (*sqlx.Stmt, error)
}

// querier runs statements, compiled once each.
type querier struct {
	on   preparer
	hook func(sql string) // sees every statement; may be nil

	mu     sync.Mutex // guards stmts and closed
	stmts  map[string]*sqlx.Stmt
	closed bool
}

func newQuerier(on preparer, hook func(string)) *querier {
	return &querier{on: on, hook: hook, stmts: map[string]*sqlx.Stmt{}}
}

// with runs use on the compiled statement. One that does not stay compiled is closed afterwards.
func (q *querier) with(ctx context.Context, text string, use func(s *sqlx.Stmt) error) error {
	if q.hook != nil {
		q.hook(text)
	}
	q.mu.Lock()
	known, closed := q.stmts[text], q.closed
	q.mu.Unlock()
	if closed {
		return errClosed
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

// keep remembers a statement unless there are enough, another was faster, or the querier is closed.
func (q *querier) keep(text string, s *sqlx.Stmt) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.stmts[text] != nil || len(q.stmts) >= maxStatements || len(text) > maxStatementText {
		return false
	}
	q.stmts[text] = s
	return true
}

// exec returns how many rows it changed.
func (q *querier) exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = q.with(ctx, text, func(s *sqlx.Stmt) error {
		res, err := s.ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}

// get scans one row; sql.ErrNoRows when there is none.
func (q *querier) get(ctx context.Context, dest any, text string, args ...any) error {
	return q.with(ctx, text, func(s *sqlx.Stmt) error { return s.GetContext(ctx, dest, args...) })
}

// find scans one row and reports whether there was one.
func (q *querier) find(ctx context.Context, dest any, text string, args ...any) (bool, error) {
	err := q.get(ctx, dest, text, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// all scans every row into a slice.
func (q *querier) all(ctx context.Context, dest any, text string, args ...any) error {
	return q.with(ctx, text, func(s *sqlx.Stmt) error { return s.SelectContext(ctx, dest, args...) })
}

// each scans every row into dest and calls use after each; what dest points to may be sql.RawBytes.
func (q *querier) each(ctx context.Context, text string, args, dest []any, use func() error) error {
	return q.with(ctx, text, func(s *sqlx.Stmt) error {
		rows, err := s.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what was read is complete or Err says so
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

// named runs a statement with :name placeholders filled from a row struct.
func (q *querier) named(ctx context.Context, text string, row any) (int64, error) {
	bound, args, err := sqlx.BindNamed(sqlx.DOLLAR, text, row)
	if err != nil {
		return 0, err
	}
	return q.exec(ctx, bound, args...)
}

// namedGet is named with one returned value.
func (q *querier) namedGet(ctx context.Context, dest any, text string, row any) error {
	bound, args, err := sqlx.BindNamed(sqlx.DOLLAR, text, row)
	if err != nil {
		return err
	}
	return q.get(ctx, dest, bound, args...)
}

func (q *querier) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.stmts {
		_ = s.Close()
	}
	q.stmts, q.closed = nil, true
}
