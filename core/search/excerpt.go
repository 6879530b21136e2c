package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt returns at most limit characters of a text plus a mark for what was cut: all of it, or the first part around a
// word in which most of the words occur.
func Excerpt(text string, words []string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	at := densest(occurrences(text, words), limit-limit/4)
	return part(runes, max(0, min(at-limit/4, len(runes)-limit)), limit)
}

// What Found shows before the words: all that stands there if it is short.
const (
	lead     = 16
	mostLead = 40
)

// Found is an excerpt for where perhaps only its beginning is seen: it begins close before the words.
func Found(text string, words []string, limit int) string {
	runes := []rune(text)
	from := densest(occurrences(text, words), limit-mostLead)
	if from <= mostLead {
		return part(runes, 0, limit)
	}
	from -= lead
	for i := range lead {
		if unicode.IsSpace(runes[from+i]) {
			from += i + 1
			break
		}
	}
	return part(runes, from, limit)
}

// part returns at most limit characters of a text from one on, with marks for what was cut.
func part(runes []rune, from, limit int) string {
	to := min(from+limit, len(runes))
	cut := string(runes[from:to])
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(runes) {
		cut += "…"
	}
	return cut
}

// place is where a word occurs in a text: its first character.
type place struct{ at, word int }

// maxPlaces limits how many times each word is looked for.
const maxPlaces = 100

// occurrences finds words in a text, in order of place.
func occurrences(text string, words []string) []place {
	lower := strings.Map(unicode.ToLower, text) // rune for rune, so that positions stay the same
	var out []place
	for n, w := range words {
		w = strings.ToLower(w)
		at, rest := 0, lower
		for range maxPlaces {
			i := strings.Index(rest, w)
			if i < 0 || w == "" {
				break
			}
			at += utf8.RuneCountInString(rest[:i])
			out = append(out, place{at, n})
			at += utf8.RuneCountInString(w)
			rest = rest[i+len(w):]
		}
	}
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	return out
}

// densest returns the first place within reach of which most of the words begin; 0 if there is none.
func densest(places []place, reach int) int {
	best, most := 0, 0
	seen := map[int]int{} // how often each word begins within reach
	next := 0
	for _, p := range places {
		for ; next < len(places) && places[next].at < p.at+reach; next++ {
			seen[places[next].word]++
		}
		if len(seen) > most {
			best, most = p.at, len(seen)
		}
		if seen[p.word]--; seen[p.word] == 0 {
			delete(seen, p.word)
		}
	}
	return best
}
