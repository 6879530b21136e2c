package offline

import (
	"strings"
	"unicode"
)

// maxInput limits how many characters of a message are read, maxSentences how many sentences.
const (
	maxInput     = 20_000
	maxSentences = 200
	maxWords     = 120 // in a sentence that is analysed as a clause
)

const abbreviations = " mr mrs ms dr prof st jr sr vs e.g i.e eg ie approx dept corp inc ltd co "

// sentences splits a text; each piece keeps its closing mark.
func sentences(s string) []string {
	runes := []rune(s)
	if len(runes) > maxInput {
		runes = runes[:maxInput]
	}
	var out []string
	start := 0
	add := func(end int) {
		if piece := strings.TrimSpace(string(runes[start:end])); piece != "" && len(out) < maxSentences {
			out = append(out, piece)
		}
		start = end
	}
	for i, r := range runes {
		switch r {
		case '\n', ';':
			add(i + 1)
		case '。', '！', '？':
			add(i + 1)
		case '.', '!', '?', '…':
			if closes(runes, start, i) {
				add(i + 1)
			}
		}
	}
	add(len(runes))
	return out
}

// closes reports whether the mark at i ends a sentence.
func closes(runes []rune, start, i int) bool {
	j := i + 1
	for j < len(runes) && strings.ContainsRune(`"')]”’`, runes[j]) {
		j++
	}
	if j < len(runes) && !unicode.IsSpace(runes[j]) {
		return false
	}
	if runes[i] != '.' || j >= len(runes) {
		return true
	}
	k := i
	for k > start && !unicode.IsSpace(runes[k-1]) && !strings.ContainsRune(`("'`, runes[k-1]) {
		k--
	}
	last := string(runes[k:i])
	if listed(abbreviations, strings.ToLower(last)) {
		return false
	}
	initial := i-k == 1 && unicode.IsUpper(runes[k]) && last != "I"
	return !initial
}

// bare removes the closing marks of a sentence, and the quotes around it.
func bare(s string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(s), `.!?…。！？;,:"`))
}
