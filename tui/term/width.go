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
	return hardwrap(s, width, 0)
}

// hardwrap breaks lines of which the first one begins at a column.
func hardwrap(s string, width, column int) string {
	var b strings.Builder
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
