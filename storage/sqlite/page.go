package sqlite

import (
	"context"
	"strconv"
	"strings"

	"loci/core"
)

// Where collects conditions and their arguments.
type Where struct {
	conds []string
	Args  []any
}

// Arg adds an argument and returns its placeholder.
func (w *Where) Arg(v any) string {
	w.Args = append(w.Args, v)
	return "$" + strconv.Itoa(len(w.Args))
}

// And adds a condition; each ? in it stands for the next of vals.
func (w *Where) And(cond string, vals ...any) {
	w.conds = append(w.conds, w.Bind(cond, vals...))
}

func (w *Where) Bind(cond string, vals ...any) string {
	var b strings.Builder
	for part := range strings.SplitSeq(cond, "?") {
		b.WriteString(part)
		if len(vals) > 0 {
			b.WriteString(w.Arg(vals[0]))
			vals = vals[1:]
		}
	}
	return b.String()
}

// List returns placeholders for an IN list.
func List[T any](w *Where, vals []T) string {
	names := make([]string, len(vals))
	for i, v := range vals {
		names[i] = w.Arg(v)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// In adds "column IN (…)", nothing for an empty list.
func In[T any](w *Where, column string, vals []T) {
	if len(vals) > 0 {
		w.conds = append(w.conds, column+" IN "+List(w, vals))
	}
}

func (w *Where) String() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// Contains returns a LIKE pattern that finds s anywhere, to be used with ESCAPE '\'.
func Contains(s string) string { return Ending(s) + "%" }

// Ending returns a LIKE pattern that finds s at the end, to be used with ESCAPE '\'.
func Ending(s string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// Order is how a list is sorted: by two columns that together are unique, so that cursors are stable when times are
// equal.
type Order struct {
	Table  string // that has the cursor's row
	Cursor string // the column of the cursor's id
	Major  string // column names without alias
	Minor  string
	Alias  string
	Noun   string
}

// Paged adds the conditions of a page and returns its ORDER BY and LIMIT.
func (o Order) Paged(ctx context.Context, q *Querier, w *Where, p core.Page, limit int) (string, error) {
	direction, later, earlier := " ASC", ">", "<"
	if p.Desc {
		direction, later, earlier = " DESC", "<", ">"
	}
	major, minor := o.Alias+o.Major, o.Alias+o.Minor
	for _, c := range []struct{ id, cmp string }{{p.After, later}, {p.Before, earlier}} {
		if c.id == "" {
			continue
		}
		at, err := o.find(ctx, q, c.id)
		if err != nil {
			return "", err
		}
		w.And("("+major+", "+minor+") "+c.cmp+" (?, ?)", at.Major, at.Minor)
	}
	if p.Limit > 0 {
		limit = p.Limit
	}
	return " ORDER BY " + major + direction + ", " + minor + direction + " LIMIT " + w.Arg(limit), nil
}

// place is the position of a cursor in the order.
type place struct {
	Major any `db:"major"`
	Minor any `db:"minor"`
}

// find looks up a cursor. A row deleted since the last page still marks a place.
func (o Order) find(ctx context.Context, q *Querier, id string) (place, error) {
	var at place
	ok, err := q.Find(ctx, &at, "SELECT "+o.Major+" AS major, "+o.Minor+" AS minor FROM "+o.Table+" WHERE "+o.Cursor+" = $1", id)
	if err != nil {
		return at, Classify("find cursor", err)
	}
	if !ok {
		return at, core.E(core.NotFound, "the cursor %s does not exist: no such %s", id, o.Noun)
	}
	return at, nil
}

// PagedVersions adds the conditions of a page of versions, newest first, and returns its ORDER BY and LIMIT. The cursor is
// the text of a version's number.
func PagedVersions(ctx context.Context, q *Querier, w *Where, table, owner, id string, p core.Page) (string, error) {
	for _, c := range []struct{ cursor, cmp string }{{p.After, "<"}, {p.Before, ">"}} {
		if c.cursor == "" {
			continue
		}
		var at int
		ok, err := q.Find(
			ctx,
			&at,
			"SELECT version FROM "+table+" WHERE "+owner+" = $1 AND CAST(version AS TEXT) = $2",
			id,
			strings.TrimSpace(c.cursor),
		)
		if err != nil {
			return "", Classify("find cursor", err)
		}
		if !ok {
			return "", core.E(core.NotFound, "the cursor %s does not exist: no such version", c.cursor)
		}
		w.And("version "+c.cmp+" ?", at)
	}
	limit := 50
	if p.Limit > 0 {
		limit = p.Limit
	}
	return " ORDER BY version DESC LIMIT " + w.Arg(limit), nil
}

// Tagged adds the condition that a noun has any or all of some tags, using its join table.
func Tagged(w *Where, id, table, owner string, tags []string, all bool) {
	if len(tags) == 0 {
		return
	}
	if !all {
		w.conds = append(w.conds, "EXISTS (SELECT 1 FROM "+table+" t WHERE t."+owner+" = "+id+" AND t.tag IN "+List(w, tags)+")")
		return
	}
	for _, tag := range tags {
		w.And("EXISTS (SELECT 1 FROM "+table+" t WHERE t."+owner+" = "+id+" AND t.tag = ?)", tag)
	}
}

// Retag replaces the tags of a noun in its join table.
func Retag(ctx context.Context, q *Querier, table, owner, id string, tags []string, fresh bool) error {
	if !fresh {
		if _, err := q.Exec(ctx, "DELETE FROM "+table+" WHERE "+owner+" = $1", id); err != nil {
			return err
		}
	}
	for _, tag := range tags {
		_, err := q.Exec(ctx, "INSERT INTO "+table+" ("+owner+", tag) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, tag)
		if err != nil {
			return err
		}
	}
	return nil
}
