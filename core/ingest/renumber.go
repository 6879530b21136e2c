package ingest

import (
	"slices"
	"strings"

	"loci/core"
)

// Renumbering maps the original line numbers of text, code, CSV and JSON to the current ones. Originally text was
// counted by sentences, blank lines of tables didn't count, and the pieces of a long line were counted one by one.
type Renumbering struct{ before, now []Line }

// NewRenumbering returns the renumbering of a document; ok is false if its line numbers haven't changed.
func NewRenumbering(doc core.Document) (r Renumbering, ok bool) {
	if !ownLines(doc.Kind) {
		return r, false
	}
	r = Renumbering{before: firstNumbers(doc), now: Lines(doc)}
	same := slices.EqualFunc(r.before, r.now, func(a, b Line) bool {
		return a.Number == b.Number && a.Start == b.Start // a sentence includes the newline after it
	})
	return r, !same
}

// firstNumbers numbers a document the original way.
func firstNumbers(doc core.Document) []Line {
	if doc.Kind == core.FileText {
		return counted(wrapped(doc.Text, proseLines(doc.Text, false)))
	}
	var out []Line
	for l := range physical(doc.Text) {
		text := doc.Text[l.start:l.end]
		if doc.Kind == core.FileCode || strings.TrimSpace(text) != "" {
			out = append(out, Line{Text: plain(text), Start: l.start, End: l.end})
		}
	}
	return counted(wrapped(doc.Text, out))
}

// Lines returns the lines with their current numbers.
func (r Renumbering) Lines() []Line { return r.now }

// Range returns the current lines with the content of the old lines start to end; 0 and 0 if there were none.
func (r Renumbering) Range(start, end int) (from, to int) {
	if start < 1 || start > len(r.before) {
		return 0, 0
	}
	end = min(max(start, end), len(r.before))
	return LineAt(r.now, r.before[start-1].Start), LineAt(r.now, max(r.before[end-1].End-1, r.before[start-1].Start))
}
