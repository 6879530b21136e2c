package redact

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// pattern matches a text however its accents are written: a letter with its accent is one character in some programs, a
// letter and marks in others, and a text that was put together from both mixes them. So each letter has alternatives,
// and the text isn't multiplied by them.
type pattern []segment

// segment is a part of a text in each way in which it may be written: letters with marks in some, anything else in one.
// No way begins with another: they are the same text.
type segment []string

// maxMixed is how many bytes of texts may have alternatives, which take much more room than what they stand for. A text
// beyond that is searched for as it is, and wholly composed or decomposed.
const maxMixed = 64 << 10

// patterns returns one pattern for each way in which a text may be escaped. fold adds the letters' other cases.
func patterns(text string, mixed, fold bool) []pattern {
	all := []pattern{written(text, fold)}
	if !mixed {
		all = []pattern{{{text}}, {{norm.NFC.String(text)}}, {{norm.NFD.String(text)}}}
	}
	for _, p := range slices.Clone(all) {
		for _, write := range escapers() {
			once := p.escaped(write)
			all = append(all, once, once.escaped(write))
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(p pattern) bool {
		id := p.String()
		was := seen[id]
		seen[id] = true
		return was
	})
}

// written splits a text into its segments.
func written(text string, fold bool) pattern {
	var p pattern
	start, at := 0, 0
	for at < len(text) {
		n := plainRun(text[at:])
		if n > 0 {
			at += n
			continue
		}
		n = norm.NFC.NextBoundaryInString(text[at:], true)
		if ways := spellings(text[at:at+n], fold); len(ways) > 1 {
			if start < at {
				p = append(p, segment{text[start:at]})
			}
			p = append(p, ways)
			start = at + n
		}
		at += n
	}
	if start < at {
		p = append(p, segment{text[start:]})
	}
	return p
}

// plainRun is how many bytes at the beginning of a text are ASCII and combine with nothing.
func plainRun(text string) int {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return max(i-1, 0) // the last may carry marks
		}
	}
	return len(text)
}

// spellings returns the ways to write a letter with its marks: composed up to any of the marks, with any of them first,
// as the Vietnamese keyboard of Windows has it.
func spellings(letter string, fold bool) segment {
	cases := []string{letter}
	if fold { // a letter's other case may have a different length
		cases = append(cases, strings.ToLower(letter), strings.ToUpper(letter))
	}
	all := segment{}
	add := func(s string) {
		same := func(t string) bool { return s == t || fold && strings.EqualFold(s, t) }
		if !slices.ContainsFunc(all, same) {
			all = append(all, s)
		}
	}
	for _, c := range cases {
		add(c)
		apart := norm.NFD.String(c)
		for first := range max(utf8.RuneCountInString(apart)-1, 1) {
			order := []rune(apart)
			for i := first + 1; i > 1; i-- {
				order[i], order[i-1] = order[i-1], order[i]
			}
			for i := range order {
				if s := norm.NFC.String(string(order[:i+1])) + string(order[i+1:]); norm.NFD.String(s) == apart {
					add(s)
				}
			}
		}
	}
	return all
}

// escaped returns the pattern of the text inside a string that is written like this. Every escape is of one character,
// so that parts can be escaped on their own.
func (p pattern) escaped(write func(string) string) pattern {
	out := make(pattern, len(p))
	for i, s := range p {
		out[i] = make(segment, len(s))
		for j, way := range s {
			out[i][j] = write(way)
		}
	}
	return out
}

// String identifies a pattern.
func (p pattern) String() string {
	var b strings.Builder
	for _, s := range p {
		for _, way := range s {
			b.WriteString(way + "\x00")
		}
		b.WriteString("\x00")
	}
	return b.String()
}

// match returns the length of the text at the beginning of s; 0: it isn't there.
func (p pattern) match(s string) int {
	n := 0
	for _, part := range p {
		i := slices.IndexFunc(part, func(way string) bool { return strings.HasPrefix(s[n:], way) })
		if i < 0 {
			return 0
		}
		n += len(part[i])
	}
	return n
}

// heads returns the first bytes of all that the pattern matches.
func (p pattern) heads() []string {
	heads := []string{""}
	for _, s := range p {
		var longer []string
		for _, h := range heads {
			if len(h) >= headBytes {
				longer = append(longer, h)
				continue
			}
			for _, way := range s {
				longer = append(longer, h+way[:min(len(way), headBytes-len(h))])
			}
		}
		heads = longer
		if !slices.ContainsFunc(heads, func(h string) bool { return len(h) < headBytes }) {
			break
		}
	}
	slices.Sort(heads)
	return slices.Compact(heads)
}

// longest is the length of the longest text that the pattern matches.
func (p pattern) longest() int {
	n := 0
	for _, s := range p {
		most := 0
		for _, way := range s {
			most = max(most, len(way))
		}
		n += most
	}
	return n
}

// hint returns the longest part of the text that is the same however it is written; "": none is.
func (p pattern) hint() string {
	best := ""
	for _, s := range p {
		if part := longestPlain(s[0]); len(s) == 1 && len(part) > len(best) {
			best = part
		}
	}
	return best
}

// expression returns the pattern as a regular expression; quote quotes a string.
func (p pattern) expression(quote func(string) string) string {
	var b strings.Builder
	for _, s := range p {
		ways := make([]string, len(s))
		for i, way := range s {
			ways[i] = quote(way)
		}
		if len(s) == 1 {
			b.WriteString(ways[0])
		} else {
			b.WriteString("(?:" + strings.Join(ways, "|") + ")")
		}
	}
	return b.String()
}
