package search

import (
	_ "embed" // the irregular forms
	"strings"
	"sync"
)

// irregularForms are WordNet's, see NOTICE.
//
//go:embed irregular.txt
var irregularForms string

var irregular = sync.OnceValue(func() map[string]string {
	forms := make(map[string]string, 4096)
	for line := range strings.Lines(irregularForms) {
		if form, base, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			forms[form] = base
		}
	}
	return forms
})

// base returns the base form of an irregular English form, and any other word unchanged. Forms that are more often a
// different word ("found", "saw" as nouns) are read as the verb, in queries and in texts alike.
func base(w string) string {
	if b, ok := irregular()[w]; ok {
		return b
	}
	return w
}

// stopWord reports words that say nothing about a text's subject, and what an apostrophe leaves behind. It is a switch
// so that nothing is built when the program starts.
func stopWord(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "you", "your", "yours", "yourself", "yourselves",
		"he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself", "they", "them", "their", "theirs",
		"themselves",
		"who", "whom", "whose", "which", "what", "when", "where", "why", "how",
		"in", "on", "at", "by", "for", "with", "about", "against", "between", "into", "through", "during", "before", "after", "above",
		"below",
		"to", "from", "up", "down", "out", "off", "over", "under", "of", "upon",
		"and", "but", "or", "nor", "if", "because", "as", "until", "while", "than", "so", "then", "though", "although",
		"am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "having", "do", "does", "did", "doing", "done",
		"will", "would", "shall", "should", "can", "could", "may", "might", "must", "cannot",
		"not", "no", "only", "own", "same", "some", "such", "any", "each", "few", "more", "most", "other", "both", "all",
		"again", "further", "once", "here", "there", "too", "very", "just", "let", "kind", "type", "also",
		"s", "t", "d", "m", "ll", "re", "ve", "don", "isn", "aren", "wasn", "weren", "doesn", "didn", "hasn", "haven", "hadn", "won",
		"wouldn", "shouldn", "couldn", "ain":
		return true
	}
	return false
}
