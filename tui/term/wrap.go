package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wrap breaks lines at width cells: between words, after a hyphen inside a word, and beside characters of Chinese and Japanese,
// which have no spaces between words. A word that is wider than a line is broken where the line ends. Spaces at which a line is broken go.
func Wrap(s string, width int) string {
	if width < 1 {
		return s
	}
	w := wrapper{width: width}
	for part := range sequences(s) {
		w.add(part)
	}
	w.endWord()
	return w.out.String()
}

type wrapper struct {
	width  int
	out    strings.Builder
	column int    // of the line that is being written
	spaces string // before the word
	word   []sequence
	wide   int  // how many columns the word takes
	last   rune // of the word; 0: it has none yet
	before rune // the one before the last
}

func (w *wrapper) add(part sequence) {
	c, _ := utf8.DecodeRuneInString(part.text)
	switch {
	case part.text == "\n":
		w.endWord()
		w.newLine()
		return
	case part.text == " ":
		w.endWord()
		w.spaces += " "
		return
	case part.width > 0:
		if w.last != 0 && breaks(w.before, w.last, c) {
			w.endWord()
		}
		w.before, w.last = w.last, c
	}
	w.word = append(w.word, part)
	w.wide += part.width
}

// breaks reports whether a line may end between two characters of a word: the last one, which follows before, and next.
func breaks(before, last, next rune) bool {
	switch {
	case last == '-':
		return unicode.IsLetter(before) && unicode.IsLetter(next)
	case strings.ContainsRune("、。，．：；？！）」』】〉》〕｝…ー々", next), strings.ContainsRune("（「『【〈《〔｛", last):
		return false
	}
	return spaceless(last) || spaceless(next)
}

// spaceless reports whether a script has no spaces between words.
func spaceless(c rune) bool { return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana) }

func (w *wrapper) newLine() {
	w.out.WriteByte('\n')
	w.column, w.spaces = 0, ""
}

// endWord writes the word, on a line of its own if need be.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	room := w.width - w.column - len(w.spaces)
	if w.wide > room && w.column > 0 {
		w.newLine()
		room = w.width
	}
	if room < 1 { // it is indented by more than there is room
		w.spaces, room = "", w.width
	}
	w.out.WriteString(w.spaces)
	w.column += len(w.spaces)
	if w.wide <= room {
		for _, part := range w.word {
			w.out.WriteString(part.text)
		}
		w.column += w.wide
	} else {
		w.cut()
	}
	w.spaces, w.word, w.wide, w.last, w.before = "", w.word[:0], 0, 0, 0
}

// cut writes a word that is wider than a line.
func (w *wrapper) cut() {
	var b strings.Builder
	for _, part := range w.word {
		b.WriteString(part.text)
	}
	rest := hardwrap(b.String(), w.width, w.column)
	w.out.WriteString(rest)
	if at := strings.LastIndexByte(rest, '\n'); at >= 0 {
		w.column = 0
		rest = rest[at+1:]
	}
	w.column += Width(rest)
}
