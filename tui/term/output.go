package term

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	xterm "github.com/charmbracelet/x/term"
)

// gap is the minimum time between two frames.
const gap = 8 * time.Millisecond

// settle is how long nothing is drawn after the terminal has changed its size.
// tmux wraps its rows at once, but tells the program of a second change only a
// quarter of a second after the first. Rows drawn in between would be wrapped
// in a way that nobody can work out afterwards.
const settle = 300 * time.Millisecond

const (
	keysPush = "\x1b[>1u"
	keysOn   = ansi.SetModifyOtherKeys2 + keysPush
	keysOff  = ansi.ResetModifyOtherKeys + "\x1b[<1u"
	begin    = ansi.SetModeBracketedPaste + ansi.SetModeFocusEvent + keysOn + ansi.RequestKittyKeyboard
	altEnter = keysOff + ansi.SetModeAltScreenSaveCursor + keysOn
	altLeave = keysOff + ansi.ResetModeAltScreenSaveCursor + keysOn
)

// Output is the terminal. It draws what Screen hands over. It is also the
// writer given to the program: what sets up or queries the terminal is passed
// on, what the program's own renderer draws is dropped. It embeds the file
// because the program asks its output for a file descriptor (size, raw mode).
type Output struct {
	*os.File

	mu            sync.Mutex
	width, height int // used if the file has no size of its own
	view          view
	lines         []string // to print
	clear         bool     // clear the screen first
	region        region
	panel         panel
	alt           bool // the alternate screen is shown
	away          bool // something else has the terminal, until the program sets it up again
	keys          bool // the keyboard is set up, which is done once: what is pushed twice is popped once
	last          time.Time
	seen          [2]int      // the terminal's size when it was last asked for
	resized       time.Time   // when that became another one
	timer         *time.Timer // draws when gap is over; nil: nothing to draw
	first         chan struct{}
	framed        bool
	closed        bool
}

// NewOutput returns an Output that writes to the terminal f.
func NewOutput(f *os.File) *Output {
	return &Output{File: f, first: make(chan struct{})}
}

// First returns a channel that is closed once the first frame is drawn.
func (o *Output) First() <-chan struct{} { return o.first }

// show sets what to show from now on, and what to print above it.
func (o *Output) show(v view, lines []string, clear bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.view = v
	if clear {
		o.lines, o.clear = nil, true
	}
	o.lines = append(o.lines, lines...)
	o.drawSoonLocked()
}

// sized sets the size to use if the file has none.
func (o *Output) sized(width, height int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.width, o.height = width, height
}

// Send writes, at once, a sequence that draws nothing.
func (o *Output) Send(seq string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away && !o.closed {
		_, _ = o.File.WriteString(seq) // the next frame will hit the same error
	}
}

// Write takes the program's output.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away && bytes.Contains(b, []byte(ansi.ResetModifyOtherKeys)) {
		o.releaseLocked()
		o.away = true
	}
	own := setup(b)
	if o.keys {
		own = withoutKeys(own)
	}
	if bytes.Contains(own, []byte(ansi.SetModifyOtherKeys2)) {
		o.keys = true
	}
	if bytes.Contains(own, []byte(ansi.ResetModifyOtherKeys)) {
		o.keys = false
	}
	if len(own) > 0 {
		if _, err := o.File.Write(own); err != nil {
			return 0, err
		}
	}
	if o.away && bytes.Contains(b, []byte(ansi.SetModifyOtherKeys2)) {
		o.away = false
		_, _ = o.File.WriteString(ansi.SetModeFocusEvent) // the next frame will hit the same error
		o.drawSoonLocked()
	}
	return len(b), nil
}

// withoutKeys removes what sets up the keyboard.
func withoutKeys(seqs []byte) []byte {
	for _, seq := range []string{ansi.SetModifyOtherKeys2, keysPush, ansi.RequestKittyKeyboard} {
		seqs = bytes.ReplaceAll(seqs, []byte(seq), nil)
	}
	return seqs
}

// Resume sets up the terminal and draws again after something else had it. The
// program does so as well, but up to a second later.
func (o *Output) Resume() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away || o.closed {
		return
	}
	o.away, o.keys = false, true
	_, _ = o.File.WriteString(begin) // the next frame will hit the same error
	o.drawSoonLocked()
}

