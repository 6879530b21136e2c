package sqlite

import (
	"context"
	"strconv"
)

// Scope is where statements run: outside of a transaction (reads on the readers, each write in a transaction of its own)
// or inside of one.
type Scope struct {
	file  *File
	tx    *Querier // the writer's, inside a transaction; nil outside
	depth int      // of savepoints
	over  bool     // the function it was made for has returned
}

// Scope is the scope outside of a transaction.
func (f *File) Scope() *Scope { return &Scope{file: f} }

// txKey marks the context of a function inside a transaction with its file.
type txKey struct{}

// Tx runs fn in one transaction, or inside of one in a savepoint.
func (s *Scope) Tx(ctx context.Context, fn func(ctx context.Context, tx *Scope) error) error {
	if s.tx == nil {
		return s.outer(ctx, fn)
	}
	return s.savepoint(ctx, fn)
}

// outer hands fn to the writer.
func (s *Scope) outer(ctx context.Context, fn func(ctx context.Context, tx *Scope) error) error {
	if ctx.Value(txKey{}) == s.file {
		panic("storage: a transaction was begun on the outer store from inside a transaction; use the tx it was given")
	}
	return s.file.Do(ctx, func(ctx context.Context, q *Querier) error {
		tx := &Scope{file: s.file, tx: q}
		defer tx.end()
		return fn(context.WithValue(ctx, txKey{}, s.file), tx)
	})
}

// savepoint runs fn so that its error takes back only what it did.
func (s *Scope) savepoint(ctx context.Context, fn func(ctx context.Context, tx *Scope) error) error {
	s.check()
	ctx = context.WithoutCancel(ctx)
	name := "nested" + strconv.Itoa(s.depth+1)
	if _, err := s.tx.Exec(ctx, "SAVEPOINT "+name); err != nil {
		return Classify("savepoint", err)
	}
	inner := &Scope{file: s.file, tx: s.tx, depth: s.depth + 1}
	defer inner.end()
	result := fn(ctx, inner)
	if result != nil {
		if _, err := s.tx.Exec(ctx, "ROLLBACK TO "+name); err != nil {
			return Classify("roll back to savepoint", err)
		}
	}
	if _, err := s.tx.Exec(ctx, "RELEASE "+name); err != nil {
		return Classify("release savepoint", err)
	}
	return result
}

func (s *Scope) end() { s.over = true }

func (s *Scope) check() {
	if s.over {
		panic("storage: a transaction was used after its function returned")
	}
}

// Read returns where to read, and the context for it: inside a transaction a cancelled statement would take the whole
// group with it, so there only the writer decides.
func (s *Scope) Read(ctx context.Context) (context.Context, *Querier) {
	if s.tx == nil {
		return ctx, s.file.Read
	}
	s.check()
	return context.WithoutCancel(ctx), s.tx
}

// Write runs fn in the transaction, or outside in one of its own. op names what was tried in errors.
func (s *Scope) Write(ctx context.Context, op string, fn func(ctx context.Context, q *Querier) error) error {
	if s.tx != nil {
		s.check()
		return Classify(op, fn(context.WithoutCancel(ctx), s.tx))
	}
	return s.outer(ctx, func(ctx context.Context, tx *Scope) error { return Classify(op, fn(ctx, tx.tx)) })
}

// Atomic is Write for what may fail half way: inside a transaction it takes a savepoint.
func (s *Scope) Atomic(ctx context.Context, op string, fn func(ctx context.Context, q *Querier) error) error {
	if s.tx == nil {
		return s.Write(ctx, op, fn)
	}
	return s.savepoint(ctx, func(ctx context.Context, tx *Scope) error { return Classify(op, fn(ctx, tx.tx)) })
}
