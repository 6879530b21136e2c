package parsers

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxParagraph bounds the lines of one paragraph.
const maxParagraph = 400

// pdfLine is a line as it is printed.
type pdfLine struct {
	text      strings.Builder
	x0, x1, y float64
	size      float64
	turn      int
}

// layPages writes pages as headings and paragraphs: runs are joined to lines in the order in which they are drawn, which
// keeps columns apart, and lines to paragraphs, so that a sentence can be found that is printed on two lines.
func layPages(c *composer, pages [][]pdfRun, notes [][]string) error {
	lines := make([][]*pdfLine, len(pages))
	for i, runs := range pages {
		if err := c.j.ctx.Err(); err != nil {
			return err
		}
		lines[i] = toLines(runs)
	}
	body := bodySize(lines)
	for i, page := range lines {
		c.page(i + 1)
		if err := layPage(c, page, body); err != nil {
			return err
		}
		for _, note := range notes[i] {
			if err := c.paragraph(note); err != nil {
				return err
			}
		}
	}
	return nil
}

// toLines joins what stands on one height, with a blank where a gap is wide enough to be one.
func toLines(runs []pdfRun) []*pdfLine {
	var out []*pdfLine
	var cur *pdfLine
	var last pdfRun
	for _, r := range runs {
		if last.text == r.text && near(last.x0, r.x0, 0.3*r.size) && near(last.y, r.y, 0.3*r.size) && len(r.text) > 1 {
			continue // drawn twice to look bold
		}
		before := last
		last = r
		size := 0.0
		if cur != nil {
			size = math.Max(cur.size, r.size)
		}
		if cur == nil || cur.turn != r.turn || math.Abs(cur.y-r.y) > 0.45*size || r.x0 < cur.x1-1.5*size {
			cur = &pdfLine{x0: r.x0, x1: r.x1, y: r.y, size: r.size, turn: r.turn}
			cur.text.WriteString(r.text)
			out = append(out, cur)
			continue
		}
		if parted(before, r, cur.x1, size) && !strings.HasSuffix(cur.text.String(), " ") && !strings.HasPrefix(r.text, " ") {
			cur.text.WriteByte(' ')
		}
		cur.text.WriteString(r.behind(before, cur.x1, size))
		cur.x1 = math.Max(cur.x1, r.x1)
		if r.size > cur.size {
			cur.size, cur.y = r.size, r.y
		}
	}
	return slices.DeleteFunc(out, func(l *pdfLine) bool { return strings.TrimSpace(l.text.String()) == "" })
}

// behind returns the text of a run that stands behind another, which ends at x1, without a space at its beginning that lies
// below a ligature: some files count the letters of one and draw the rest of the word where it belongs.
func (r pdfRun) behind(before pdfRun, x1, size float64) string {
	if before.ligature && r.x0 < x1-wordGap*size && near(r.ink, x1, noSpace*size) {
		return strings.TrimLeft(r.text, " ")
	}
	return r.text
}

