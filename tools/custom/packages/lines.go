package packages

import (
	"bytes"
	"strings"
	"sync"

	"loci/tools/internal/plaintext"
)

// lines tells what an installer says, a line at a time.
type lines struct {
	say  func(string)
	hide string     // what no line shows
	mu   sync.Mutex // guards rest
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, piece...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.rest = rest
		if row := clean(line, l.hide); row != "" {
			l.say(row)
		}
	}
	if len(l.rest) > 4*mostLineSize { // no line is that long
		l.rest = nil
	}
	return len(piece), nil
}

// clean is a line as it may be shown.
func clean(line []byte, hide string) string {
	text := string(line)
	if hide != "" {
		text = strings.ReplaceAll(text, hide, "")
	}
	return strings.TrimSpace(plaintext.Line(text, mostLineSize))
}

// tail are the last lines of an output, bounded and clean.
func tail(text []byte, hide string) (rows []string) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if row := clean(line, hide); row != "" {
			rows = append(rows, row)
		}
	}
	return rows[max(0, len(rows)-mostLines):]
}
