package table

import (
	"github.com/kljensen/snowball/english"

	"loci/core/search"
)

// Key returns the stem under which a written word stands in the table, empty for stop words and for what is no plain
// lower-case word of a to z. base maps irregular forms. It is core/search's way to a word, with the exceptions of the
// table in place of search's own list, so that a table fits its reader whatever that list becomes.
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

// StopWord reports words that search does not look at.
func StopWord(word string) bool { return len(search.Words(word)) == 0 }
