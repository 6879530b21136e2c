package term

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Terminals disagree about characters of several code points, such as an emoji
// of a family, a skin tone or a heart with a variation selector: some show one
// picture, some one picture for each code point, and tmux does both. Everything
// here takes the wider of the two, character by character. So a row is never
// wider than the terminal shows it, and text is cut only where it was laid out.

// Width is the display width of s.
func Width(s string) int {
	w := 0
	for part := range sequences(s) {
		w += part.width
	}
	return w
}

// sequence is an escape sequence, a control character or a character.
type sequence struct {
	text  string
	width int
}

func sequences(s string) func(yield func(sequence) bool) {
	return func(yield func(sequence) bool) {
		var state byte
		for s != "" {
			text, width, n, next := ansi.DecodeSequence(s, state, nil)
			if n == 0 {
				return
			}
			if width > 0 && n < len(s) && s[n] >= utf8.RuneSelf { // it may go on, which isn't seen after ASCII
				text, width = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
				n = len(text)
			}
			if len(text) > 1 && text[0] != ansi.ESC {
				width = max(width, ansi.StringWidthWc(text))
			}
			if !yield(sequence{text, width}) {
				return
			}
			s, state = s[n:], next
		}
	}
}

// Hardwrap breaks lines at width cells, also inside words.
func Hardwrap(s string, width int) string {
	if isASCII(s) {
		return ansi.Hardwrap(s, width, true)
	}
	var b strings.Builder
	column := 0
	put := func(text string, cells int) {
		if text == "\n" {
			column = 0
		} else if column > 0 && column+cells > width {
			b.WriteByte('\n')
			column = 0
		}
		b.WriteString(text)
		column += cells
	}
	for part := range sequences(s) {
		if part.width <= width {
			put(part.text, part.width)
			continue
		}
		for _, c := range part.text { // many joined, or a very narrow screen
			put(string(c), ansi.StringWidthWc(string(c)))
		}
	}
	return b.String()
}

// Wrap breaks lines at width cells, between words where it can.
func Wrap(s string, width int) string {
	if isASCII(s) {
		return ansi.Wrap(s, width, "")
	}
	held, release := Hold(s)
	return Hardwrap(release(ansi.Wrap(held, width, "")), width) // a character held inside a long word may have been cut
}

// Truncate cuts a line to width cells, of which tail is the end if anything was
// cut. The escape sequences after the cut stay.
func Truncate(s string, width int, tail string) string {
	if Width(s) <= width {
		return s
	}
	room := width - Width(tail)
	var b strings.Builder
	column, full := 0, false
	for part := range sequences(s) {
		if part.width > 0 && !full && column+part.width > room {
			full = true
			b.WriteString(tail)
		}
		if escape := part.text[0] == ansi.ESC; full && !escape {
			continue
		}
		b.WriteString(part.text)
		column += part.width
	}
	return b.String()
}

// What stands for a character that is held: a code point of its own, which
// nobody else gives a meaning, and as many of another as it is wide.
const (
	heldFirst = '\U00100000'
	heldLast  = '\U0010FFF0'
	heldMore  = '\U0010FFFD'
)

// Hold replaces the characters that terminals show in different widths by
// others of one undisputed width, so that any layout can be done on the text.
// The function returned puts them back.
func Hold(s string) (held string, release func(string) string) {
	var kept []string
	var b strings.Builder
	for part := range sequences(s) {
		if len(part.text) == 1 || part.text[0] == ansi.ESC || !disputed(part) || heldFirst+rune(len(kept)) > heldLast {
			b.WriteString(part.text)
			continue
		}
		b.WriteRune(heldFirst + rune(len(kept)))
		b.WriteString(strings.Repeat(string(heldMore), max(part.width-1, 0)))
		kept = append(kept, part.text)
	}
	if len(kept) == 0 {
		return s, func(s string) string { return s }
	}
	return b.String(), func(s string) string {
		var b strings.Builder
		for _, c := range s {
			switch at := int(c - heldFirst); {
			case at >= 0 && at < len(kept):
				b.WriteString(kept[at])
			case c != heldMore:
				b.WriteRune(c)
			}
		}
		return b.String()
	}
}

// disputed reports whether terminals disagree about a character's width, or it
// is one of those that stand for others.
func disputed(s sequence) bool {
	first, _ := utf8.DecodeRuneInString(s.text)
	return first >= heldFirst || ansi.StringWidth(s.text) != s.width || ansi.StringWidthWc(s.text) != s.width
}
