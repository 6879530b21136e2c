package transcript

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"loci/tui/term"
	"loci/tui/theme"
)

// manner is how a piece of a line is written, and what a click on it opens.
type manner struct {
	theme.Ink

	link string
}

// on is an ink on top of what is around it.
func (l manner) on(ink theme.Ink) manner {
	if ink.Color != "" {
		l.Color = ink.Color
	}
	l.Bold, l.Italic = l.Bold || ink.Bold, l.Italic || ink.Italic
	l.Underlined, l.Struck = l.Underlined || ink.Underlined, l.Struck || ink.Struck
	return l
}

// span is a piece of text in one look.
type span struct {
	text string
	look manner
}

// words writes what a paragraph, a heading or a cell holds.
type words struct {
	inks   theme.Markdown
	source []byte
	spans  []span
}

// inline returns what stands inside of a block. A line break that counts is a newline.
func (d *drawing) inline(block ast.Node, in manner) []span {
	w := words{inks: d.inks, source: d.source}
	w.children(block, in)
	return w.spans
}

func (w *words) put(text string, in manner) {
	w.spans = add(w.spans, Clean(text), in) // a reference may stand for any character
}

func (w *words) children(n ast.Node, in manner) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, in)
	}
}

func (w *words) node(n ast.Node, in manner) {
	switch n := n.(type) {
	case *ast.Text:
		w.put(written(n.Value(w.source)), in)
		switch {
		case n.HardLineBreak():
			w.put("\n", in)
		case n.SoftLineBreak():
			w.put(" ", in)
		}
	case *ast.String:
		w.put(string(n.Value), in)
	case *ast.CodeSpan:
		w.put(w.inks.CodeMark+w.code(n)+w.inks.CodeMark, in.on(w.inks.Code))
	case *ast.Emphasis:
		ink := w.inks.Emphasis
		if n.Level > 1 {
			ink = w.inks.Strong
		}
		w.children(n, in.on(ink))
	case *extast.Strikethrough:
		w.children(n, in.on(w.inks.Struck))
	case *ast.Link:
		w.link(n, string(n.Destination), in, in.on(w.inks.Link))
	case *ast.Image:
		w.picture(n, in.on(w.inks.Picture), in.on(w.inks.Address))
	case *ast.AutoLink:
		address, ink := string(n.URL(w.source)), w.inks.Address
		if n.AutoLinkType == ast.AutoLinkEmail {
			ink = w.inks.Link
		}
		in = in.on(ink)
		in.link = opened(address)
		w.put(string(n.Label(w.source)), in)
	case *ast.RawHTML:
		w.put(string(n.Segments.Value(w.source)), in)
	case *extast.TaskCheckBox: // the item that it is of has drawn it
	default:
		w.children(n, in)
	}
}

// code is what stands in a code span, on one line.
func (w *words) code(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(w.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// link is what a link says, and its address unless it leads to a place in the same text.
func (w *words) link(n ast.Node, address string, in, said manner) {
	said.link = opened(address)
	w.children(n, said)
	if said.link != "" {
		in = in.on(w.inks.Address)
		in.link = said.link
		w.put(" ", manner{})
		w.put(address, in)
	}
}

func (w *words) picture(n *ast.Image, said, address manner) {
	said.link = opened(string(n.Destination))
	address.link = said.link
	before := len(w.spans)
	w.children(n, said)
	if len(w.spans) > before {
		w.put(" →", said)
		w.put(" ", manner{})
	}
	w.put(string(n.Destination), address)
}

// opened is the address that a terminal may open, or "".
func opened(address string) string {
	address = Clean(address)
	u, err := url.Parse(address)
	if err != nil || strings.HasPrefix(address, "#") || address == "" || strings.ContainsFunc(address, unicode.IsSpace) {
		return ""
	}
	if u.Scheme == "" && strings.Contains(address, "@") {
		return "mailto:" + address
	}
	return address
}

// written is what a piece of text says: without the marks that escape others, and with the characters that references name.
func written(source []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(source))))
}

// flow breaks pieces of text into rows of at most width columns.
func flow(spans []span, width int) []string {
	var all strings.Builder
	var looks []*manner // by rune
	for i := range spans {
		for _, c := range strings.ReplaceAll(spans[i].text, "\t", "    ") {
			all.WriteRune(c)
			looks = append(looks, &spans[i].look)
		}
	}
	if len(looks) == 0 {
		return nil
	}
	text := []rune(all.String())
	var rows []string
	var row []span
	at := 0
	for _, c := range wrap(all.String(), width) {
		for at < len(text)-1 && text[at] != c && unicode.IsSpace(text[at]) { // at which a row ends
			at++
		}
		look := *looks[min(at, len(text)-1)]
		if at < len(text) && text[at] == c {
			at++
		}
		if c == '\n' {
			rows, row = append(rows, term.TrimRight(paint(row))), nil
			continue
		}
		row = add(row, string(c), look)
	}
	return append(rows, term.TrimRight(paint(row)))
}

// add puts text at the end of a row.
func add(row []span, text string, look manner) []span {
	n := len(row)
	switch {
	case text == "":
	case n > 0 && row[n-1].look == look:
		row[n-1].text += text
	default:
		row = append(row, span{text, look})
	}
	return row
}

// paint writes the pieces of one row.
func paint(row []span) string {
	var b strings.Builder
	link := ""
	for _, s := range row {
		if s.look.link != link {
			if link != "" {
				b.WriteString(ansi.ResetHyperlink())
			}
			if link = s.look.link; link != "" {
				h := fnv.New32a()
				_, _ = h.Write([]byte(link)) // never fails
				b.WriteString(ansi.SetHyperlink(link, fmt.Sprint("id=", h.Sum32())))
			}
		}
		b.WriteString(inked(s.look.Ink, s.text))
	}
	if link != "" {
		b.WriteString(ansi.ResetHyperlink())
	}
	return b.String()
}

func inked(ink theme.Ink, text string) string {
	style := ansi.Style{}
	if ink.Color != "" {
		style = style.ForegroundColor(lipgloss.Color(ink.Color))
	}
	if ink.Underlined {
		style = style.Underline(true)
	}
	if ink.Bold {
		style = style.Bold()
	}
	if ink.Italic {
		style = style.Italic(true)
	}
	if ink.Struck {
		style = style.Strikethrough(true)
	}
	return style.Styled(text)
}
