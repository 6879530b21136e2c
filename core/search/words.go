package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// The bounds of what is read of one text.
const (
	maxWords     = 50_000 // of a text
	maxWordRunes = 64     // of a word; the rest of a longer run is dropped
)

// Words returns the normalised words of a text, in order: lower case, without stop words, irregular forms as their base
// form, stemmed, Latin letters without their accents; runs of Han, Kana or Hangul as overlapping pairs of characters; each emoji.
// Any other word holds letters, digits and marks only.
func Words(text string) []string {
	var out []string
	scan(text, func(_, _, word string) bool {
		out = append(out, word)
		return len(out) < maxWords
	})
	return out
}

// Surface returns how the given terms are written in a text, each spelling once, whatever its capitals, in order of
// appearance. It keeps the capitals: what is removed from a text for good has to be found in what quotes it.
func Surface(text string, terms []string) []string {
	var out []string
	seen := map[string]bool{}
	n := 0
	scan(text, func(written, surface, word string) bool {
		n++
		if slices.Contains(terms, word) && !seen[surface] {
			seen[surface] = true
			out = append(out, written)
		}
		return n < maxWords
	})
	return out
}

// scan calls emit for each word as it is written, in lower case, and as it is indexed, until emit returns false.
func scan(text string, emit func(written, surface, word string) bool) {
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) || unicode.IsMark(r) { // a mark stands on something
			if e := text[i : i+size]; emoji(r) && !emit(e, e, e) {
				return
			}
			i += size
			continue
		}
		start, paired := i, joined(r)
		for i < len(text) {
			if r, size = utf8.DecodeRuneInString(text[i:]); !wordRune(r) || joined(r) != paired {
				break
			}
			i += size
		}
		run := text[start:i]
		if paired {
			if !pairs([]rune(run), emit) {
				return
			}
			continue
		}
		if len(run) > maxWordRunes {
			run = cutRunes(run, maxWordRunes)
		}
		surface := strings.ToLower(run)
		if word := indexed(surface); word != "" && !emit(run, surface, word) {
			return
		}
	}
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// joined reports scripts that write words without blanks between them.
func joined(r rune) bool {
	return r == 'ー' || r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func pairs(run []rune, emit func(written, surface, word string) bool) bool {
	if len(run) == 1 {
		return emit(string(run), string(run), string(run))
	}
	for i := range len(run) - 1 {
		p := string(run[i : i+2])
		if !emit(p, p, p) {
			return false
		}
	}
	return true
}

// emoji reports the pictures that people write with. What modifies one, its colour or its sex, is no word.
func emoji(r rune) bool {
	return r >= 0x231a && (r >= 0x1f000 || r >= 0x2600 && r <= 0x27bf || r <= 0x23ff || r >= 0x2b00 && r <= 0x2bff) && unicode.Is(unicode.So, r)
}

// indexed returns the indexed form of a lower-case word as it is written, empty for a stop word. A word that is one only
// without its accents stays as it is.
func indexed(w string) string {
	plain := fold(w)
	if plain != w && stopWord(plain) {
		return w
	}
	return normal(plain)
}

// fold takes the accents from Latin letters, since many people type none. Marks of other scripts make other letters.
func fold(w string) string {
	ascii := true
	for i := range len(w) {
		ascii = ascii && w[i] < utf8.RuneSelf
	}
	if ascii {
		return w
	}
	var b strings.Builder
	latin := false // the letter before, that marks stand on
	for _, r := range norm.NFD.String(w) {
		if unicode.Is(unicode.Mn, r) && latin {
			continue
		}
		latin = unicode.Is(unicode.Latin, r)
		if plain := barred(r); plain != "" {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// barred returns how letters that are not made of another one and a mark are written without them; empty for others.
func barred(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ħ':
		return "h"
	case 'ı':
		return "i"
	}
	return ""
}

// normal returns the indexed form of a lower-case word, empty for a stop word.
func normal(w string) string {
	if stopWord(w) {
		return ""
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w // the rules of English are for its letters only
		}
	}
	return english.Stem(base(w), true)
}
