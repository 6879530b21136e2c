package transcript

import (
	"strings"
	"unicode"

	"charm.land/glamour/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/parser"

	"loci/tui/term"
	"loci/tui/theme"
)

// readable is the widest that prose is set.
const readable = 100

// Renderer draws for one theme and width. Its Markdown renderers are made when
// they are first needed, because making one is not free and a chat that only
// starts needs none.
type Renderer struct {
	Theme theme.Theme
	Width int

	prose, verse, code *glamour.TermRenderer
	parser             parser.Parser
}

// NewRenderer returns a renderer. Width is at least 8 cells.
func NewRenderer(th theme.Theme, width int) *Renderer {
	return &Renderer{Theme: th, Width: max(width, 8)}
}

// Markdown draws a block. Lines have no spaces at their ends; code is not
// wrapped, so that it copies as it was written.
func (r *Renderer) Markdown(b Block) string {
	source := Clean(b.Source)
	isCode := fenceMark(source) != ""
	shown, broken := source, false
	if !isCode {
		shown, broken = r.marks(source)
	}
	md, err := r.renderer(source, broken)
	if err != nil {
		return r.Plain(source)
	}
	out, err := md.Render(shown)
	if err != nil {
		return r.Plain(source)
	}
	rows := strings.Split(out, "\n")
	if isCode { // empty lines of code count, those around it do not
		rows = rows[1:min(1+codeLines(source), len(rows))]
	}
	for i, l := range rows {
		rows[i] = term.TrimRight(l)
	}
	for !isCode && len(rows) > 0 && blank(rows[0]) {
		rows = rows[1:]
	}
	for !isCode && len(rows) > 0 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	return strings.Join(rows[min(b.Skip, len(rows)):], "\n")
}

// marks makes text of what would be taken for HTML, and reports whether lines
// end where they end in the source.
func (r *Renderer) marks(source string) (shown string, broken bool) {
	if !strings.ContainsAny(source, "<") && !strings.Contains(source, "  \n") && !strings.Contains(source, "\\\n") {
		return source, false
	}
	if r.parser == nil {
		r.parser = newParser()
	}
	shown = showTags(r.parser, source)
	return shown, hasBreaks(r.parser, shown)
}

// renderer is the one for a text; broken says that it has lines of its own.
func (r *Renderer) renderer(source string, broken bool) (*glamour.TermRenderer, error) {
	slot, wrap := &r.prose, min(r.Width, readable)
	if broken {
		slot = &r.verse
	}
	if fenceMark(source) != "" {
		slot, wrap = &r.code, 0
	} else if w := tableWidth(source); w > 0 {
		slot, wrap = new(*glamour.TermRenderer), min(r.Width, w) // a table fills the width it is given
	}
	if *slot != nil {
		return *slot, nil
	}
	options := []glamour.TermRendererOption{
		glamour.WithStyles(r.Theme.Markdown()), glamour.WithWordWrap(wrap), glamour.WithTableWrap(true), glamour.WithInlineTableLinks(true),
	}
	if broken {
		options = append(options, glamour.WithPreservedNewLines())
	}
	md, err := glamour.NewTermRenderer(options...)
	if err == nil {
		*slot = md
	}
	return md, err
}

// Prose is how many columns prose is set to.
func (r *Renderer) Prose() int { return min(r.Width, readable) }

// Plain wraps text without giving its marks a meaning.
func (r *Renderer) Plain(source string) string {
	return strings.TrimRight(wrap(Clean(source), min(r.Width, readable)), "\n")
}

// Open draws the end of a block that still grows, at most rows rows of it. It
// costs the same however long the block has become.
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

// Clean takes everything out of a text that a terminal would obey: control
// characters, escape sequences, and marks that turn the direction of text
// around. Newlines and tabs stay.
func Clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if strings.IndexFunc(s, hostile) < 0 {
		return s
	}
	s = ansi.Strip(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(c rune) rune {
		if hostile(c) {
			return -1
		}
		return c
	}, s)
}

func hostile(c rune) bool {
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

// OneLine makes a single line of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Short cuts a line to width cells and marks the cut.
func Short(s string, width int) string {
	if width < 1 {
		return ""
	}
	if term.Width(s) <= width {
		return s
	}
	out := ansi.Truncate(s, width, "…")
	if term.Width(out) > width {
		out = ansi.TruncateWc(s, width, "…")
	}
	return out
}

func wrap(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = term.ExpandTabs(l)
		if term.Width(l) > width {
			l = hardwrap(ansi.Wrap(l, width, ""), width)
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

func hardwrap(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = term.ExpandTabs(l)
		if term.Width(l) > width {
			l = ansi.HardwrapWc(l, width, true)
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

func blank(line string) bool { return strings.TrimSpace(ansi.Strip(line)) == "" }

// codeLines is how many lines of code a fence holds.
func codeLines(source string) int {
	all := strings.Split(strings.TrimRight(source, "\n"), "\n")
	n := len(all) - 1
	if n > 0 && closesFence(all[n], fenceMark(source)) {
		n--
	}
	return n
}

// lines applies a style to each line by itself: styled as one, lines would be
// padded to the longest.
func lines(style func(...string) string, s string) string {
	out := strings.Split(s, "\n")
	for i, l := range out {
		if l != "" {
			out[i] = style(l)
		}
	}
	return strings.Join(out, "\n")
}

// tableWidth is how wide a table must be set for its cells to fit on one line,
// or 0 if source is no table.
func tableWidth(source string) int {
	rows := strings.Split(strings.TrimSpace(source), "\n")
	if len(rows) < 2 || !strings.Contains(rows[0], "|") || strings.Trim(rows[1], "|-: \t") != "" {
		return 0
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
	return sum
}
