package term

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	xterm "github.com/charmbracelet/x/term"
)

// patience is how long a print may wait for the frame that belongs to it. The
// frame comes within one tick of the renderer; the limit is only a net.
const patience = 120 * time.Millisecond

const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
	altEnter  = "\x1b[?1049h"
	altLeave  = "\x1b[?1049l"
	eraseDown = "\x1b[J"
	wipe      = "\x1b[H\x1b[2J"

	// gentleErase is eraseDown in two parts: terminals that keep what is cleared
	// take an erasing of the whole screen, from its first cell, into the
	// scrollback, and with it a live region that stands there.
	gentleErase = "\x1b7\x1b[K\x1b[B\x1b[J\x1b8"
)

// Output is the writer given to the program. It embeds the file because the
// program asks its output for a file descriptor (size, raw mode), and it
// overrides both ways of writing because the renderer uses both: frames come by
// Write, prints above the live region by WriteString.
type Output struct {
	*os.File

	mu       sync.Mutex
	expected int         // prints announced and not yet seen
	held     []byte      // what waits for its frame, in order
	net      *time.Timer // releases held when no frame comes
	framed   bool        // a frame has gone out since the last Await
	alt      bool        // the alternate screen is shown
	wiping   bool        // the next full redraw starts on a cleared screen
	changed  chan struct{}
	done     chan struct{}
	closing  sync.Once

	// Heights of the views that the renderer may have drawn last. Which of the
	// views handed over since the frame before last it took is not known, so
	// the tallest counts.
	lastView, sinceFrame, beforeFrame int

	sinceDrawn, beforeDrawn change // the greatest, by the same reasoning

	noted, drawn shape // of the view handed over last, and of that in the last frame
	width        int   // that the region was wrapped to last
	rise         int   // rows that the terminal's wrapping put above the region since
}

// shape is what of a view decides how a terminal wraps it anew.
type shape struct {
	widths   []int
	col, row int // of the cursor; col is -1 without one
}

// wrapped is how many rows more than it knows the renderer has above its cursor
// when the terminal wraps the shape to a width.
func (s shape) wrapped(width int) int {
	more := max(s.col, 0) / width
	for i, w := range s.widths {
		if i < s.row && w > width {
			more += (w - 1) / width
		}
	}
	return more
}

// A change is how far a view is from the one before it, as a terminal sees it
// that has become too narrow for both.
type change int

const (
	still change = iota // the caret stays, and so do the widths of its row and of those above
	near                // so do the row and the widths, but for short rows
	far
)

// short is what fits every terminal that the chat is of use in.
const short = 20

func (s shape) change(next shape) change {
	if s.col < 0 || next.col < 0 || s.row != next.row || min(len(s.widths), len(next.widths)) <= s.row {
		return far
	}
	out := still
	if s.col != next.col {
		out = near
	}
	for i, w := range s.widths[:s.row+1] {
		n := next.widths[i]
		if w == n {
			continue
		}
		if out = near; max(w, n) > short {
			return far
		}
	}
	return out
}

// NewOutput returns the writer for f.
func NewOutput(f *os.File) *Output {
	return &Output{File: f, changed: make(chan struct{}), done: make(chan struct{})}
}

// Write takes a frame, or a query of the program, from the renderer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isQuery(b) {
		if len(o.held) == 0 {
			return o.File.Write(b)
		}
		o.held = append(o.held, b...)
		return len(b), nil
	}
	whole := bytes.Contains(b, []byte(eraseDown))
	if whole {
		o.measureLocked()
	}
	changed := max(o.beforeDrawn, o.sinceDrawn)
	o.noteFrameLocked(b)
	frame := b
	if whole && !o.alt {
		frame = o.raisedLocked(bytes.ReplaceAll(frame, []byte(eraseDown), []byte(gentleErase)))
	}
	if o.wiping && whole {
		o.wiping = false
		o.signalLocked()
		frame = append([]byte(wipe), frame...)
		o.held = append(o.held, frame...)
		return len(b), o.releaseLocked()
	}
	if o.expected == 0 && len(o.held) == 0 {
		if !whole && !o.alt && isPlain(b) {
			frame = unwrapped(frame, changed, o.drawn.col)
		}
		if _, err := o.File.Write(frame); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	o.held = append(o.held, frame...)
	if o.expected > 0 {
		return len(b), nil
	}
	return len(b), o.releaseLocked()
}

// WriteString takes a print from the renderer and keeps it for its frame.
func (o *Output) WriteString(s string) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expected > 0 {
		o.expected--
	}
	o.sinceDrawn = far // it leaves the cursor elsewhere
	if strings.Contains(s, homeMark) {
		o.held = append(o.held, home(s)...)
	} else {
		o.held = append(o.held, s...)
	}
	o.armLocked()
	return len(s), nil
}

// Expect announces that n prints are on their way: from now on everything is
// kept until they and the frame after them are here.
func (o *Output) Expect(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expected += n
	o.armLocked()
}

// Await makes Ready false until the next frame has gone out.
func (o *Output) Await() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.framed = false
}

// Settle takes the frame that Await waits for as seen.
func (o *Output) Settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.framed = true
}

// Ready reports whether a print would land above the live region. The channel
// is closed at the next change of that.
func (o *Output) Ready() (bool, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.framed && !o.alt && !o.wiping, o.changed
}

// Wipe clears the whole screen together with the next full redraw.
func (o *Output) Wipe() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wiping = true
}

// note tells the height and the shape of a view handed to the renderer.
func (o *Output) note(rows int, s shape) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sinceDrawn = max(o.sinceDrawn, o.noted.change(s))
	o.lastView, o.noted = rows, s
	o.sinceFrame = max(o.sinceFrame, rows)
}

