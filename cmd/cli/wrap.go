package cli

import (
	"strings"
	"unicode/utf8"
)

// wrapper breaks a text that arrives in pieces at words. Nothing that can be seen is held back, and nothing is written
// twice: a word begins a new row if it doesn't fit, or if it may still grow and there is hardly room for that.
type wrapper struct {
	at   int    // the column
	gap  string // blanks that are written with the next word
	open bool   // the last piece may have ended inside a word
}

// mostGrowth is how many columns are left for the rest of a word that a piece ends with.
const mostGrowth = 8

// wrap returns a piece as it is written in a terminal of this width.
func (w *wrapper) wrap(piece string, width int) string {
	var b strings.Builder
	for piece != "" {
		word := piece[:wordEnd(piece)]
		piece = piece[len(word):]
		switch word[0] {
		case '\n':
			b.WriteString(word)
			w.at, w.gap, w.open = 0, "", false
			continue
		case ' ', '\t':
			w.gap, w.open = w.gap+word, false
			continue
		}
		n, room := cellWidth(word), width-w.at-w.gapWidth()
		unbroken := piece == "" && !wideFirst(word)
		switch {
		case w.open && !wideFirst(word) || w.at == 0: // in the middle of a word, or of a row that is as empty as any
		case n > room || unbroken && n+min(mostGrowth, width/4) > room && w.gap != "":
			b.WriteByte('\n')
			w.at, w.gap = 0, ""
		}
		b.WriteString(w.gap + word)
		w.at += w.gapWidth() + n
		w.gap, w.open = "", unbroken
		for w.at > width {
			w.at -= width // the terminal has broken it
		}
	}
	return b.String()
}

// gapWidth is how many columns the blanks take that are not written yet.
func (w *wrapper) gapWidth() int {
	at := w.at
	for _, r := range w.gap {
		if at++; r == '\t' {
			at = (at + 7) / 8 * 8
		}
	}
	return at - w.at
}

// wordEnd is where the first word, blanks or line end of a text ends. Characters of scripts without blanks are words of
// their own.
func wordEnd(s string) int {
	switch s[0] {
	case '\n', ' ', '\t':
		return len(s) - len(strings.TrimLeft(s, s[:1]))
	}
	for i, r := range s {
		switch {
		case i > 0 && (wide(r) || strings.ContainsRune(" \t\n", r)):
			return i
		case wide(r):
			return i + utf8.RuneLen(r)
		}
	}
	return len(s)
}

func wideFirst(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return wide(r)
}
