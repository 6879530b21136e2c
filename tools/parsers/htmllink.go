package parsers

import (
	"bytes"
	"strings"
)

// maxAddress bounds the address of a link that is kept, in bytes.
const maxAddress = 500

// openLink begins the text of a link, if links are kept and this one leads to another page.
func (w *pageWriter) openLink(href string) {
	w.closeLink()
	if to := w.target(href); to != "" && !w.pre {
		w.beginLink(to)
	}
}

func (w *pageWriter) beginLink(to string) {
	w.link = to
	w.buf.WriteByte('[')
	w.linkAt = w.buf.Len()
}

// closeLink ends the text of a link, in the manner of Markdown. One without a text is left out.
func (w *pageWriter) closeLink() {
	if w.link == "" {
		return
	}
	to, empty := w.link, w.emptyLink()
	w.link = ""
	if empty {
		w.buf.Truncate(w.linkAt - 1)
		w.buf.WriteByte(' ')
		return
	}
	w.buf.WriteString("](" + to + ")")
}

// emptyLink reports whether a link is open that has no text so far.
func (w *pageWriter) emptyLink() bool {
	return w.link != "" && len(bytes.TrimSpace(w.buf.Bytes()[w.linkAt:])) == 0
}

// target is the address that a link leads to; empty: to no other page.
func (w *pageWriter) target(href string) string {
	href = strings.TrimSpace(href)
	if w.address == nil || href == "" || href[0] == '#' || len(href) > maxAddress {
		return ""
	}
	to, err := w.address.Parse(href)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.User != nil {
		return ""
	}
	text := to.String()
	if len(text) > maxAddress {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(text)
}
