package parsers

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"loci/core"
)

// maxToken bounds one tag or run of text, in bytes.
const maxToken = 4 << 20

func (j *job) html() (core.Document, error) {
	c := &composer{j: j}
	title, err := j.htmlInto(c, j.data, "text/html", false)
	if err != nil {
		return core.Document{}, err
	}
	return c.document(title), nil
}

// htmlInto writes the text of a page and returns its title. In XHTML an element that closes itself is closed.
func (j *job) htmlInto(c *composer, data []byte, contentType string, xhtml bool) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(data), contentType)
	if err != nil {
		return "", err
	}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	w := &pageWriter{c: c}
	for n := 0; ; n++ {
		if n%256 == 0 && j.ctx.Err() != nil {
			return "", j.ctx.Err()
		}
		switch tag := z.Next(); tag {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return "", err
			}
			return w.title, w.flush()
		case html.TextToken:
			w.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			alt := ""
			if a == atom.Img {
				alt = altOf(z)
			}
			closed := tag == html.SelfClosingTagToken && (xhtml || a == atom.Svg || a == atom.Math)
			if closed {
				z.NextIsNotRawText()
			}
			if err = w.open(a, alt); err == nil && closed {
				err = w.close(a)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			err = w.close(atom.Lookup(name))
		}
		if err != nil {
			return "", err
		}
		if w.buf.Len() > j.limits.Text {
			return "", j.tooMuchText()
		}
	}
}

// pageWriter turns a stream of tags into blocks. It keeps no tree: nesting costs nothing and needs no bound.
type pageWriter struct {
	c       *composer
	buf     strings.Builder
	title   string
	inTitle bool
	hidden  atom.Atom // the element whose text nobody sees
	depth   int       // … and how often it is open
	heading int
	lists   int
	item    bool
	pre     bool
	cells   []string
	inRow   bool
}

// unseen are elements whose text is no part of the page.
func unseen(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Math, atom.Iframe, atom.Select, atom.Datalist, atom.Textarea:
		return true
	}
	return false
}

func (w *pageWriter) text(s string) {
	switch {
	case w.hidden != 0:
	case w.inTitle:
		if len(w.title) < maxHeading {
			w.title += s
		}
	default:
		w.buf.WriteString(s)
	}
}

// open begins an element; alt is what a picture is said to show.
func (w *pageWriter) open(a atom.Atom, alt string) error {
	if w.hidden != 0 {
		if a == w.hidden {
			w.depth++
		}
		return nil
	}
	switch a {
	case atom.Title:
		w.inTitle = w.title == ""
		return nil
	case atom.Br:
		if w.pre {
			w.buf.WriteByte('\n')
		} else {
			w.buf.WriteByte(' ')
		}
		return nil
	case atom.Img:
		if alt = strings.TrimSpace(alt); alt != "" {
			w.buf.WriteString(" [" + cut(alt, maxHeading) + "] ")
		}
		return nil
	}
	if unseen(a) {
		w.hidden, w.depth = a, 1
		return nil
	}
	if !blockLevel(a) {
		return nil
	}
	return w.openBlock(a)
}

func (w *pageWriter) openBlock(a atom.Atom) error {
	switch {
	case w.inRow && (a == atom.Td || a == atom.Th):
		if strings.TrimSpace(w.buf.String()) != "" { // the cell before was never closed
			w.cells = append(w.cells, w.take())
		}
		return nil
	case w.inRow && a != atom.Tr && a != atom.Table:
		w.buf.WriteByte(' ') // a paragraph within a cell
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading = headingOf(a)
	case atom.Ul, atom.Ol, atom.Menu:
		w.lists++
	case atom.Li, atom.Dd:
		w.item = true
	case atom.Pre:
		w.pre = true
	case atom.Tr:
		w.inRow = true
	}
	return nil
}

func (w *pageWriter) close(a atom.Atom) error {
	if w.hidden != 0 {
		if a == w.hidden {
			if w.depth--; w.depth == 0 {
				w.hidden = 0
			}
		}
		return nil
	}
	if a == atom.Title {
		w.inTitle = false
		return nil
	}
	if !blockLevel(a) {
		return nil
	}
	switch {
	case w.inRow && (a == atom.Td || a == atom.Th):
		w.cells = append(w.cells, w.take())
		return nil
	case w.inRow && a != atom.Tr && a != atom.Table:
		w.buf.WriteByte(' ')
		return nil
	}
	err := w.flush()
	switch a {
	case atom.Ul, atom.Ol, atom.Menu:
		w.lists = max(w.lists-1, 0)
	}
	return err
}

// flush writes what was collected as a block of the kind that is open.
func (w *pageWriter) flush() error {
	text := w.take()
	heading, item, pre := w.heading, w.item, w.pre
	w.heading, w.item, w.pre = 0, false, false
	switch {
	case w.inRow:
		w.inRow = false
		if strings.TrimSpace(text) != "" {
			w.cells = append(w.cells, text)
		}
		cells := w.cells
		w.cells = nil
		return w.c.row(cells)
	case pre:
		return w.c.code(text)
	case heading > 0:
		return w.c.heading(heading, text)
	case item:
		return w.c.item(w.lists, text)
	}
	return w.c.paragraph(text)
}

func (w *pageWriter) take() string {
	s := w.buf.String()
	w.buf.Reset()
	return s
}

func altOf(z *html.Tokenizer) string {
	for {
		key, value, more := z.TagAttr()
		if string(key) == "alt" {
			return string(value)
		}
		if !more {
			return ""
		}
	}
}

func headingOf(a atom.Atom) int {
	return int(a.String()[1] - '0')
}

// blockLevel reports elements that end the paragraph before them.
func blockLevel(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dialog, atom.Dir,
		atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5,
		atom.H6, atom.Head, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Option,
		atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul:
		return true
	}
	return false
}
