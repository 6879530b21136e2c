package table

import (
	"github.com/kljensen/snowball/english"

	"loci/core/search"
)

// Key returns the stem under which the table has a written word, empty for stop words and for anything but a plain
// lower-case word of a to z. base maps irregular forms. It does what core/search does, but with the table's exceptions
// instead of search's own list, so that a table fits its reader even if that list changes.
func Key(word string, base func(string) string) string {
	if !Plain(word) || StopWord(word) {
		return ""
	}
	return english.Stem(base(word), true)
}

// Plain reports words of the letters a to z.
func Plain(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return word != ""
}

// StopWord reports words that search ignores.
func StopWord(word string) bool { return len(search.Words(word)) == 0 }
