package shell

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/tools/internal/plaintext"
)

// How much of what a line writes is shown: its beginning, and more of its end, where programs say what went wrong.
const (
	firstBytes = 10 << 10
	lastBytes  = 20 << 10
)

// output collects both outputs of a line in the order in which they come, and can be read meanwhile. The sandbox writes none
// once the line has ended.
type output struct {
	veil        *core.Veil
	from        *origin
	mu          sync.Mutex // guards what follows
	first, last []byte
	total       int64
}

func (o *output) Write(piece []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
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

// note writes a row of ours between the outputs of two attempts.
func (o *output) note(text string) {
	_, _ = o.Write([]byte("\n" + text + "\n")) // it never fails
}

// raw is what is kept of the output, without controls; a secret in it may be whole.
func (o *output) raw() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return plaintext.Of(string(o.first) + "\n" + string(o.last[max(0, len(o.last)-lastBytes):]))
}

// Text implements jobs.Output.
func (o *output) Text() string { return o.from.mark(o.text()) }

// Source implements jobs.Output.
func (o *output) Source() string { return o.from.source() }

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.last[max(0, len(o.last)-lastBytes):]
	left := o.total - int64(len(o.first)+len(last))
	if left == 0 {
		return o.veil.Text(plaintext.Of(string(o.first) + string(last)))
	}
	first, rest := plaintext.Of(string(o.first)), plaintext.Of(string(last))
	_, cut := o.veil.Cut(first) // a secret may have been cut in two
	first = first[:len(first)-cut]
	cut, _ = o.veil.Cut(rest)
	return o.veil.Text(first) + fmt.Sprintf("\n(… %d of %d bytes are left out here. To see them, send the output to a file such as "+
		"$XDG_CACHE_HOME/out, which later lines can read in parts.)\n", left, o.total) + o.veil.Text(rest[cut:])
}

// Tail implements jobs.Output.
func (o *output) Tail(rows int) string {
	o.mu.Lock()
	end := slices.Concat(o.first, o.last) // what is left out between them is not of the end, since rows are bounded
	o.mu.Unlock()
	text := plaintext.Of(string(end[max(0, len(end)-tailBytes):]))
	head, tail := o.veil.Cut(text) // half of a secret may have been written so far
	text = text[:len(text)-tail]
	all := strings.Split(o.veil.Text(text[min(head, len(text)):]), "\n")
	all = all[max(0, len(all)-rows):]
	for i, row := range all {
		all[i] = clip(row)
	}
	return strings.Join(all, "\n")
}

// Bounds of what is shown live, in bytes.
const (
	tailBytes = 16 << 10
	mostRow   = 500
)

func clip(row string) string {
	if len(row) <= mostRow {
		return row
	}
	return strings.ToValidUTF8(row[:mostRow], "") + "…"
}
