//go:build unix

package term

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
)

// rawProgram runs the program on a bare pseudo terminal that answers nothing,
// and gathers what it writes.
type rawProgram struct {
	t    *testing.T
	tty  *os.File
	seen []byte
	got  chan []byte
}

func startRaw(t *testing.T) *rawProgram {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TERM_TEST_PROGRAM=run", "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Skip("no pseudo terminal: ", err)
	}
	r := &rawProgram{t: t, tty: tty, got: make(chan []byte, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(r.got)
		for {
			buf := make([]byte, 1<<16)
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			r.got <- buf[:n]
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		for range r.got {
		}
		<-done
	})
	return r
}

// until reads until text has been written since the last call, and returns all
// that was written up to then.
func (r *rawProgram) until(text string) string {
	r.t.Helper()
	end := time.After(time.Minute)
	for !bytes.Contains(r.seen, []byte(text)) {
		select {
		case b, ok := <-r.got:
			if !ok {
				r.t.Fatalf("ended without %q: %q", text, r.seen)
			}
			r.seen = append(r.seen, b...)
		case <-end:
			r.t.Fatalf("no %q in %q", text, r.seen)
		}
	}
	out := string(r.seen)
	r.seen = nil
	return out
}

func (r *rawProgram) send(text string) {
	r.t.Helper()
	if _, err := r.tty.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

func TestAPrintAndItsFrameAreOneSynchronizedUpdate(t *testing.T) {
	t.Parallel()
	r := startRaw(t)
	r.until("status")
	for range 20 {
		r.send("block 6\r")
		r.until("block 5")
		r.send("commit\r")
		out := r.until(syncEnd)
		start := strings.Index(out, syncBegin)
		if start < 0 {
			t.Fatalf("no synchronised update: %q", out)
		}
		update := out[start+len(syncBegin):]
		update = update[:strings.Index(update, syncEnd)]
		if !strings.Contains(update, "block 0") || !strings.Contains(update, "block 5") {
			t.Errorf("the print is not in the update: %q", out)
		}
		if !strings.Contains(update, "status") && !strings.Contains(update, eraseDown) {
			t.Errorf("the frame is not in the update: %q", out)
		}
		if strings.Contains(out[:start], "block") || strings.Contains(out[:start], eraseDown) {
			t.Errorf("the block left the live region before the update: %q", out)
		}
	}
}

// narrowed is an Output whose terminal has shown a region of one row of 100 cells
// and the caret's below it, 120 wide, and has become 40 wide since; got gives
// what was written then.
func narrowed(t *testing.T) (o *Output, got func() string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(master.Close(), tty.Close()) })
	size := func(width uint16) {
		if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: width}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := xterm.MakeRaw(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	size(120)
	o = NewOutput(tty)
	NewScreen(o, 120, 24)
	o.note(2, shape{widths: []int{100, 2}, col: 2, row: 1})
	write(t, o, "first;")
	size(40)
	return o, func() string {
		if _, err := tty.WriteString("\x04"); err != nil {
			t.Fatal(err)
		}
		s, err := bufio.NewReader(master).ReadString('\x04')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(s, "first;"), "\x04")
	}
}

func TestAFrameDrawnInFullBeginsWhereTheOldOneDoesSinceTheTerminalWrappedIt(t *testing.T) {
	t.Parallel()
	next := shape{widths: []int{59, 30, 2}, col: 2, row: 2}
	want := syncBegin + "\r" + ansi.CursorUp(2) + gentleErase + "frame" + syncEnd
	for name, resized := range map[string][]int{"at the width that is known": {40}, "that is not known yet": nil, "once more": {60}} {
		o, got := narrowed(t)
		for _, width := range resized {
			o.Resized(width)
		}
		o.note(3, next)
		write(t, o, eraseDown+"frame")
		if diff := cmp.Diff(want, got()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPrintThatATerminalsWrappingOvertookGoesAboveTheWholeRegion(t *testing.T) {
	t.Parallel()
	o, got := narrowed(t)
	o.Expect(1)
	if _, err := o.WriteString("\r\n\n" + ansi.CursorUp(3) + ansi.InsertLine(2) + "one\r\ntwo\r\n"); err != nil {
		t.Fatal(err)
	}
	o.Resized(40)
	o.note(2, shape{widths: []int{40, 2}, col: 2, row: 1})
	write(t, o, eraseDown+"frame")
	want := syncBegin + "\r\n\n" + ansi.CursorUp(5) + ansi.InsertLine(2) + "one\r\ntwo\r\n" + gentleErase + "frame" + syncEnd
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
