package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt returns a text of at most limit characters and a mark of what was cut: whole, or the part around the first of
// the words.
func Excerpt(text string, words []string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	at := len(runes)
	lower := strings.Map(unicode.ToLower, text) // rune for rune, so that places stay the same
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
