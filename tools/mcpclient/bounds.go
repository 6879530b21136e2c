package mcpclient

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"loci/core"
	"loci/tools/internal/plaintext"
)

// budget is what a server may say until something is asked of it again.
type budget struct {
	bytes, lines atomic.Int64
	overdrawn    func() // called when it says more
}

func (b *budget) renew() {
	b.bytes.Store(mostBytes)
	b.lines.Store(mostLines)
}

// over counts what is read of a stream against the budget.
func (b *budget) over(r io.Reader) io.Reader { return &counted{r, b} }

type counted struct {
	io.Reader
	of *budget
}

var errFlood = core.E(core.TooLarge, "the server says far more than it is asked for, and was cut off")

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	left, lines := c.of.bytes.Add(-int64(n)), c.of.lines.Add(-int64(bytes.Count(p[:n], []byte{'\n'})))
	if left < 0 || lines < 0 {
		c.of.overdrawn()
		return 0, errFlood
	}
	return n, err
}

// flooded reports whether the budget was overdrawn.
func (b *budget) flooded() bool { return b.bytes.Load() < 0 || b.lines.Load() < 0 }

// tail keeps the end of what a program wrote as errors.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// mostTail is how much of it is kept, in bytes.
const mostTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-mostTail):]...)
	t.kept = t.kept[max(0, len(t.kept)-mostTail):]
	return len(p), nil
}

// text is the end of it as one short line.
func (t *tail) text() string {
	t.mu.Lock()
	kept := string(t.kept)
	t.mu.Unlock()
	line := plaintext.Line(kept, mostTail)
	if r := []rune(line); len(r) > mostSaid {
		return "…" + string(r[len(r)-mostSaid:])
	}
	return line
}

// mostSaid is how much of what a program wrote stands in an error, in characters.
const mostSaid = 400

// plain is a text of a server's as one short line.
func plain(text string, most int) string { return plaintext.Line(text, most) }

// paragraph is a text of a server's of several lines.
func paragraph(text string, most int) string {
	text = plaintext.Of(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return strings.TrimSpace(text)
}

func itoa(n int) string { return strconv.Itoa(n) }
