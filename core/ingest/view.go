package ingest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// DefaultViewChars limits a view if nothing else is given.
const DefaultViewChars = 15_000

// Range selects lines of a file: Offset lines are skipped, Length are shown. Both unset: from the start. Skip is how
// many characters of the first shown line are skipped too, if an earlier view ended within it.
type Range struct {
	Offset core.Opt[int] // from 0
	Length core.Opt[int]
	Skip   int
}

// RangeOf returns the lines that an open file shows.
func RangeOf(o core.OpenFile) Range {
	if o.Start <= 0 {
		return Range{}
	}
	return Range{Offset: core.Some(o.Start - 1), Length: core.Some(max(o.End-o.Start+1, 1))}
}

// ShowOpen renders an open file as it is now. If the lines it was opened at no longer exist, it is shown from its start.
func ShowOpen(doc core.Document, o core.OpenFile, limit int) (View, error) {
	lines := Lines(doc)
	at := RangeOf(o)
	if at.Offset.Or(0) >= CountLines(lines) {
		at = Range{}
	}
	return Show(lines, at, limit)
}

// View is what an agent sees of an open file.
type View struct {
	Text  string // banner and numbered lines
	Start int    // first line shown, from 1; 0 for an empty file
	End   int    // last line shown
	Shown int    // characters of line End that this view and those before it showed, where the limit cut it; 0: all
	Total int    // lines of the file
	Cut   bool   // the limit cut off something that was requested
}

// Next returns the range that continues a view that was cut; ok is false if nothing is left.
func (v View) Next() (offset, skip int, ok bool) {
	if v.Shown > 0 {
		return v.End - 1, v.Shown, true
	}
	return v.End, 0, v.Cut && v.End < v.Total
}

// Show renders lines in a view of at most limit characters, banner included. An offset past the end is invalid. The
// pieces of a long line are rows with the same number. Rows are shown whole as long as one fits; a single row longer
// than the limit is cut.
func Show(lines []Line, at Range, limit int) (View, error) {
	if limit <= 0 {
		limit = DefaultViewChars
	}
	total := CountLines(lines)
	offset, length := at.Offset.Or(0), at.Length.Or(total)
	switch {
	case offset < 0 || at.Skip < 0 || at.Length.Set() && length <= 0:
		return View{}, core.E(core.Invalid, "an offset cannot be negative and a length must be at least 1")
	case offset >= total && (total > 0 || offset > 0):
		return View{}, core.E(core.Invalid, "offset %d is behind the end of the file, which has %d lines", offset, total).
			WithHint("use an offset from 0 to %d", max(total-1, 0))
	}
	last := offset + min(length, total-offset)
	rows, ok := behind(lines[rowOf(lines, offset+1):rowOf(lines, last+1)], at.Skip)
	if !ok {
		return View{}, core.E(core.Invalid, "line %d has fewer than %d characters", offset+1, at.Skip+1).
			WithHint("go on with offset %d", offset+1)
	}
	return render(rows, frame{
		offset:    offset,
		last:      last,
		total:     total,
		shown:     at.Skip,
		limit:     limit,
		fromStart: !at.Offset.Set() && !at.Length.Set() && at.Skip == 0,
	}), nil
}

// behind returns rows without the first skip characters of their first line; ok is false if the line has no more.
func behind(rows []Line, skip int) (_ []Line, ok bool) {
	for i := range rows {
		if rows[i].Number != rows[0].Number {
			break
		}
		n := utf8.RuneCountInString(rows[i].Text)
		if skip < n {
			rest := slices.Clone(rows[i:])
			rest[0].Text = rest[0].Text[len(firstRunes(rest[0].Text, skip)):]
			return rest, true
		}
		if skip == 0 {
			return rows[i:], true
		}
		skip -= n
	}
	return nil, skip == 0 && len(rows) == 0
}

// frame is the part of a file to render.
type frame struct {
	offset, last, total int  // lines
	shown               int  // characters of the first line that are left out
	limit               int  // characters
	fromStart           bool // nothing narrows it
}

func (v *frame) banner(end int) string {
	if v.fromStart {
		return fmt.Sprintf("[Viewing file start (out of %d lines)]", v.total)
	}
	return fmt.Sprintf("[Viewing lines %d to %d (out of %d lines)]", v.offset+1, end, v.total)
}

func render(rows []Line, v frame) View {
	room := v.limit - utf8.RuneCountInString(v.banner(v.last))
	var body strings.Builder
	end, shown := v.offset, v.shown // characters of line end
	for i := range rows {
		l := &rows[i]
		head := fmt.Sprintf("\n%d: ", l.Number)
		chars, lead := utf8.RuneCountInString(l.Text), utf8.RuneCountInString(head)
		if l.Number > end {
			if i > 0 {
				shown = 0
			}
			end = l.Number
		}
		if lead+chars > room {
			switch {
			case i == 0 && room > 0:
				body.WriteString(firstRunes(head+l.Text, room))
				shown += max(room-lead, 0)
			case i == 0 || rows[i-1].Number < l.Number: // nothing of the line is shown
				end, shown = l.Number-1, 0
			}
			return View{
				Text: firstRunes(
					v.banner(end)+body.String(),
					v.limit,
				),
				Start: min(v.offset+1, end),
				End:   end,
				Shown: shown,
				Total: v.total,
				Cut:   true,
			}
		}
		room -= lead + chars
		shown += chars
		body.WriteString(head + l.Text)
	}
	return View{Text: v.banner(end) + body.String(), Start: min(v.offset+1, end), End: end, Total: v.total}
}

// firstRunes returns the first n characters.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
