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

// readable is the maximum width of prose.
const readable = 100

// Renderer draws for one theme and width. Its Markdown renderers are created on
// first use: creating one is slow, and a chat that is only starting needs none.
type Renderer struct {
	Theme theme.Theme
	Width int

	prose, verse, code *glamour.TermRenderer
	parser             parser.Parser
	within             map[int]*Renderer // by the columns they lack
}

// NewRenderer returns a renderer. Widths below 8 cells count as 8.
func NewRenderer(th theme.Theme, width int) *Renderer {
	return &Renderer{Theme: th, Width: max(width, 8)}
}

// Markdown draws a block. Lines have no trailing spaces. Code isn't wrapped, so
// it copies exactly as written.
func (r *Renderer) Markdown(b Block) string {
	source := strings.TrimLeft(Clean(b.Source), "\n")
	isCode := fenceMark(source) != ""
	if !isCode {
		if drawn, ok := r.nested(source); ok {
			return drawn
		}
	}
	shown, broken, release := source, false, func(s string) string { return s }
	if !isCode {
		source, release = term.Hold(source)
		shown, broken = r.marks(source)
	}
	md, err := r.renderer(source, broken)
	if err != nil {
		return r.Plain(release(source))
	}
	out, err := md.Render(shown)
	if err == nil && !isCode {
		out, err = r.uncut(out, source, shown, broken)
	}
	if err != nil {
		return r.Plain(release(source))
	}
	rows := strings.Split(release(out), "\n")
	if isCode { // empty lines inside code count, those around it don't
		rows = rows[1:min(1+codeLines(source), len(rows))]
	}
	for i, l := range rows {
		rows[i] = term.TrimRight(l)
	}
	for !isCode && len(rows) > 0 && (blank(rows[0]) || strings.TrimSpace(ansi.Strip(rows[0])) == theme.QuoteMark) {
		rows = rows[1:]
	}
	for !isCode && len(rows) > 0 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	rows = rows[min(b.Skip, len(rows)):]
	if isCode && r.Theme.Kind == theme.None { // there is no colour to show that it is code
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

// marks escapes what Markdown would take for HTML, and reports whether the
// source has hard line breaks.
func (r *Renderer) marks(source string) (shown string, broken bool) {
	if !strings.ContainsAny(source, "<") && !strings.Contains(source, "  \n") && !strings.Contains(source, "\\\n") {
		return source, false
	}
	shown = showTags(r.markdown(), source)
	return shown, hasBreaks(r.markdown(), shown)
}

func (r *Renderer) markdown() parser.Parser {
	if r.parser == nil {
		r.parser = newParser()
	}
	return r.parser
}

// renderer picks the renderer for a text; broken says that the text has hard
// line breaks.
func (r *Renderer) renderer(source string, broken bool) (*glamour.TermRenderer, error) {
	slot, wrap := &r.prose, min(r.Width, readable)
	if broken {
		slot = &r.verse
	}
	if fenceMark(source) != "" {
		slot, wrap = &r.code, 0
	} else if w, _ := tableWidth(source); w > 0 {
		slot, wrap = new(*glamour.TermRenderer), min(r.Width, w) // a table fills the width it gets
	}
	if *slot != nil {
		return *slot, nil
	}
	md, err := r.newMarkdown(wrap, broken)
	if err == nil {
		*slot = md
	}
	return md, err
}

func (r *Renderer) newMarkdown(wrap int, broken bool) (*glamour.TermRenderer, error) {
	options := []glamour.TermRendererOption{
		glamour.WithStyles(r.Theme.Markdown()), glamour.WithWordWrap(wrap), glamour.WithTableWrap(true), glamour.WithInlineTableLinks(true),
	}
	if broken {
		options = append(options, glamour.WithPreservedNewLines())
	}
	return glamour.NewTermRenderer(options...)
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

func blank(line string) bool { return strings.TrimSpace(ansi.Strip(line)) == "" }

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
