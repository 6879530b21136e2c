package storage

import (
	"context"
	"strconv"
	"strings"

	"loci/core"
)

// where gathers conditions and their arguments.
type where struct {
	conds []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

// and adds a condition; each ? in it is the next of vals.
func (w *where) and(cond string, vals ...any) {
	w.conds = append(w.conds, w.bind(cond, vals...))
}

func (w *where) bind(cond string, vals ...any) string {
	var b strings.Builder
	for part := range strings.SplitSeq(cond, "?") {
		b.WriteString(part)
		if len(vals) > 0 {
			b.WriteString(w.arg(vals[0]))
			vals = vals[1:]
		}
	}
	return b.String()
}

// list returns placeholders for an IN list.
func list[T any](w *where, vals []T) string {
	names := make([]string, len(vals))
	for i, v := range vals {
		names[i] = w.arg(v)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// in adds "column IN (…)", nothing for an empty list.
func in[T any](w *where, column string, vals []T) {
	if len(vals) > 0 {
		w.conds = append(w.conds, column+" IN "+list(w, vals))
	}
}

func (w *where) String() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// contains returns a LIKE pattern that finds s anywhere, to be used with ESCAPE '\'.
func contains(s string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}

// order is how a list is sorted: two columns that together are unique, so that cursors are stable under equal times.
type order struct {
	table  string // where the cursor's row stands
	cursor string // the column of the cursor's id
	major  string // column names without alias
	minor  string
	alias  string
	noun   string
}

// paged adds the conditions of a page and returns its ORDER BY and LIMIT.
func (o order) paged(ctx context.Context, q *querier, w *where, p core.Page, limit int) (string, error) {
	direction, later, earlier := " ASC", ">", "<"
	if p.Desc {
		direction, later, earlier = " DESC", "<", ">"
	}
	major, minor := o.alias+o.major, o.alias+o.minor
	for _, c := range []struct{ id, cmp string }{{p.After, later}, {p.Before, earlier}} {
		if c.id == "" {
			continue
		}
		at, err := o.find(ctx, q, c.id)
		if err != nil {
			return "", err
		}
		w.and("("+major+", "+minor+") "+c.cmp+" (?, ?)", at.Major, at.Minor)
	}
	if p.Limit > 0 {
		limit = p.Limit
	}
	return " ORDER BY " + major + direction + ", " + minor + direction + " LIMIT " + w.arg(limit), nil
}

// place is where a cursor stands in the order.
type place struct {
	Major any `db:"major"`
	Minor any `db:"minor"`
}

// find looks a cursor up. What was deleted since the last page still marks a place.
func (o order) find(ctx context.Context, q *querier, id string) (place, error) {
	var at place
	ok, err := q.find(ctx, &at, "SELECT "+o.major+" AS major, "+o.minor+" AS minor FROM "+o.table+" WHERE "+o.cursor+" = $1", id)
	if err != nil {
		return at, classify("find cursor", err)
	}
	if !ok {
		return at, core.E(core.NotFound, "the cursor %s does not exist: no such %s", id, o.noun)
	}
	return at, nil
}

// tagged adds the condition that a noun has any or all of some tags, by its join table.
func tagged(w *where, id, table, owner string, tags []string, all bool) {
	if len(tags) == 0 {
		return
	}
	if !all {
		w.conds = append(w.conds, "EXISTS (SELECT 1 FROM "+table+" t WHERE t."+owner+" = "+id+" AND t.tag IN "+list(w, tags)+")")
		return
	}
	for _, tag := range tags {
		w.and("EXISTS (SELECT 1 FROM "+table+" t WHERE t."+owner+" = "+id+" AND t.tag = ?)", tag)
	}
}

// retag replaces the tags of a noun in its join table.
func retag(ctx context.Context, q *querier, table, owner, id string, tags []string, fresh bool) error {
	if !fresh {
		if _, err := q.exec(ctx, "DELETE FROM "+table+" WHERE "+owner+" = $1", id); err != nil {
			return err
		}
	}
	for _, tag := range tags {
		_, err := q.exec(ctx, "INSERT INTO "+table+" ("+owner+", tag) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, tag)
		if err != nil {
			return err
		}
	}
	return nil
}
