package transcript

import (
	"slices"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"loci/tui/term"
)

// between is what stands between two cells of a table, of which each has a space at both sides.
const between = "│"

// table draws a table: as wide as its cells need, or as there is room, with the lines of its cells broken.
func (d *drawing) table(n *extast.Table, room int, in manner) []string {
	var cells [][][]span // by row and column
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var spans [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			said := d.inline(cell, in)
			if len(spans) == len(widths) {
				widths = append(widths, 1)
			}
			widths[len(spans)] = max(widths[len(spans)], wide(said))
			spans = append(spans, said)
		}
		cells = append(cells, spans)
	}
	if len(widths) == 0 {
		return nil
	}
	fit(widths, room-3*len(widths)+1)
	var out []string
	for i, spans := range cells {
		out = append(out, tableRow(spans, widths, n.Alignments)...)
		if i == 0 {
			out = append(out, ruled(widths))
		}
	}
	return out
}

// wide is how many columns pieces of text need on one line.
func wide(spans []span) int {
	w := 0
	for _, s := range spans {
		w += term.Width(s.text)
	}
	return w
}

// fit makes the widest columns narrower until all together take no more than room, each at least one column.
func fit(widths []int, room int) {
	for {
		sum := 0
		for _, w := range widths {
			sum += w
		}
		widest := slices.Max(widths)
		if sum <= room || widest <= 1 {
			return
		}
		second, many := 1, 0 // the widest of the others
		for _, w := range widths {
			if w == widest {
				many++
			} else {
				second = max(second, w)
			}
		}
		over := sum - room
		less := min(widest-second, (over+many-1)/many)
		for i := range widths {
			if widths[i] == widest && over > 0 {
				widths[i] -= min(less, over)
				over -= min(less, over)
			}
		}
	}
}

func tableRow(cells [][]span, widths []int, aligned []extast.Alignment) []string {
	drawn := make([][]string, len(widths))
	high := 1
	for i := range widths {
		if i < len(cells) {
			drawn[i] = flow(cells[i], widths[i])
		}
		high = max(high, len(drawn[i]))
	}
	rows := make([]string, high)
	for y := range rows {
		parts := make([]string, len(widths))
		for i, w := range widths {
			text := ""
			if y < len(drawn[i]) {
				text = drawn[i][y]
			}
			free := max(0, w-term.Width(text))
			left := 0
			if i < len(aligned) {
				switch aligned[i] {
				case extast.AlignRight:
					left = free
				case extast.AlignCenter:
					left = free / 2
				case extast.AlignLeft, extast.AlignNone:
				}
			}
			parts[i] = " " + strings.Repeat(" ", left) + text + strings.Repeat(" ", free-left) + " "
		}
		rows[y] = term.TrimRight(strings.Join(parts, between))
	}
	return rows
}

func ruled(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w+2)
	}
	return strings.Join(parts, "┼")
}
