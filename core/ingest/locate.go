package ingest

import (
	"strings"

	"loci/core"
)

// maxLead is how many lines precede a chunk's text in its passage: the headings and a table's header.
const maxLead = 2

// Locate returns the position in a document's text of the chunk a passage was made from: its bytes, without surrounding
// blanks. chunks are the document's; if it was cut differently then, the passage is found by its text. ok is false if
// the text doesn't contain it.
func Locate(doc core.Document, chunks []Chunk, p core.Passage) (start, end int, ok bool) {
	if p.Place >= 0 && p.Place < len(chunks) && chunks[p.Place].Passage() == p.Text {
		c := chunks[p.Place]
		body := strings.TrimSpace(c.Text)
		start = c.Start + strings.Index(c.Text, body)
		return start, start + len(body), true
	}
	body := strings.TrimSpace(p.Text)
	for range maxLead + 1 {
		if body == "" {
			break
		}
		if start = strings.Index(doc.Text, body); start >= 0 {
			return start, start + len(body), true
		}
		_, rest, _ := strings.Cut(body, "\n")
		body = strings.TrimSpace(rest)
	}
	return 0, 0, false
}
