//go:build unix

package term

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// rawProgram runs the program on a bare pseudo terminal that answers nothing,
// and collects what it writes.
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

// until reads up to the end of text, and returns everything written since the
// last call.
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
	upTo := bytes.Index(r.seen, []byte(text)) + len(text)
	out := string(r.seen[:upTo])
	r.seen = r.seen[upTo:]
	return out
}

func (r *rawProgram) send(text string) {
	r.t.Helper()
	if _, err := r.tty.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

func TestTheKeyboardIsSetUpWithTheFirstFrameAndGivenBackAsOften(t *testing.T) {
	t.Parallel()
	r := startRaw(t)
	if first := r.until("status"); strings.Count(first, keysPush) != 1 {
		t.Errorf("the first frame: %q", first)
	}
	r.send("quit\r")
	after := r.until("bye") + r.rest()
	if strings.Contains(after, keysPush) || strings.Count(after, "\x1b[<1u") != 1 {
		t.Errorf("afterwards: %q", after)
	}
}

// rest reads what is written until the end.
func (r *rawProgram) rest() string {
	r.t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case b, ok := <-r.got:
			if !ok {
				return string(r.seen)
			}
			r.seen = append(r.seen, b...)
		case <-end:
			r.t.Fatalf("it goes on: %q", r.seen)
		}
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
		out := r.until("block 0\r\n") + r.until(syncEnd)
		start := strings.LastIndex(out, syncBegin)
		update, _, _ := strings.Cut(out[start:], syncEnd)
		for _, part := range []string{eraseDown + "block 0", "block 5\r\nlive", "status"} {
			if !strings.Contains(update, part) {
				t.Errorf("no %q in the update of the print: %q", part, out)
			}
		}
		if strings.Contains(out[:start], eraseDown) {
			t.Errorf("the block left the live region before the update: %q", out)
		}
	}
}
