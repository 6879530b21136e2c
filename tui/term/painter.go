package term

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	syncBegin  = ansi.SetModeSynchronizedOutput + ansi.ResetModeTextCursorEnable
	syncEnd    = ansi.ResetModeSynchronizedOutput
	caretShown = ansi.SetModeTextCursorEnable
	wipe       = "\x1b[H\x1b[2J"

	// eraseDown erases everything below in two parts. When told to erase the whole
	// screen from its first cell, terminals that keep cleared text move it into the
	// scrollback, and with it any live region on it.
	eraseDown = "\x1b7\x1b[K\x1b[B\x1b[J\x1b8"
)

// short is a width that fits every terminal the chat is usable in.
const short = 20

// A view is what to show: rows, and the caret's position in them.
type view struct {
	rows     []string
	col, row int
	caret    bool // the caret is visible
	panel    bool // shown on the alternate screen
}

// fit cuts a view to a screen: rows to its width, and rows off the top until
// one row stays free above the region.
func (v view) fit(width, height int) view {
	rows := slices.Clone(v.rows)
	if over := len(rows) - max(height-1, 1); over > 0 && !v.panel {
		rows = rows[over:]
		if len(rows) > 2 {
			rows[0] = CutMark
		}
		v.row = max(v.row-over, 0)
	}
	if v.panel {
		rows = rows[:min(len(rows), height)]
	}
	for i, r := range rows {
		rows[i] = Clip(r, width)
	}
	v.rows = rows
	v.row = max(min(v.row, len(rows)-1), 0)
	v.col = max(min(v.col, width-1), 0)
	return v
}

// region is the live region as last drawn. It moves only relative to the caret,
// never to an absolute position: a terminal whose height changes takes the
// caret along with the rows around it, and reports its new size later. Rows
// below are reached by line feeds: a terminal that became lower may have
// dropped them, and line feeds create them again.
type region struct {
	view
	drawn         bool
	width, height int // of the terminal when it was drawn
}

// wrapped is how many more rows are above the caret than were drawn, because
// the terminal's width changed and it wrapped them.
func (r *region) wrapped(width int) int {
	if !r.drawn || width == r.width {
		return 0
	}
	more := 0
	if r.caret {
		more = r.col / width
	}
	for _, row := range r.rows[:r.row] {
		if w := Width(row); w > width {
			more += (w - 1) / width
		}
	}
	return more
}

// paint returns the sequence that prints lines above the region and makes the
// region look like v.
func (r *region) paint(v view, lines []string, clear bool, width, height int) string {
	v = v.fit(width, height)
	same := r.drawn && !clear && len(lines) == 0 && r.width == width && r.height == height
	var out string
	switch {
	case !same:
		out = r.redraw(v, lines, clear, width)
	case slices.Equal(r.rows, v.rows):
		if r.col != v.col || r.row != v.row || r.caret != v.caret {
			out = move(r.row, v.row) + column(v)
		}
	case r.light(v):
		out = r.patch(v)
	default:
		out = r.rewrite(v)
	}
	*r = region{view: v, drawn: true, width: width, height: height}
	if out == "" {
		return ""
	}
	if v.caret {
		out += caretShown
	}
	return syncBegin + out + syncEnd
}

// redraw draws the whole region, below what is printed.
func (r *region) redraw(v view, lines []string, clear bool, width int) string {
	var b strings.Builder
	switch {
	case clear:
		b.WriteString(wipe)
	case r.drawn:
		b.WriteString(move(r.row+r.wrapped(width), 0) + "\r" + eraseDown)
	default:
		b.WriteString("\r" + eraseDown)
	}
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	b.WriteString(strings.Join(v.rows, "\r\n") + move(len(v.rows)-1, v.row) + column(v))
	return b.String()
}

// rewrite draws the region from the first row that changed.
func (r *region) rewrite(v view) string {
	first := 0
	for first < min(len(r.rows), len(v.rows))-1 && r.rows[first] == v.rows[first] {
		first++
	}
	return move(r.row, first) + "\r" + eraseDown + strings.Join(v.rows[first:], "\r\n") + move(len(v.rows)-1, v.row) + column(v)
}

// light reports whether a patch is safe even if the terminal has become too
// narrow for the region without having said so: the rows that change are all
// short or below the caret.
func (r *region) light(v view) bool {
	if len(r.rows) != len(v.rows) || r.row != v.row {
		return false
	}
	for i, row := range v.rows {
		if row != r.rows[i] && i <= v.row && max(Width(row), Width(r.rows[i])) > short {
			return false
		}
	}
	return true
}

// patch draws the rows that changed. None of them wraps, so the caret returns
// to the row it left.
func (r *region) patch(v view) string {
	var b strings.Builder
	b.WriteString(ansi.ResetModeAutoWrap)
	at := r.row
	for i, row := range v.rows {
		if row == r.rows[i] {
			continue
		}
		b.WriteString(move(at, i) + "\r\x1b[K" + row)
		at = i
	}
	b.WriteString(move(at, v.row) + column(v) + ansi.SetModeAutoWrap)
	return b.String()
}

// erase removes the region and leaves the cursor at its top.
func (r *region) erase(width int) string {
	if !r.drawn {
		return ""
	}
	out := move(r.row+r.wrapped(width), 0) + "\r" + eraseDown + caretShown
	*r = region{}
	return out
}

func move(from, to int) string {
	switch {
	case to < from:
		return ansi.CursorUp(from - to)
	case to > from:
		return strings.Repeat("\n", to-from)
	}
	return ""
}

func column(v view) string { return "\r" + ansi.CursorHorizontalAbsolute(v.col+1) }

// panel is the alternate screen as last drawn.
type panel struct {
	view
	width, height int
}

func (p *panel) paint(v view, width, height int) string {
	v = v.fit(width, height)
	whole := p.width != width || p.height != height
	var b strings.Builder
	if whole {
		b.WriteString(wipe)
	}
	for i := range max(len(v.rows), len(p.rows)) {
		var now, before string
		if i < len(v.rows) {
			now = v.rows[i]
		}
		if i < len(p.rows) {
			before = p.rows[i]
		}
		if now != before || whole && now != "" {
			b.WriteString(ansi.CursorPosition(1, i+1) + "\x1b[K" + now)
		}
	}
	moved := v.col != p.col || v.row != p.row || v.caret != p.caret
	*p = panel{view: v, width: width, height: height}
	if b.Len() == 0 && !moved {
		return ""
	}
	b.WriteString(ansi.CursorPosition(v.col+1, v.row+1))
	if v.caret {
		b.WriteString(caretShown)
	}
	return syncBegin + ansi.ResetModeAutoWrap + b.String() + ansi.SetModeAutoWrap + syncEnd
}
