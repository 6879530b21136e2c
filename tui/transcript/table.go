package transcript

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"loci/tui/term"
)

// uncut returns a drawn table with nothing missing at its right end. The library
// doesn't count the separators when it decides whether a table fits, so it cuts
// one that is too wide by no more than those. If it is made narrower by as many
// columns, the library breaks the cells' lines instead.
func (r *Renderer) uncut(drawn, source, shown string, broken bool) (string, error) {
	width, columns := tableWidth(source)
	if width <= r.Width || r.Width-columns < 8 {
		return drawn, nil
	}
	md, err := r.newMarkdown(r.Width-columns+1, broken)
	if err != nil {
		return "", err
	}
	narrower, err := md.Render(shown)
	if err == nil && written(narrower) > written(drawn) {
		return narrower, nil
	}
	return drawn, err
}

// written counts the characters of a drawn table without its lines.
func written(drawn string) int {
	n := 0
	for _, c := range ansi.Strip(drawn) {
		if !unicode.IsSpace(c) && !strings.ContainsRune("─│┼…", c) {
			n++
		}
	}
	return n
}

// tableWidth is how wide a table must be for each cell to fit on one line, at
// most, and how many columns it has; 0 if source isn't a table.
func tableWidth(source string) (width, columns int) {
	rows := strings.Split(strings.TrimSpace(source), "\n")
	if len(rows) < 2 || !strings.Contains(rows[0], "|") || strings.Trim(rows[1], "|-: \t") != "" {
		return 0, 0
	}
	var widest []int
	for i, row := range rows {
		if i == 1 {
			continue
		}
		for c, cell := range strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|") {
			if c == len(widest) {
				widest = append(widest, 0)
			}
			widest[c] = max(widest[c], term.Width(strings.TrimSpace(cell)))
		}
	}
	sum := len(widest) - 1
	for _, w := range widest {
		sum += w + 2
	}
	return sum, len(widest)
}