// Resized tells that the terminal has another width, before the renderer hears
// of it. Terminals wrap what stands there anew; the next frame, which is drawn
// in full, has to begin that much higher to leave nothing of the old one behind.
func (o *Output) Resized(width int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.width = max(width, 1)
	o.rise = o.drawn.wrapped(o.width)
}

// measureLocked asks for the width once more: a terminal that has changed it
// again, or of whose change the program has not heard yet, has wrapped its rows
// anew, and going up as far as the width before wanted would leave rows of the
// region behind or erase what stands above it.
func (o *Output) measureLocked() {
	if w, _, err := xterm.GetSize(o.Fd()); err == nil && w > 0 && o.width > 0 && w != o.width {
		o.width, o.rise = w, o.drawn.wrapped(w)
	}
}

// insertion is how the renderer goes to the top of the region for a print: down
// to its last row, further down to make room, and up over all of it.
var insertion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\r(?:\x1b\\[[0-9]*B)?\n+\x1b\\[([0-9]*)A\x1b\\[[0-9]*L")
})

// raisedLocked lets a frame begin where the region does since the terminal
// wrapped it. A print that waits for the frame goes above the whole region too,
// and leaves the cursor where the frame begins.
func (o *Output) raisedLocked(frame []byte) []byte {
	rise := o.rise
	if o.rise = 0; rise == 0 {
		return frame
	}
	if at := insertion().FindSubmatchIndex(o.held); at != nil {
		up, err := strconv.Atoi(string(o.held[at[2]:at[3]]))
		if err != nil {
			up = 1
		}
		o.held = slices.Replace(o.held, at[2], at[3], []byte(strconv.Itoa(up+rise))...)
		return frame
	}
	frame = append([]byte(syncBegin+"\r"+ansi.CursorUp(rise)), bytes.ReplaceAll(frame, []byte(syncBegin), nil)...)
	return append(frame, syncEnd...)
}

// unwrapped lets a frame that is wider than the terminal has become, of which the
// program may not have heard yet, end in the row in which it began, and in the
// same column if the caret stays. The row is not saved: a terminal that has become
// lower scrolls when the caret's row is now its last.
func unwrapped(frame []byte, c change, col int) []byte {
	if c == far {
		return frame
	}
	frame = slices.Concat([]byte(ansi.ResetModeAutoWrap), frame, []byte(ansi.SetModeAutoWrap))
	if c == near {
		return frame
	}
	return append(frame, ansi.CursorHorizontalAbsolute(col+1)...)
}

// sized tells the width that the first frames are drawn for.
func (o *Output) sized(width int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.width = max(width, 1)
}

// LiveRows is how tall the drawn live region is at most.
func (o *Output) LiveRows() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(o.beforeFrame, o.sinceFrame)
}

// Close writes what is still held and wakes whoever waits for a change. It does
// not close the file.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.signalLocked()
	o.closing.Do(func() { close(o.done) })
	return o.releaseLocked()
}

// Done is closed when the output is.
func (o *Output) Done() <-chan struct{} { return o.done }

func (o *Output) noteFrameLocked(b []byte) {
	framed, alt := o.framed, o.alt
	if o.lastView > 0 {
		o.framed = true
		o.beforeFrame, o.sinceFrame = o.sinceFrame, o.lastView
		o.beforeDrawn, o.sinceDrawn = o.sinceDrawn, still
		o.drawn = o.noted
	}
	enter, leave := bytes.LastIndex(b, []byte(altEnter)), bytes.LastIndex(b, []byte(altLeave))
	if enter != leave {
		o.alt = enter > leave
	}
	if framed != o.framed || alt != o.alt {
		o.signalLocked()
	}
}

func (o *Output) signalLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *Output) armLocked() {
	if o.net != nil {
		return
	}
	o.net = time.AfterFunc(patience, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		_ = o.releaseLocked() // the next write meets the same error
	})
}

func (o *Output) releaseLocked() error {
	if o.net != nil {
		o.net.Stop()
		o.net = nil
	}
	o.expected = 0
	if len(o.held) == 0 {
		return nil
	}
	// The frame's own synchronised update would end ours too early.
	body := bytes.ReplaceAll(o.held, []byte(syncBegin), nil)
	body = bytes.ReplaceAll(body, []byte(syncEnd), nil)
	o.held = nil
	_, err := o.File.Write(append(append([]byte(syncBegin), body...), syncEnd...))
	return err
}

// home makes of the print of a homeMark what moves the cursor to the top of the
// live region. The renderer goes down to the region's last row, adds a row, goes
// up over all of them and inserts; only the way is kept, without the row. If the
// renderer should come to print in another way, nothing is done: then a region
// that shrinks leaves a copy, which the tests would show.
func home(s string) []byte {
	down, rest, ok := strings.Cut(s, "\n")
	if !ok {
		return nil
	}
	digits, _, ok := strings.Cut(strings.TrimPrefix(rest, "\x1b["), "A")
	if digits == "" {
		digits = "1"
	}
	up, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return nil
	}
	if up > 1 {
		down += ansi.CursorUp(up - 1)
	}
	return []byte(down)
}

// isPlain tells a frame that only draws from one that also sets up the terminal:
// that is the first after the program was stopped, and the cursor may be anywhere.
func isPlain(b []byte) bool {
	for _, own := range []string{syncBegin, syncEnd, ansi.SetModeTextCursorEnable, ansi.ResetModeTextCursorEnable} {
		b = bytes.ReplaceAll(b, []byte(own), nil)
	}
	return !bytes.Contains(b, []byte("\x1b[?"))
}

// isQuery tells what the program itself writes (terminal queries, the
// clipboard) from what its renderer draws.
func isQuery(b []byte) bool {
	for _, p := range []string{"\x1b]52;", "\x1b]11;?", "\x1b[?2026$p"} {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}
