// Package plaintext makes text of what programs write for terminals.
//
// Promises: what it returns is UTF-8 and holds no escape sequence, control or mark that turns the direction of text.
//
// Layer 1, below tools: it imports nothing of ours.
package plaintext

import (
	"strings"
	"unicode"
)

// Of makes text of what a program meant for a terminal: no escape sequences or controls, and of a row that was written
// over, what stands at last.
func Of(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	var b strings.Builder
	for i, row := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		row = strings.TrimRight(row, "\r")
		if at := strings.LastIndexByte(row, '\r'); at >= 0 {
			row = row[at+1:]
		}
		b.WriteString(withoutControls(row))
	}
	return strings.TrimRight(b.String(), " \t\n")
}

// withoutControls leaves out escape sequences, controls, and marks that turn the direction of text.
func withoutControls(row string) string {
	var b strings.Builder
	rs := []rune(row)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; {
		case r == '\x1b':
			i = sequenceEnd(rs, i)
		case r == '\t', !unicode.IsControl(r) && (r < 0x202a || r > 0x202e) && (r < 0x2066 || r > 0x2069):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sequenceEnd is where the escape sequence that begins at i has its last character.
func sequenceEnd(rs []rune, i int) int {
	if i+1 >= len(rs) {
		return i
	}
	switch rs[i+1] {
	case '[': // CSI: up to a letter or its kin
		for i += 2; i < len(rs) && (rs[i] < 0x40 || rs[i] > 0x7e); i++ { // the end is all that is wanted
		}
		return i
	case ']', 'P', '^', '_', 'X': // a text: up to BEL or ESC \
		for i += 2; i < len(rs) && rs[i] != '\a' && rs[i] != '\x1b'; i++ {
		}
		if i+1 < len(rs) && rs[i] == '\x1b' && rs[i+1] == '\\' {
			i++
		}
		return i
	}
	return i + 1
}

// Line is a text as one short line.
func Line(s string, most int) string {
	s = strings.Join(strings.Fields(Of(s)), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
