package transcript

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"loci/tui/term"
	"loci/tui/theme"
)

// readable is the maximum width of prose.
const readable = 100

// Renderer draws for one theme and width.
type Renderer struct {
	Theme theme.Theme
	Width int

	parser parser.Parser
	within map[int]*Renderer // by the columns they lack
}

// NewRenderer returns a renderer. Widths below 8 cells count as 8.
func NewRenderer(th theme.Theme, width int) *Renderer {
	return &Renderer{Theme: th, Width: max(width, 8)}
}

// Markdown draws a block. Lines have no trailing spaces. Code isn't wrapped, so
// it copies exactly as written.
func (r *Renderer) Markdown(b Block) string {
	source := strings.TrimLeft(Clean(b.Source), "\n")
	if fenceMark(source) != "" {
		return r.fence(b, source)
	}
	rows := r.prose(showTags(r.markdown(), source))
	return strings.Join(rows[min(b.Skip, len(rows)):], "\n")
}

// fence draws a fence, with its marks where no colour shows that it is code.
func (r *Renderer) fence(b Block, source string) string {
	n, ok := r.markdown().Parse(text.NewReader([]byte(source))).FirstChild().(*ast.FencedCodeBlock)
	if !ok {
		return r.Plain(source)
	}
	rows := r.code(string(n.Language([]byte(source))), string(n.Lines().Value([]byte(source))))
	rows = rows[:min(codeLines(source), len(rows))]
	for i, l := range rows {
		rows[i] = term.TrimRight(l)
	}
	rows = rows[min(b.Skip, len(rows)):]
	if r.Theme.Kind == theme.None {
		head, _, _ := strings.Cut(source, "\n")
		if b.Skip == 0 {
			rows = append([]string{strings.TrimSpace(head)}, rows...)
		}
		if !b.Goes {
			rows = append(rows, fenceMark(source))
		}
	}
	return strings.Join(rows, "\n")
}

func (r *Renderer) markdown() parser.Parser {
	if r.parser == nil {
		r.parser = newParser()
	}
	return r.parser
}

// narrowed is a renderer for what stands n columns to the right.
func (r *Renderer) narrowed(n int) *Renderer {
	if r.within == nil {
		r.within = map[int]*Renderer{}
	}
	if r.within[n] == nil {
		r.within[n] = NewRenderer(r.Theme, r.Prose()-n)
		r.within[n].parser = r.markdown()
	}
	return r.within[n]
}

// Prose is the width of prose in columns.
func (r *Renderer) Prose() int { return min(r.Width, readable) }

// Plain wraps text without interpreting Markdown.
func (r *Renderer) Plain(source string) string {
	return strings.TrimRight(wrap(Clean(source), min(r.Width, readable)), "\n")
}

// Open draws the end of a block that is still growing, at most rows rows of it.
// The cost doesn't depend on how long the block has become.
func (r *Renderer) Open(source string, rows int) string {
	cut := false
	if most := rows * r.Width * 4; len(source) > most {
		cut = true
		head, _, _ := strings.Cut(source, "\n")
		source = source[len(source)-most:]
		if _, rest, ok := strings.Cut(source, "\n"); ok {
			source = rest
		}
		source = strings.ToValidUTF8(source, "")
		if fenceMark(head) != "" {
			source = head + "\n" + source
		}
	}
	source = strings.TrimLeft(Clean(source), "\n")
	text := strings.TrimRight(source, "\n")
	if fenceMark(source) != "" {
		_, text, _ = strings.Cut(text, "\n")
		text = hardwrap(text, r.Width)
	} else {
		text = wrap(text, min(r.Width, readable))
	}
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if over := len(lines) - rows; over > 0 || cut {
		lines = lines[max(over, 0):]
		if rows > 2 {
			lines[0] = term.CutMark
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// Clean removes everything a terminal would act on: control characters, escape
// sequences, and marks that change the direction of text. Newlines and tabs
// stay.
func Clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if strings.IndexFunc(s, Hostile) < 0 {
		return s
	}
	s = ansi.Strip(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(c rune) rune {
		if Hostile(c) {
			return -1
		}
		return c
	}, s)
}

// Hostile reports whether a character could drive a terminal or change the
// direction of its text: controls, including C1, and the overrides, embeddings
// and isolates of bidirectional text.
func Hostile(c rune) bool {
	switch {
	case c == '\n' || c == '\t':
		return false
	case c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069:
		return true
	case c == unicode.ReplacementChar:
		return true
	}
	return unicode.IsControl(c)
}

// OneLine joins a text into a single line.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Short cuts a line to width cells and marks the cut.
func Short(s string, width int) string {
	if width < 1 {
		return ""
	}
	return term.Truncate(s, width, "…")
}

func wrap(s string, width int) string { return eachLine(s, width, term.Wrap) }

func hardwrap(s string, width int) string { return eachLine(s, width, term.Hardwrap) }

func eachLine(s string, width int, breakUp func(string, int) string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = term.ExpandTabs(l)
		if term.Width(l) > width {
			l = breakUp(l, width)
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// codeLines counts the lines of code in a fence.
func codeLines(source string) int {
	all := strings.Split(strings.TrimRight(source, "\n"), "\n")
	n := len(all) - 1
	if n > 0 && closesFence(all[n], fenceMark(source)) {
		n--
	}
	return n
}

// lines styles each line separately: styled together, lines would be padded to
// the longest.
func lines(style func(...string) string, s string) string {
	out := strings.Split(s, "\n")
	for i, l := range out {
		if l != "" {
			out[i] = style(l)
		}
	}
	return strings.Join(out, "\n")
}
