package transcript

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"loci/tui/term"
)

// around is how many unchanged lines are shown beside a change.
const around = 2

// Difference is what changes between two texts, line by line. The zero value is no change.
type Difference struct {
	lines          []diffLine
	added, removed int
}

// diffLine is a line of a difference: ' ' in both, '-' removed, '+' added. Lines that are left out between two are a gap.
type diffLine struct {
	mark byte
	text string
}

// gap stands where lines are left out.
const gap = '~'

// Differ compares two texts. Where they are too different to be compared in a moment, all of one is replaced by the other.
func Differ(before, after string) Difference {
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), around)
	if err != nil { // the edits are its own
		return Difference{}
	}
	var d Difference
	for i, hunk := range unified.Hunks {
		if i > 0 {
			d.lines = append(d.lines, diffLine{mark: gap})
		}
		for _, l := range hunk.Lines {
			d.add(l.Kind, strings.TrimSuffix(l.Content, "\n"))
		}
	}
	return d
}

func (d *Difference) add(kind udiff.OpKind, text string) {
	switch kind {
	case udiff.Delete:
		d.removed++
		d.lines = append(d.lines, diffLine{'-', text})
	case udiff.Insert:
		d.added++
		d.lines = append(d.lines, diffLine{'+', text})
	case udiff.Equal:
		d.lines = append(d.lines, diffLine{' ', text})
	}
}

// join puts another difference of the same file behind.
func (d *Difference) join(more Difference) {
	if len(d.lines) > 0 && len(more.lines) > 0 {
		d.lines = append(d.lines, diffLine{mark: gap})
	}
	d.lines = append(d.lines, more.lines...)
	d.added, d.removed = d.added+more.added, d.removed+more.removed
}

// counts says how many lines come and go.
func (d *Difference) counts(r *Renderer) string {
	var parts []string
	if d.added > 0 {
		parts = append(parts, r.Theme.Good.Render(fmt.Sprintf("+%d", d.added)))
	}
	if d.removed > 0 {
		parts = append(parts, r.Theme.Bad.Render(fmt.Sprintf("−%d", d.removed)))
	}
	return strings.Join(parts, " ")
}

// rows draws a difference, each line behind its mark; nothing of it is cut, and what can't be seen is made visible. A row that
// goes on with a line repeats its mark, with a sign that no line begins with.
func (d *Difference) rows(r *Renderer) []string {
	th := r.Theme
	var rows []string
	for _, l := range d.lines {
		style := th.Dim
		switch l.mark {
		case '-':
			style = th.Bad
		case '+':
			style = th.Good
		case gap:
			rows = append(rows, "  "+th.Dim.Render(term.CutMark))
			continue
		}
		sign := " "
		for row := range strings.SplitSeq(hardwrap(Reveal(l.text), max(r.Width-4, 2)), "\n") {
			rows = append(rows, "  "+style.Render(strings.TrimRight(string(l.mark)+sign+row, " ")))
			sign = "…"
		}
	}
	for i, row := range rows {
		rows[i] = term.TrimRight(row)
	}
	return rows
}
