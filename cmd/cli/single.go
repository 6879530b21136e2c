package cli

import (
	"slices"
	"time"
	"unicode/utf8"
)

// A list of records takes one row for each, so that it can be read down: where a terminal is too narrow for that, times
// become shorter, texts and names are cut, and spare columns are left out. Ids stay whole, because they are to be copied. A
// wider terminal, a pipe and --json have everything.

// cuttable are the columns that may be cut, in this order, and what is left of them at least.
func cuttable() []struct {
	head  string
	least int
} {
	return []struct {
		head  string
		least int
	}{{"TEXT", 20}, {"TAGS", 8}, {"MODEL", 8}, {"AGENT", 8}, {"NAME", 12}}
}

// narrowed returns a table whose rows fit a width on one line each, and the widths of its columns; not ok: they cannot. Its
// cells are on one line already.
func (t *table) narrowed(width int, now time.Time) (out table, widths []int, ok bool) {
	short := table{head: t.head}
	for _, row := range t.rows {
		row = slices.Clone(row)
		for i, cell := range row {
			row[i] = shortTime(cell, now)
		}
		short.rows = append(short.rows, row)
	}
	for spared := 0; spared <= len(t.spare); spared++ {
		out = short.without(t.spare[:spared])
		if widths, ok = out.cutTo(width); ok {
			return out, widths, true
		}
	}
	return out, nil, false
}

// without is the table without some columns.
func (t *table) without(heads []string) table {
	keep := func(row []string) (out []string) {
		for i, cell := range row {
			if !slices.Contains(heads, t.head[i]) {
				out = append(out, cell)
			}
		}
		return out
	}
	out := table{head: keep(t.head)}
	for _, row := range t.rows {
		out.rows = append(out.rows, keep(row))
	}
	return out
}

// cutTo cuts cells until all columns fit, if they can. Of a model, the end says most.
func (t *table) cutTo(width int) (widths []int, ok bool) {
	widths = columnWidths(t.head, t.rows)
	for _, c := range cuttable() {
		i := slices.Index(t.head, c.head)
		over := total(widths) - width
		if i < 0 || over <= 0 {
			continue
		}
		widths[i] = min(widths[i], max(widths[i]-over, c.least, cellWidth(c.head)))
		for _, row := range t.rows {
			if c.head == "MODEL" {
				row[i] = cutFront(row[i], widths[i])
			}
		}
	}
	return widths, total(widths) <= width
}

// shortTime is a time as it is listed, in as few words as possible; everything else stays.
func shortTime(cell string, now time.Time) string {
	at, err := time.ParseInLocation(listedTime, cell, time.Local)
	switch {
	case err != nil:
		return cell
	case at.Format(time.DateOnly) == now.Local().Format(time.DateOnly):
		return at.Format("15:04")
	case at.Year() == now.Local().Year():
		return at.Format("2 Jan 15:04")
	}
	return at.Format("2 Jan 2006")
}

// cutFront shortens a text to its last n columns.
func cutFront(s string, n int) string {
	if cellWidth(s) <= n {
		return s
	}
	for cellWidth(s) > n-1 {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return "…" + s
}
