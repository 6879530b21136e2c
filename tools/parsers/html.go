package parsers

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"loci/core"
)

const (
	maxNumber = 1_000_000 // with which a list begins
	maxLists  = 50        // within each other whose items are counted
)

// maxToken bounds one tag or run of text, in bytes.
const maxToken = 4 << 20

func (j *parseTask) html() (core.Document, error) {
	c := &composer{j: j}
	title, err := j.htmlInto(c, j.data, "text/html", false)
	if err != nil {
		return core.Document{}, err
	}
	return c.document(title), nil
}

// htmlInto writes the text of a page and returns its title. In XHTML an element that closes itself is closed.
func (j *parseTask) htmlInto(c *composer, data []byte, contentType string, xhtml bool) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(data), contentType)
	if err != nil {
		return "", err
	}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	w := &pageWriter{c: c, address: j.address}
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
			a := string(name)
			value := valueOf(z, telling(a))
			closed := tag == html.SelfClosingTagToken && (xhtml || a == "svg" || a == "math")
			if closed {
				z.NextIsNotRawText()
			}
			if err = w.open(a, value); err == nil && closed {
				err = w.close(a)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			err = w.close(string(name))
		case html.CommentToken, html.DoctypeToken:
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
	address *url.URL // links are relative to; nil: they are left out
	buf     bytes.Buffer
	link    string // where the link leads that is open
	linkAt  int    // … and where its text begins in buf
	title   string
	inTitle bool
	hidden  string // the element whose text nobody sees
	depth   int    // … and how often it is open
	heading int
	lists   []int // that are open: the number of the last item, or notNumbered
	deeper  int   // … and how many more within these
	nav     int   // depth inside of tables of contents, whose numbers nobody sees
	item    bool  // what comes next is the text of an item
	number  int   // … and this its number; 0: none
	pre     bool
	cells   []string
	inRow   bool
}

// notNumbered marks a list whose items have no numbers.
const notNumbered = -1

// telling is the attribute of an element that says something of the text: what a picture shows, where a list begins.
func telling(a string) string {
	switch a {
	case "img":
		return "alt"
	case "ol":
		return "start"
	case "a":
		return "href"
	}
	return ""
}

// unseen are elements whose text is no part of the page.
func unseen(a string) bool {
	switch a {
	case "script", "style", "template", "noscript", "svg", "math", "iframe", "select", "datalist", "textarea":
		return true
	}
	return false
}

func (w *pageWriter) text(s string) {
	switch {
	case w.hidden != "":
	case w.inTitle:
		if len(w.title) < maxHeading {
			w.title += s
		}
	default:
		w.buf.WriteString(s)
	}
}

// open begins an element; value is that of its telling attribute.
func (w *pageWriter) open(a, value string) error {
	if w.hidden != "" {
		if a == w.hidden {
			w.depth++
		}
		return nil
	}
	switch a {
	case "title":
		w.inTitle = w.title == ""
		return nil
	case "a":
		w.openLink(value)
		return nil
	case "br":
		if w.pre {
			w.buf.WriteByte('\n')
		} else {
			w.buf.WriteString(lineBreak)
		}
		return nil
	case "img":
		if value = strings.TrimSpace(value); value != "" {
			w.buf.WriteString(" [" + cut(value) + "] ")
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
	return w.openBlock(a, value)
}

func (w *pageWriter) openBlock(a, value string) error {
	switch {
	case w.inRow && (a == "td" || a == "th"):
		if strings.TrimSpace(w.buf.String()) != "" { // the cell before was never closed
			w.cells = append(w.cells, w.take())
		}
		return nil
	case w.inRow && a != "tr" && a != "table":
		w.buf.WriteByte(' ') // a paragraph within a cell
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	switch a {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.heading = headingOf(a)
	case "ul", "menu":
		w.openList(notNumbered)
	case "ol":
		first, err := strconv.Atoi(value)
		if err != nil || first < 1 || first > maxNumber {
			first = 1
		}
		if w.nav > 0 {
			first = notNumbered + 1
		}
		w.openList(first - 1)
	case "nav":
		w.nav++
	case "li":
		w.item, w.number = true, 0
		if n := len(w.lists); n > 0 && w.lists[n-1] != notNumbered {
			w.lists[n-1]++
			w.number = w.lists[n-1]
		}
	case "dd":
		w.item, w.number = true, 0
	case "pre":
		w.pre = true
	case "tr":
		w.inRow = true
	}
	return nil
}

func (w *pageWriter) openList(number int) {
	if len(w.lists) == maxLists {
		w.deeper++
		return
	}
	w.lists = append(w.lists, number)
}

func (w *pageWriter) closeList() {
	w.item = false
	if w.deeper > 0 {
		w.deeper--
		return
	}
	w.lists = w.lists[:max(len(w.lists)-1, 0)]
}

func (w *pageWriter) close(a string) error {
	if w.hidden != "" {
		if a == w.hidden {
			if w.depth--; w.depth == 0 {
				w.hidden = ""
			}
		}
		return nil
	}
	switch a {
	case "title":
		w.inTitle = false
		return nil
	case "a":
		w.closeLink()
		return nil
	}
	if !blockLevel(a) {
		return nil
	}
	switch {
	case w.inRow && (a == "td" || a == "th"):
		w.cells = append(w.cells, w.take())
		return nil
	case w.inRow && a != "tr" && a != "table":
		w.buf.WriteByte(' ')
		return nil
	}
	err := w.flush()
	switch a {
	case "ul", "ol", "menu":
		w.closeList()
	case "li", "dd", "dt", "dl":
		w.item = false
	case "nav":
		w.nav = max(w.nav-1, 0)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.heading = 0
	}
	return err
}

// flush writes what was collected as a block of the kind that is open.
func (w *pageWriter) flush() error {
	text := w.take()
	if !w.inRow && !w.pre && strings.TrimSpace(text) == "" {
		return nil // an item or a heading that begins with another block is still to come
	}
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
		return w.c.item(len(w.lists), w.number, text)
	}
	return w.c.paragraph(text)
}

func (w *pageWriter) take() string {
	begun := ""
	if w.emptyLink() { // it is one of the next block's text
		begun = w.link
	}
	w.closeLink()
	s := w.buf.String()
	w.buf.Reset()
	if begun != "" {
		w.beginLink(begun)
	}
	return s
}

// valueOf returns an attribute of the tag at hand; of no name: none.
func valueOf(z *html.Tokenizer, name string) string {
	for more := name != ""; more; {
		var key, value []byte
		if key, value, more = z.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

func headingOf(a string) int {
	return int(a[1] - '0')
}

// blockLevel reports elements that end the paragraph before them.
func blockLevel(a string) bool {
	switch a {
	case "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir",
		"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
		"h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "option",
		"p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul":
		return true
	}
	return false
}
