package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt returns at most limit characters of a text plus a mark for what was cut: all of it, or the part around the
// first of the words.
func Excerpt(text string, words []string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	at := len(runes)
	lower := strings.Map(unicode.ToLower, text) // rune for rune, so that positions stay the same
	for _, w := range words {
		if i := strings.Index(lower, strings.ToLower(w)); i >= 0 {
			at = min(at, utf8.RuneCountInString(lower[:i]))
		}
	}
	if at == len(runes) {
		at = 0
	}
	from := max(0, min(at-limit/4, len(runes)-limit))
	cut := string(runes[from : from+limit])
	if from > 0 {
		cut = "…" + cut
	}
	if from+limit < len(runes) {
		cut += "…"
	}
	return cut
}
