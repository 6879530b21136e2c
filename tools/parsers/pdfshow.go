package parsers

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pdfRun is a string that was shown at a place: along the direction of writing from x0 to x1, at height y above the
// bottom, whichever way the page is turned.
type pdfRun struct {
	text      string
	x0, x1, y float64
	ink       float64 // where the first glyph begins that is no space
	tail      float64 // character spacing behind x1, where the next glyph would go
	size      float64
	ligature  bool // it ends with one
	turn      int  // quarter turns of the direction of writing
}

// sign is a glyph at its place: where it begins and ends in the space of the text, from the beginning of what is shown
// and before horizontal scaling. The next one begins behind character and word spacing and what the file moves it by.
type sign struct {
	glyph
	x0, x1 float64
}

// Shares of the font's size.
const (
	wordGap  = 0.17 // a gap that parts words
	noSpace  = 0.1  // a space that moves on by less, and was wider, is none
	minTrack = 0.03 // letters set apart have at least this between them,
	maxTrack = 0.6  // and at most this
	backward = -1.5 // what begins so far back does not belong to what stands before
)

// The letters it takes to tell that they are set apart from one another, and are not words; and the gaps it takes for the
// usual one to lie within words, since in less there may be as many words as gaps.
const (
	minTracked = 4
	minUsual   = 12
)

// maxSigns bounds what is looked at together.
const maxSigns = 4096

// show places strings, and numbers that move what follows, and moves on. Word gaps are seen from where the glyphs stand:
// files part words by character spacing as well as by spaces, and have spaces that word spacing takes back.
func (d *drawing) show(parts []operand) error {
	s := &d.state
	if s.font == nil {
		return nil
	}
	x := 0.0
	for _, part := range parts {
		switch part.kind {
		case opNumber:
			x -= part.num / 1000 * s.size
		case opString:
			for g := range s.font.glyphs(part.str) {
				if len(d.signs) == maxSigns {
					if err := d.flush(x); err != nil {
						return err
					}
					x = 0
				}
				at := sign{glyph: g, x0: x, x1: x + g.width*s.size}
				d.signs = append(d.signs, at)
				x += d.advance(g)
			}
		}
	}
	return d.flush(x)
}

// advance returns how far a glyph moves on.
func (d *drawing) advance(g glyph) float64 {
	x := g.width*d.state.size + d.state.char
	if g.widened {
		x += d.state.word
	}
	return x
}

// flush writes the signs and moves on to x.
func (d *drawing) flush(x float64) error {
	err := d.write()
	d.tm = matrix{1, 0, 0, 1, x * d.state.scale, 0}.then(d.tm)
	d.signs = d.signs[:0]
	return err
}

// write makes runs of the signs that are shown.
func (d *drawing) write() error {
	var text strings.Builder
	var x0, x1, ink float64
	track := d.tracking()
	for _, g := range d.signs {
		if g.blank() && g.width >= noSpace && math.Abs(d.share(d.advance(g.glyph))) < min(noSpace, g.width/2) {
			continue
		}
		gap := d.share(g.x0 - x1)
		switch {
		case text.Len() == 0:
			x0 = g.x0
		case gap < backward:
			if err := d.add(text.String(), x0, x1, ink, 0); err != nil {
				return err
			}
			text.Reset()
			x0 = g.x0
		case gap-track > wordGap && g.text != "" && !g.blank() && !strings.HasSuffix(text.String(), " "):
			text.WriteByte(' ')
		}
		if strings.TrimSpace(text.String()) == "" {
			ink = g.x0
		}
		text.WriteString(g.text)
		x1 = g.x1
	}
	if track > 0 {
		return d.add(text.String(), x0, x1+track*d.state.size, ink, 0)
	}
	return d.add(text.String(), x0, x1, ink, d.state.char)
}

// share returns a length of the space of the text as a share of the font's size.
func (d *drawing) share(length float64) float64 {
	if d.state.size == 0 {
		return 0
	}
	return length / d.state.size
}

// tracking returns by how much the letters of what is shown stand apart from one another where no word ends, as those of
// headings and of loose lines do: it is what most gaps have, so it parts no words.
func (d *drawing) tracking() float64 {
	d.gaps = d.gaps[:0]
	letter := false
	for i, g := range d.signs {
		before := letter
		if letter = letters(g.text); letter && before {
			d.gaps = append(d.gaps, d.share(g.x0-d.signs[i-1].x1))
		}
	}
	own := d.share(d.state.char)
	switch {
	case len(d.gaps) >= minTracked-1:
		slices.Sort(d.gaps)
		track := d.gaps[len(d.gaps)/8]
		if len(d.gaps) >= minUsual {
			track = d.gaps[len(d.gaps)/2]
		}
		if track < minTrack || track > maxTrack {
			return 0
		}
		if track > own/2 {
			d.track = d.state.char
		}
		return track
	case d.state.char == d.track && own >= minTrack && own <= maxTrack:
		return own
	}
	return 0
}

// ligature reports a text that ends with a glyph of several letters.
func (d *drawing) ligature() bool {
	if len(d.signs) == 0 {
		return false
	}
	last := d.signs[len(d.signs)-1].text
	r, n := utf8.DecodeRuneInString(last)
	return unicode.IsLetter(r) && (n < len(last) || r >= 'ﬀ' && r <= 'ﬆ')
}

// letters reports a glyph that can be part of a word.
func letters(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// add remembers a text that stands from x0 to x1 in the space of the text.
func (d *drawing) add(text string, x0, x1, ink, tail float64) error {
	if text == "" {
		return nil
	}
	if d.r.text += len(text); d.r.text > d.r.j.limits.Text {
		return d.r.j.tooMuchText()
	}
	begin, end := d.place(x0), d.place(x1)
	turn := (int(math.Round(math.Atan2(begin[1], begin[0])/(math.Pi/2))) + 4) % 4
	run := pdfRun{text: text, turn: turn, size: math.Abs(d.state.size * math.Hypot(begin[2], begin[3])), ligature: d.ligature()}
	run.x0, run.y = along(begin, turn)
	run.x1, _ = along(end, turn)
	run.ink, _ = along(d.place(ink), turn)
	run.tail, _ = along(d.place(x1+tail), turn)
	run.tail -= run.x1
	if !finite(run.x0, run.x1, run.y, run.size, run.ink, run.tail) || run.size == 0 {
		run = pdfRun{text: text, turn: turn, size: 1}
	}
	d.runs = append(d.runs, run)
	return nil
}

// place returns the map to the page from the space of a glyph that begins at x.
func (d *drawing) place(x float64) matrix {
	return matrix{1, 0, 0, 1, x * d.state.scale, d.state.rise}.then(d.tm).then(d.state.ctm)
}

// along returns how far m's origin is in the direction of writing, and how high above the bottom.
func along(m matrix, turn int) (x, y float64) {
	switch turn {
	case 1:
		return m[5], -m[4]
	case 2:
		return -m[4], -m[5]
	case 3:
		return -m[5], m[4]
	}
	return m[4], m[5]
}

func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.Abs(v) > 1e9 {
			return false
		}
	}
	return true
}
