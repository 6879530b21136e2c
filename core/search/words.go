package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// Limits on what is read from one text.
const (
	maxWords     = 50_000 // per text
	maxWordRunes = 64     // per word; the rest of a longer run is dropped
)

// Words returns the normalised words of a text, in order: lower case, without stop words, irregular forms as their base
// form, stemmed, Latin letters without accents; a name in code, then its parts; runs of Han, Kana or Hangul as overlapping
// pairs of characters; each emoji. All other words contain only letters, digits and marks.
func Words(text string) []string {
	var out []string
	scan(text, func(_, _, word string) bool {
		out = append(out, word)
		return len(out) < maxWords
	})
	return out
}

// Surface returns how the given terms are written in a text, each spelling once, in order of appearance. It keeps
// capitals: a text that is removed for good must also be found in what quotes it.
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

// scan calls emit for each word as written, as written in lower case, and as indexed, until emit returns false.
func scan(text string, emit func(written, surface, word string) bool) {
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	free, freeTo := false, 0 // the word that ended there names a time that one may have off
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) || unicode.IsMark(r) { // a mark needs a letter before it
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
		word := indexed(surface)
		if surface == "off" && free && text[freeTo:start] == " " {
			word = surface
		}
		free, freeTo = worked(surface), i
		if word != "" && !emit(run, surface, word) {
			return
		}
		if surface == run {
			continue
		}
		for _, part := range identifierParts(text, start, start+len(run)) {
			surface := strings.ToLower(part)
			if word := indexed(surface); word != "" && !emit(part, surface, word) {
				return
			}
		}
	}
}

// worked reports the times after which "off" is a word: a day off is no day.
func worked(w string) bool {
	switch w {
	case "day", "days", "week", "weeks", "weekend", "month", "months", "year", "morning", "afternoon", "evening", "night", "time":
		return true
	}
	return false
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

// joined reports whether a script writes words without spaces between them.
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

// emoji reports whether r is a pictograph. Modifiers, such as skin tone or gender, are not words.
func emoji(r rune) bool {
	return r >= 0x231a && (r >= 0x1f000 || r >= 0x2600 && r <= 0x27bf || r <= 0x23ff || r >= 0x2b00 && r <= 0x2bff) &&
		unicode.Is(unicode.So, r)
}

// indexed returns the indexed form of a lower-case word as written, empty for a stop word. A word that is a stop word
// only without its accents is kept.
func indexed(w string) string {
	plain := fold(w)
	if plain != w && stopWord(plain) {
		return w
	}
	return normal(plain)
}

// fold removes accents from Latin letters, since many people don't type them. In other scripts marks make different
// letters.
func fold(w string) string {
	ascii := true
	for i := range len(w) {
		ascii = ascii && w[i] < utf8.RuneSelf
	}
	if ascii {
		return w
	}
	var b strings.Builder
	latin := false // the previous letter, which marks belong to
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

// barred returns the plain form of letters that don't decompose into a letter and a mark; empty for others.
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
			return w // the rules of English apply only to its letters
		}
	}
	return english.Stem(base(w), true)
}
