package forget

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"loci/core/redact"
)

// batch reads the next rows and keeps those that hold a text; last is where to continue.
func (f *pass) batch(ctx context.Context, p *textPlace, after int64) (rows []textRow, last int64, err error) {
	exprs, filtered := make([]string, len(p.columns)), make([]string, 0, len(p.columns))
	for i, c := range p.columns {
		exprs[i] = "COALESCE(" + c.name + ", '')"
		filtered = append(filtered, c.name)
	}
	clause, args := narrow(f.r, filtered)
	if clause == "" || slices.ContainsFunc(p.columns, func(c column) bool { return c.form.packed() }) {
		clause, args = "1", nil
	}
	extra := p.extra
	if extra == "" {
		extra = "''"
	}
	n := strconv.Itoa(len(args) + 1)
	text := `SELECT rowid, ` + p.id + `, ` + extra + `, ` + strings.Join(
		exprs,
		", ",
	) + ` FROM ` + p.table + ` WHERE rowid > $` + n + ` AND ` + clause +
		` ORDER BY rowid LIMIT ` + strconv.Itoa(
		forgetBatch,
	)
	h := textRow{}
	values := make([]string, len(p.columns))
	dest := []any{&h.row, &h.id, &h.extra}
	for i := range values {
		dest = append(dest, &values[i])
	}
	last = after
	err = f.q.Each(ctx, text, append(args, after), dest, func() error {
		last = h.row
		one := textRow{row: h.row, id: h.id, extra: h.extra, was: map[string]string{}, now: map[string]string{}, set: map[string]any{}}
		hit, err := f.look(p, &one, values)
		if hit {
			rows = append(rows, one)
		}
		return err
	})
	return rows, last, err
}

// maxHints bounds how many parts one statement searches for.
const maxHints = 40

// narrow limits a statement to rows whose columns may hold a text. It may let through rows that don't.
func narrow(r *redact.Redactor, columns []string) (clause string, args []any) {
	hints, fold, ok := r.Parts()
	if !ok || len(hints) > maxHints {
		return "", nil
	}
	var tests []string
	for _, h := range hints {
		if fold {
			h = strings.ToLower(h)
		}
		args = append(args, h)
		for _, c := range columns {
			if fold {
				c = "lower(" + c + ")"
			}
			tests = append(tests, "instr("+c+", $"+strconv.Itoa(len(args))+") > 0")
		}
	}
	return "(" + strings.Join(tests, " OR ") + ")", args
}
