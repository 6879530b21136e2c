package ingest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// DefaultViewChars bounds a view where nothing else is said.
const DefaultViewChars = 15_000

// Range asks for lines of a file: Offset lines are skipped, Length are shown. Both unset: from the start.
type Range struct {
	Offset core.Opt[int] // from 0
	Length core.Opt[int]
}

// RangeOf returns the lines that an open file shows.
func RangeOf(o core.OpenFile) Range {
	if o.Start <= 0 {
		return Range{}
	}
	return Range{Offset: core.Some(o.Start - 1), Length: core.Some(max(o.End-o.Start+1, 1))}
}

// ShowOpen renders an open file as it is now. Where the lines that it was opened at are not there any more, it is shown
// from its start.
func ShowOpen(doc core.Document, o core.OpenFile, limit int) (View, error) {
	lines := Lines(doc)
	at := RangeOf(o)
	if at.Offset.Or(0) >= len(lines) {
		at = Range{}
	}
	return Show(lines, at, limit)
}

// View is what an agent sees of an open file.
type View struct {
	Text  string // banner and numbered lines
	Start int    // first line shown, from 1; 0 for an empty file
	End   int    // last line shown
	Total int    // lines of the file
	Cut   bool   // the limit left something out that was asked for
}

// Show renders lines for a view of at most limit characters, banner included. An offset behind the end is invalid. Lines
// are shown whole as long as one fits; a single line above the limit is cut.
func Show(lines []Line, at Range, limit int) (View, error) {
	if limit <= 0 {
		limit = DefaultViewChars
	}
	total := len(lines)
	offset, length := at.Offset.Or(0), at.Length.Or(total)
	switch {
	case offset < 0 || at.Length.Set() && length <= 0:
		return View{}, core.E(core.Invalid, "an offset cannot be negative and a length must be at least 1")
	case offset >= total && (total > 0 || offset > 0):
		return View{}, core.E(core.Invalid, "offset %d is behind the end of the file, which has %d lines", offset, total).WithHint("use an offset from 0 to %d", max(total-1, 0))
	}
	last := offset + min(length, total-offset)
	fromStart := !at.Offset.Set() && !at.Length.Set()
	banner := func(end int) string {
		if fromStart {
			return fmt.Sprintf("[Viewing file start (out of %d lines)]", total)
		}
		return fmt.Sprintf("[Viewing lines %d to %d (out of %d lines)]", offset+1, end, total)
	}
	room := limit - utf8.RuneCountInString(banner(last))
	var body strings.Builder
	end := offset
	for ; end < last; end++ {
		row := fmt.Sprintf("\n%d: %s", end+1, lines[end].Text)
		n := utf8.RuneCountInString(row)
		if n > room {
			if end == offset && room > 0 {
				body.WriteString(firstRunes(row, room))
				end++
			}
			return View{Text: firstRunes(banner(end)+body.String(), limit), Start: min(offset+1, end), End: end, Total: total, Cut: true}, nil
		}
		room -= n
		body.WriteString(row)
	}
	return View{Text: banner(end) + body.String(), Start: min(offset+1, end), End: end, Total: total}, nil
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
