package tui

import (
	"slices"
	"strings"
	"unicode"

	"loci/tui/term"
	"loci/tui/transcript"
)

const (
	excerptLead = 12      // characters shown before the words of an excerpt
	excerptMost = 200_000 // characters in which they are looked for
)

// excerpt is a text on one line of width cells: its beginning, or the part with
// the words if they come later.
func excerpt(text string, words []string, width int) string {
	line := transcript.OneLine(text)
	if term.Width(line) <= width {
		return line
	}
	runes := []rune(line)
	at := passage(runes, words, width-excerptLead)
	if at <= width/2 {
		return transcript.Short(line, width)
	}
	from := at - excerptLead
	if i := slices.Index(runes[from:at], ' '); i >= 0 {
		from += i + 1
	}
	return transcript.Short("…"+string(runes[from:]), width)
}

// passage is where most of the words stand closest together, within reach
// characters of the first of them; 0 if there is none.
func passage(text []rune, words []string, reach int) int {
	places := occurrences(text, words)
	best, most, least := 0, 0, 0
	for i, first := range places {
		seen := map[int]bool{}
		span := 0
		for _, p := range places[i:] {
			if p.at >= first.at+reach {
				break
			}
			if !seen[p.word] {
				seen[p.word], span = true, p.at-first.at
			}
		}
		if len(seen) > most || len(seen) == most && span < least {
			best, most, least = first.at, len(seen), span
		}
	}
	return best
}

// occurrence is where a word stands in a text: its first character.
type occurrence struct{ at, word int }

// occurrences finds the words in a text, in order.
func occurrences(text []rune, words []string) []occurrence {
	text = text[:min(len(text), excerptMost)]
	lower := make([]rune, len(text)) // rune for rune, so that positions stay the same
	for i, c := range text {
		lower[i] = unicode.ToLower(c)
	}
	wanted := make([][]rune, len(words))
	for i, w := range words {
		wanted[i] = []rune(strings.ToLower(w))
	}
	var out []occurrence
	for at := range lower {
		if at > 0 && letter(lower[at-1]) && letter(lower[at]) {
			continue // inside a word
		}
		for n, w := range wanted {
			if len(w) > 0 && at+len(w) <= len(lower) && slices.Equal(lower[at:at+len(w)], w) {
				out = append(out, occurrence{at, n})
			}
		}
	}
	return out
}

func letter(c rune) bool {
	return unicode.In(c, unicode.Latin, unicode.Cyrillic, unicode.Greek) || unicode.IsDigit(c) // others may have no spaces
}