// WriteString is Write for a string.
func (o *Output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// Close draws what is pending and removes the region, unless the program has
// already given the terminal back. It doesn't close the file.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away && !o.closed {
		o.releaseLocked()
	}
	if o.keys { // the program ended without
		o.keys = false
		_, _ = o.File.WriteString(keysOff + ansi.ResetModeBracketedPaste)
	}
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	return nil
}

func (o *Output) drawSoonLocked() {
	unsettled := o.unsettledLocked()
	if o.timer != nil || o.away || o.closed {
		return
	}
	if wait := max(gap-time.Since(o.last), unsettled); wait > 0 {
		o.timer = time.AfterFunc(wait, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.timer != nil {
				o.timer = nil
				o.drawSoonLocked()
			}
		})
		return
	}
	o.drawLocked()
}

// unsettledLocked is how long to wait until the terminal has kept its size long
// enough. A panel doesn't wait, as its rows have fixed places.
func (o *Output) unsettledLocked() time.Duration {
	width, height := o.sizeLocked()
	if now := [2]int{width, height}; o.seen != now {
		if o.framed {
			o.resized = time.Now()
		}
		o.seen = now
	}
	if o.view.panel {
		return 0
	}
	return settle - time.Since(o.resized)
}

// drawLocked draws in one write. It asks for the size each time, because the
// program learns of a new size only later.
func (o *Output) drawLocked() {
	if o.away || o.closed || len(o.view.rows) == 0 {
		return
	}
	width, height := o.sizeLocked()
	var b strings.Builder
	if !o.framed { // the program sets up the terminal a little later, and somebody may paste right away
		b.WriteString(begin)
		o.keys = true
	}
	if o.view.panel {
		if !o.alt {
			o.alt, o.panel = true, panel{}
			b.WriteString(altEnter)
		}
		b.WriteString(o.panel.paint(o.view, width, height))
	} else {
		if o.alt {
			o.alt = false
			o.region.height = 0 // redraw all of it
			b.WriteString(altLeave)
		}
		lines := o.lines
		if len(lines) > 0 {
			lines = Rows(strings.Join(lines, "\n"), width, height)
		}
		b.WriteString(o.region.paint(o.view, lines, o.clear, width, height))
		o.lines, o.clear = nil, false
	}
	o.last = time.Now()
	if b.Len() > 0 {
		_, _ = o.File.WriteString(b.String()) // if the terminal is gone, its input ends the program
	}
	if !o.framed {
		o.framed = true
		close(o.first)
	}
}

func (o *Output) sizeLocked() (width, height int) {
	if w, h, err := xterm.GetSize(o.Fd()); err == nil && w > 0 && h > 0 {
		return w, max(h, 2)
	}
	return max(o.width, 1), max(o.height, 2)
}

// releaseLocked leaves the cursor where the region was, below everything
// printed.
func (o *Output) releaseLocked() {
	width, _ := o.sizeLocked()
	out := ""
	if o.alt {
		o.alt, out = false, altLeave
	} else {
		o.drawLocked()
	}
	_, _ = o.File.WriteString(out + o.region.erase(width) + ansi.ResetModeFocusEvent) // nobody left to tell
}

// setup is the part of the program's output that sets up or queries the
// terminal: modes, keyboard protocols, titles, the clipboard. What draws or
// moves the cursor is left out.
func setup(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		seq, _, n, _ := ansi.DecodeSequence(b, 0, nil)
		if n == 0 {
			break
		}
		if len(seq) > 2 && seq[0] == ansi.ESC && !drawing[string(seq)] && (bytes.IndexByte([]byte("]P_^"), seq[1]) >= 0 ||
			seq[1] == '[' && bytes.IndexByte([]byte("?><="), seq[2]) >= 0) {
			out = append(out, seq...)
		}
		b = b[n:]
	}
	return out
}

// drawing lists the modes that belong to frames.
var drawing = map[string]bool{
	ansi.SetModeTextCursorEnable: true, ansi.ResetModeTextCursorEnable: true,
	ansi.SetModeSynchronizedOutput: true, ansi.ResetModeSynchronizedOutput: true,
}
