package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
)

// How many damaged rows are named, and how many are counted.
const (
	maxNamed   = 20
	maxCounted = 10_000
)

// Damage is the rows of a file that cannot be read.
type Damage struct {
	Named []string // some of them, of every table that has any
	Rows  int
	More  bool // there are more than were counted
}

// String names the rows and says how many others there are.
func (d Damage) String() string {
	named := strings.Join(d.Named, "; ")
	switch others := d.Rows - len(d.Named); {
	case d.More:
		return named + "; and at least " + strconv.Itoa(others) + " more"
	case others > 0:
		return named + "; and " + strconv.Itoa(others) + " more"
	}
	return named
}

// RowCheck reads every row of a table as its store does.
type RowCheck struct {
	table string
	read  func(ctx context.Context, db *sqlx.DB, damaged func(key string, err error) bool) error
}

// Decodes is the check of a table whose rows become nouns; key names a row.
func Decodes[R, N any](table, query string, key func(*R) string, noun func(*R) (N, error)) RowCheck {
	return RowCheck{table, func(ctx context.Context, db *sqlx.DB, damaged func(string, error) bool) error {
		rows, err := db.QueryxContext(ctx, query)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what was read is complete or Err says so
		for n := 1; rows.Next(); n++ {
			var row R
			err := rows.StructScan(&row)
			if err == nil {
				_, err = noun(&row)
			}
			name := cmp.Or(key(&row), fmt.Sprintf("row %d", n)) // what stands before the damaged column is there
			if err != nil && !damaged(name, err) {
				return nil
			}
		}
		return rows.Err()
	}}
}

// FindDamage looks for rows with values that their columns can't hold, and for those that fail one of the checks.
func FindDamage(ctx context.Context, db *sqlx.DB, checks []RowCheck) (Damage, error) {
	misfits, err := Misfits(ctx, db, maxCounted)
	if err != nil {
		return Damage{}, err
	}
	f := findings{known: map[string]bool{}, lines: map[string][]string{}}
	for _, m := range misfits {
		f.add(m.Table, m.Row, m.Why)
	}
	for _, c := range checks {
		if len(f.known) >= maxCounted {
			break
		}
		err := c.read(ctx, db, func(key string, err error) bool {
			f.add(c.table, key+" of "+c.table, err.Error())
			return len(f.known) < maxCounted
		})
		if err != nil {
			return Damage{}, Classify("read "+c.table, err)
		}
	}
	return Damage{Named: f.named(), Rows: len(f.known), More: len(f.known) >= maxCounted}, nil
}

// findings are damaged rows, each once.
type findings struct {
	known  map[string]bool
	tables []string            // in the order they came in
	lines  map[string][]string // of each table, as many as could be named
}

func (f *findings) add(table, row, why string) {
	if f.known[row] {
		return
	}
	f.known[row] = true
	lines, ok := f.lines[table]
	if !ok {
		f.tables = append(f.tables, table)
	}
	if len(lines) < maxNamed {
		f.lines[table] = append(lines, row+": "+why)
	}
}

// named chooses the lines to show: the first of each table, then the second of each, and so on, so that many of one table
// don't hide the others.
func (f *findings) named() []string {
	take, left := map[string]int{}, maxNamed
	for n := 1; n <= maxNamed && left > 0; n++ {
		for _, table := range f.tables {
			if left > 0 && len(f.lines[table]) >= n {
				take[table], left = n, left-1
			}
		}
	}
	var out []string
	for _, table := range f.tables {
		out = append(out, f.lines[table][:take[table]]...)
	}
	return out
}
