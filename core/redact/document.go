package redact

import (
	"strings"

	"loci/core"
)

// Document redacts the text of a file and moves its sections accordingly.
func (r *Redactor) Document(d *core.Document) {
	d.Title = r.Text(d.Title)
	bounds := make([]int, 0, 2*len(d.Sections))
	for i := range d.Sections {
		s := &d.Sections[i]
		bounds = append(bounds, s.Start, s.End)
		for j := range s.Path {
			s.Path[j] = r.Text(s.Path[j])
		}
	}
	d.Text = r.move(d.Text, bounds)
	if r.Finds(d.Text) {
		d.Text, d.Sections = r.Text(d.Text), nil
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		s.Start, s.End = bounds[2*i], bounds[2*i+1]
		s.Line = 1 + strings.Count(d.Text[:s.Start], "\n")
		s.EndLine = s.Line + strings.Count(strings.TrimSuffix(d.Text[s.Start:s.End], "\n"), "\n")
	}
}

// move is swap for a text with positions, in increasing order, that it adjusts.
func (r *Redactor) move(text string, places []int) string {
	var b strings.Builder
	from, at := 0, 0
	for {
		start, end := r.next(text, from)
		if start < 0 {
			start, end = len(text), len(text)+1
		}
		for ; at < len(places) && places[at] <= start; at++ {
			places[at] += b.Len() - from
		}
		b.WriteString(text[from:start])
		if start == len(text) {
			return b.String()
		}
		b.WriteString(r.Mark)
		for ; at < len(places) && places[at] < end; at++ {
			places[at] = b.Len()
		}
		from = end
	}
}