// parted reports a gap between a line that ends at x1 and the next run of it, unless it is only the character spacing that
// both of them have between their own letters too.
func parted(before, r pdfRun, x1, size float64) bool {
	gap := r.x0 - x1
	spacing := before.tail > 0 && near(before.tail, r.tail, 0.01*size) && near(gap, before.tail, 0.02*size) && gap < maxTrack*size
	return gap > wordGap*size && !spacing
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

// bodySize returns the size in which most of the text is set.
func bodySize(pages [][]*pdfLine) float64 {
	count := map[int]int{}
	for _, lines := range pages {
		for _, l := range lines {
			count[int(math.Round(l.size*2))] += l.text.Len()
		}
	}
	best := 0
	for size, n := range count {
		if n > count[best] || n == count[best] && size < best {
			best = size
		}
	}
	return float64(best) / 2
}

func layPage(c *composer, lines []*pdfLine, body float64) error {
	right, leading := rightEdges(lines), usualLeading(lines)
	for i := 0; i < len(lines); {
		text := strings.TrimSpace(lines[i].text.String())
		end := i + 1
		ratio := lines[i].size / math.Max(body, 0.1)
		for end < len(lines) && end-i < maxParagraph {
			if !continues(lines[end-1], lines[end], lines[i], right, leading) &&
				!(ratio >= headingRatio && sameHeading(lines[end-1], lines[end])) {
				break
			}
			text = joinLines(text, strings.TrimSpace(lines[end].text.String()))
			end++
		}
		var err error
		if ratio >= headingRatio && end-i <= 3 && len(text) <= maxHeading && hasLetter(text) {
			err = c.heading(headingRank(ratio), text)
		} else {
			err = c.paragraph(text)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// headingRatio is how much larger than the body a heading is set.
const headingRatio = 1.15

// sameHeading reports that a heading goes on in the next line, which a centred one does without filling its column.
func sameHeading(prev, cur *pdfLine) bool {
	down := (prev.y - cur.y) / math.Max(cur.size, 0.1)
	return prev.turn == cur.turn && near(prev.size, cur.size, 0.05*cur.size) && down > 0.5 && down < 1.45
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

func headingRank(ratio float64) int {
	switch {
	case ratio >= 1.7:
		return 1
	case ratio >= 1.35:
		return 2
	}
	return 3
}

// column tells lines that begin at about the same place.
func column(l *pdfLine) int { return int(l.x0 / 24) }

// rightEdges returns how far the lines of each column reach.
func rightEdges(lines []*pdfLine) map[int]float64 {
	m := map[int]float64{}
	for _, l := range lines {
		for k := column(l) - 1; k <= column(l)+1; k++ {
			if edge, ok := m[k]; !ok || l.x1 > edge {
				m[k] = l.x1
			}
		}
	}
	return m
}

// usualLeading returns the usual distance of two lines, in sizes.
func usualLeading(lines []*pdfLine) float64 {
	var ds []float64
	for i := 1; i < len(lines); i++ {
		if d := (lines[i-1].y - lines[i].y) / math.Max(lines[i].size, 0.1); d > 0.8 && d < 3 {
			ds = append(ds, d)
		}
	}
	if len(ds) == 0 {
		return 1.2
	}
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// continues reports whether a line carries on the paragraph that the line before it belongs to.
func continues(prev, cur, first *pdfLine, right map[int]float64, leading float64) bool {
	a, b := strings.TrimSpace(prev.text.String()), strings.TrimSpace(cur.text.String())
	if prev.turn != cur.turn || cur.size > prev.size*1.12 || cur.size < prev.size*0.88 || bulleted(b) {
		return false
	}
	edge := right[column(prev)]
	full := prev.x1 >= edge-0.18*(edge-prev.x0)-cur.size
	down := (prev.y - cur.y) / math.Max(cur.size, 0.1)
	if down <= 0.3 || down > 3 {
		// Another column or a jump: only a sentence that is plainly unfinished goes on there.
		next, _ := utf8.DecodeRuneInString(b)
		return full && unicode.IsLower(next) && !strings.ContainsAny(a[len(a)-1:], ".!?:")
	}
	if down > leading*1.3+0.1 || !full {
		return false
	}
	indent := cur.x0 - prev.x0
	if prev == first {
		// The second line may stand out to the left of an indented first one, or hang below an item's text.
		return indent < 0.8*cur.size || bulleted(a)
	}
	return near(indent, 0, 0.8*cur.size)
}

// bulleted reports a line that begins an item.
func bulleted(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("•‣▪●◦–*-", r) && len(s) > n && s[n] == ' ' {
		return true
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && digits < 4 && len(s) > digits+1 && (s[digits] == '.' || s[digits] == ')') && s[digits+1] == ' '
}

// joinLines undoes a line break: a hyphen between lower-case letters was put there by it.
func joinLines(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	next, _ := utf8.DecodeRuneInString(b)
	if last == '-' || last == '\u00ad' || last == '‐' {
		stem := strings.TrimRight(a, "-\u00ad‐")
		before, _ := utf8.DecodeLastRuneInString(stem)
		if unicode.IsLower(before) && unicode.IsLower(next) {
			return stem + b
		}
		return a + b
	}
	if unicode.In(last, unicode.Han, unicode.Hiragana, unicode.Katakana) &&
		unicode.In(next, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return a + b
	}
	return a + " " + b
}
