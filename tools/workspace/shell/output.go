package shell

import (
	"fmt"
	"strings"
	"unicode"
)

// How much of what a line writes is shown: its beginning, and more of its end, where programs say what went wrong.
const (
	firstBytes = 10 << 10
	lastBytes  = 20 << 10
)

// output collects both outputs of a line in the order in which they come. The sandbox writes one piece at a time, and none
// once the line has ended.
type output struct {
	first, last []byte
	total       int64
}

func (o *output) Write(piece []byte) (int, error) {
	o.total += int64(len(piece))
	rest := piece
	if room := firstBytes - len(o.first); room > 0 {
		n := min(room, len(rest))
		o.first, rest = append(o.first, rest[:n]...), rest[n:]
	}
	o.last = append(o.last, rest...)
	if over := len(o.last) - lastBytes; over > lastBytes { // moved rarely, whatever the size of the pieces
		o.last = append(o.last[:0], o.last[over:]...)
	}
	return len(piece), nil
}

// text is what the model reads of it.
func (o *output) text() string {
	last := o.last[max(0, len(o.last)-lastBytes):]
	left := o.total - int64(len(o.first)+len(last))
	if left == 0 {
		return clean(string(o.first) + string(last))
	}
	return clean(string(o.first)) + fmt.Sprintf("\n(… %d of %d bytes are left out here. To see them, send the output to a file such as "+
		"$XDG_CACHE_HOME/out, which later lines can read in parts.)\n", left, o.total) + clean(string(last))
}

// clean makes text of what a program meant for a terminal: no escape sequences or controls, and of a row that was written
// over, what stands at last.
func clean(s string) string {
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
