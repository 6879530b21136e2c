package transcript

import (
	"fmt"
	"strings"
)

// Kept is the beginning and the end of what a program writes, however much that is. It is an io.Writer for one goroutine.
type Kept struct {
	First, Last int // how many bytes are kept of each

	first, last []byte
	total       int
}

func (k *Kept) Write(piece []byte) (int, error) {
	k.total += len(piece)
	rest := piece
	if room := k.First - len(k.first); room > 0 {
		n := min(room, len(rest))
		k.first, rest = append(k.first, rest[:n]...), rest[n:]
	}
	k.last = append(k.last, rest...)
	if over := len(k.last) - k.Last; over > k.Last { // moved rarely, whatever the size of the pieces
		k.last = append(k.last[:0], k.last[over:]...)
	}
	return len(piece), nil
}

// String is what is kept, as text that a terminal may show. Of a row that was written over, the last state is.
func (k *Kept) String() string {
	last := k.last[max(0, len(k.last)-k.Last):]
	left := k.total - len(k.first) - len(last)
	if left == 0 {
		return lastStates(string(k.first) + string(last))
	}
	return lastStates(string(k.first)) + fmt.Sprintf("\n(… %d of %d bytes are left out here)\n", left, k.total) + lastStates(string(last))
}

// lastStates cleans what was meant for a terminal.
func lastStates(text string) string {
	rows := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, row := range rows {
		row = strings.TrimRight(row, "\r")
		rows[i] = Clean(row[strings.LastIndexByte(row, '\r')+1:])
	}
	return strings.TrimRight(strings.Join(rows, "\n"), " \t\n")
}
