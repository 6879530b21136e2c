package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

// Micros is a time as stored: microseconds since 1970; 0 means no time.
type Micros int64

func ToMicros(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	return Micros(t.UnixMicro())
}

// The times that JSON can tell: it has four digits for a year.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)

// Time is the time, or the nearest that JSON can tell: a column may hold any number, and one must not end a list.
func (m Micros) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(min(max(int64(m), earliest), latest)).UTC()
}

// Encode returns the JSON column of a noun.
func Encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", core.E(core.Internal, "encode a row: %w", err)
	}
	return string(b), nil
}

func Decode(data string, v any) error {
	if err := json.Unmarshal([]byte(data), v); err != nil {
		return damaged()
	}
	return nil
}

const hintDamaged = "`loci doctor` checks the database file"

func damaged() *core.Error { return core.E(core.Internal, "%w", core.ErrDamaged).WithHint(hintDamaged) }

// NameDamage says which row is damaged, if that is the error.
func NameDamage(err error, noun, id string) error {
	err = Classify("get "+noun, err)
	if errors.Is(err, core.ErrDamaged) {
		err = core.E(core.Internal, "%s %s cannot be read: %w", noun, id, core.ErrDamaged).WithHint(hintDamaged)
	}
	return err
}

// One maps the row of a query to its noun. Of a damaged row it returns what can be read, with an error that names it.
func One[R, N any](ctx context.Context, q *Querier, noun, id string, f func(*R) (N, error), text string, args ...any) (n N, err error) {
	var row R
	found, err := q.Find(ctx, &row, text, args...)
	if err == nil && !found {
		return n, NotFound(noun, id)
	}
	if err = NameDamage(err, noun, id); core.IgnoreDamage(err) != nil {
		return n, err
	}
	n, unread := f(&row)
	if err == nil {
		err = NameDamage(unread, noun, id)
	}
	return n, err
}

// NotFound returns the error for something that doesn't exist.
func NotFound(noun string, id string) error {
	return core.E(core.NotFound, "%s %s does not exist", noun, id)
}

// Convert maps rows to nouns.
func Convert[R, N any](rows []R, f func(*R) (N, error)) ([]N, error) {
	out := make([]N, 0, len(rows))
	for i := range rows {
		n, err := f(&rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// Whole maps the rows of a query to nouns. Rows that are damaged are left out and counted: one of them must not take what
// stands beside it along.
func Whole[R, N any](ctx context.Context, q *Querier, f func(*R) (N, error), text string, args ...any) (whole []N, damaged int, err error) {
	err = q.With(ctx, text, func(s *sqlx.Stmt) error {
		rows, err := s.QueryxContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what was read is complete or Err says so
		whole = []N{}
		for rows.Next() {
			var row R
			var n N
			err := rows.StructScan(&row) // SQLite keeps a text in any column
			if err == nil {
				n, err = f(&row)
			}
			if err != nil {
				damaged++
				continue
			}
			whole = append(whole, n)
		}
		return rows.Err()
	})
	return whole, damaged, err
}

// WholePage is Whole for a query whose last argument is its limit: what follows takes the place of damaged rows, so that a
// page that isn't full is still the last one.
func WholePage[R, N any](ctx context.Context, q *Querier, f func(*R) (N, error), text string, args ...any) ([]N, int, error) {
	last := len(args) - 1
	most, ok := args[last].(int)
	if !ok {
		return nil, 0, core.E(core.Internal, "the last argument of a page is %v, which is no limit", args[last])
	}
	args = slices.Clone(args)
	for limit := most; ; {
		args[last] = limit
		whole, damaged, err := Whole(ctx, q, f, text, args...)
		if err != nil || len(whole) >= most || len(whole)+damaged < limit {
			return whole[:min(most, len(whole))], damaged, err
		}
		limit = most + 2*damaged
	}
}

// chunkSize bounds how many ids one statement names.
const chunkSize = 500

// Chunks are parts of a list that are short enough for one statement.
func Chunks[T any](all []T) iter.Seq[[]T] { return slices.Chunk(all, chunkSize) }
