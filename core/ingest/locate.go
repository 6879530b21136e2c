package ingest

import (
	"strings"

	"loci/core"
)

// maxLead is how many lines stand before the text of a chunk in its passage: the headings and the header of a table.
const maxLead = 2

// Locate returns where in a document's text the chunk stands that a passage was made of: its bytes, without blanks around
// them. chunks are those of the document; where it was cut in another way, the passage is looked for by its text. ok is
// false if the text does not hold it.
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
