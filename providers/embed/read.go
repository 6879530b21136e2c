package embed

import (
	"unicode"
	"unicode/utf8"

	"loci/core/search"
	"loci/providers/embed/internal/table"
)

// Limits on what is read of one text.
const (
	maxWords   = 50_000 // as in core/search
	maxLetters = 64     // per word; the table has no longer one
)

// read adds the rows of a text's words. It splits a text where core/search does, except names in code, and allocates nothing: words with
// letters other than a to z aren't in the table.
func (m *Model) read(t *table.Table, text string, rows *rowSet) {
	var word [maxLetters]byte
	for i, words := 0, 0; i < len(text) && words < maxWords; {
		run := scan(text[i:], &word)
		switch {
		case run.size == 0: // between words
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		case run.plain:
			m.add(t, word[:run.letters], rows)
		case run.compat:
			for _, stem := range search.Words(text[i : i+run.size]) {
				if row, ok := t.Find(stem); ok {
					rows.add(row)
				}
			}
		}
		i += run.size
		words++
	}
}

// run is a run of letters, digits and marks at the start of a text.
type run struct {
	size    int  // in bytes
	letters int  // how many of its letters, in lower case, were put into the word
	plain   bool // it consists of just these letters
	compat  bool // it may contain letters in another form: full-width or accented
}

func scan(text string, word *[maxLetters]byte) run {
	r := run{plain: true}
	for r.size < len(text) {
		c := text[r.size]
		if c >= utf8.RuneSelf {
			letter, size := utf8.DecodeRuneInString(text[r.size:])
			if !foreign(letter) {
				break
			}
			r.size += size
			r.plain, r.compat = false, r.compat || disguised(letter)
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch {
		case 'a' <= c && c <= 'z' && r.letters < maxLetters:
			word[r.letters] = c
			r.letters++
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			r.plain = false
		default:
			return r
		}
		r.size++
	}
	return r
}

// disguised reports letters that core/search may read as plain ones: accented Latin letters, marks, and compatibility
// forms.
func disguised(r rune) bool {
	return r < 0x370 || r >= 0x1e00 && r <= 0x1eff || r >= 0x2100
}

// foreign reports non-ASCII characters that continue a word. Scripts written without spaces end it, since their words
// aren't in the table.
func foreign(r rune) bool {
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
		return false
	}
	return r < 0x1100 || r != 'ー' && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// add adds the row of a lower-case word of a to z.
func (m *Model) add(t *table.Table, word []byte, rows *rowSet) {
	hash := uint32(2166136261) // FNV-1a
	for _, c := range word {
		hash = (hash ^ uint32(c)) * 16777619
	}
	slot := &m.seen[hash%slots]
	f := slot.Load()
	if f == nil || f.spelling != string(word) {
		f = look(t, string(word))
		slot.Store(f)
	}
	if f.row >= 0 {
		rows.add(f.row)
	}
}

func look(t *table.Table, word string) *match {
	if stem := table.Key(word, t.Base); stem != "" {
		if row, ok := t.Find(stem); ok {
			return &match{word, row}
		}
	}
	return &match{word, -1}
}
