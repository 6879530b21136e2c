package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// What a person reads fits the width of their terminal: prose is wrapped at words, and tables are folded and cut. A pipe
// gets everything on lines of any length.

// columnsOf is the width of the terminal behind a stream; 0: it is none, and nothing is fitted.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// samePlace reports whether two writers write to the same terminal, pipe or file.
func samePlace(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	one, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := g.Stat()
	return err == nil && os.SameFile(one, other)
}

// say writes a line to a person on standard error.
func say(w io.Writer, line string) {
	_, _ = io.WriteString(w, filled("loci: "+line, columnsOf(w), 2)+"\n")
}

// filled wraps the lines of a text at words, with an indent for what follows. A word that is longer than a row stays whole, so
// that it can be copied, unless it is of wide characters: those are written without spaces, and end a row anywhere. A width
// of 0 changes nothing.
func filled(text string, width, indent int) string {
	if width <= indent {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = filledLine(line, width, indent)
	}
	return strings.Join(lines, "\n")
}

func filledLine(line string, width, indent int) string {
	if cellWidth(line) <= width {
		return line
	}
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := cellWidth(word)
		switch {
		case n > width-indent && strings.ContainsFunc(word, wide):
			if i > 0 {
				word = " " + word
			}
			at = hardFilled(&b, word, at, width, indent)
			continue
		case i == 0:
		case at+1+n > width && at > indent:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// hardFilled writes a word that ends a row wherever the row is full, and returns where it is then.
func hardFilled(b *strings.Builder, word string, at, width, indent int) int {
	joined := false // emoji of several characters stay whole
	for _, r := range word {
		n := cellWidth(string(r))
		if at+n > width && at > indent && n > 0 && !joined {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		}
		b.WriteRune(r)
		at += n
		joined = r == '\u200d'
	}
	return at
}

// filledHelp wraps a page of help: a paragraph flows, and what else is long goes on where its column begins.
func filledHelp(page string, width int) string {
	lines := flowing(strings.Split(page, "\n"))
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if gap := strings.LastIndex(line[:min(len(line), width)], "  "); gap >= indent {
			indent = gap + 2
		}
		if width-indent < leastHelp {
			indent = 6
		}
		lines[i] = filledLine(line, width, indent)
	}
	return strings.Join(lines, "\n")
}

// flowing joins the lines of each paragraph. An indented line stands for itself, and so does a heading.
func flowing(lines []string) []string {
	var out []string
	prose := false
	for _, line := range lines {
		is := line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") && !strings.HasSuffix(line, ":")
		if is && prose {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		prose = is
	}
	return out
}

const (
	gutter    = 2  // between two columns
	foldedBy  = 4  // the indent of what doesn't fit beside the rest
	leastLast = 40 // a last column with less room than this and more to say stands below
	leastText = 12 // what is left of another text that is cut
	leastHelp = 24 // what is said of a flag in less room than this goes on below the flag
	longWord  = 14 // what wrapping at words may leave empty at the end of a row
)

// freeText are the headers of columns that may be cut, because nobody has to type what they say.
func freeText(head string) bool {
	return slices.Contains([]string{"TEXT", "WHY", "TAGS", "SUMMARY", "DESCRIPTION", "FOR EXAMPLE", "WHAT IT IS", "CANNOT CHAT", "ERROR"},
		head)
}

// layout says how a table stands in a terminal: how wide each column is, and which of them begin a row of their own.
type layout struct {
	widths []int
	folds  []bool
	wraps  bool // the last column is wrapped, not cut
	brief  bool // to two rows
}

// fit lays columns out within a width.
func fit(head []string, widths []int, width int) layout {
	last := len(widths) - 1
	out := layout{widths: slices.Clone(widths), folds: make([]bool, len(widths))}
	switch {
	case width <= 0 || total(widths) <= width:
		return out
	case last == 1:
		out.wraps = true
		out.folds[1] = widths[0]+gutter+leastLast > width
	case freeText(head[last]) && total(widths[:last])+gutter+min(widths[last], leastLast) <= width:
		out.widths[last] = width - total(widths[:last]) - gutter
		return out
	case freeText(head[last]):
		out.folds[last], out.wraps, out.brief = true, true, true
		shrink(head[:last], out.widths[:last], width)
	default:
		shrink(head, out.widths, width)
	}
	at := 0
	for i, n := range out.widths {
		wrapped := out.wraps && i == last
		if i > 0 && !out.folds[i] && !wrapped && at+gutter+n > width {
			out.folds[i] = true
		}
		switch {
		case i == 0:
			at = n
		case out.folds[i]:
			out.widths[i] = max(n, min(widths[i], width-foldedBy)) // it has the row to itself
			at = foldedBy + out.widths[i]
		default:
			at += gutter + n
		}
	}
	if out.wraps {
		room := foldedBy
		if !out.folds[last] {
			room = total(out.widths[:last]) + gutter
		}
		out.widths[last] = max(width-room, leastText)
	}
	return out
}

// write writes one row of cells. Nothing is padded that nothing follows.
func (l layout) write(b *strings.Builder, row []string) {
	pad, at := 0, 0
	for i, cell := range row {
		last := i == len(row)-1
		switch {
		case i > 0 && l.folds[i] && !l.nothing(row, i):
			b.WriteString("\n" + strings.Repeat(" ", foldedBy))
			at = foldedBy
		case cell == "":
			pad += l.widths[i] + gutter
			continue
		default:
			b.WriteString(strings.Repeat(" ", pad))
			at += pad
		}
		if last && l.wraps {
			if l.brief {
				cell = cut(cell, 2*l.widths[i]-longWord)
			}
			b.WriteString(filled(strings.Repeat(" ", at)+cell, at+l.widths[i], at)[at:])
			break
		}
		cell = cut(cell, l.widths[i])
		b.WriteString(cell)
		at += cellWidth(cell)
		pad = l.widths[i] - cellWidth(cell) + gutter
	}
	b.WriteByte('\n')
}

// nothing reports whether the cells from one that is folded to the next hold nothing, so that they need no row.
func (l layout) nothing(row []string, from int) bool {
	for i, cell := range row[from:] {
		if i > 0 && l.folds[from+i] {
			return true
		}
		if cell != "" {
			return false
		}
	}
	return true
}

// shrink makes the widest free texts narrower until all columns fit, if they can.
func shrink(head []string, widths []int, width int) {
	for total(widths) > width {
		widest := -1
		for i, n := range widths {
			if freeText(head[i]) && n > leastText && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// total is the width of columns side by side.
func total(widths []int) int {
	n := gutter * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return max(n, 0)
}
