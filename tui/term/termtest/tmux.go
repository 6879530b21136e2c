// Package termtest runs a program in a real terminal multiplexer, so that tests
// see what a person would: the screen and the scrollback. Only tests use it.
package termtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
)

// Deadline is how long a screen may take to become what a test expects.
const Deadline = time.Minute

// Tmux is one private server with one window.
type Tmux struct {
	t      testing.TB
	socket string
}

// Start runs a shell command in a window of the given size. It first prints
// before, as if that had already been in the terminal. It skips the test
// without tmux.
func Start(tb testing.TB, width, height int, before, command string) *Tmux {
	tb.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		tb.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "tm") //nolint:usetesting // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	x := &Tmux{t: tb, socket: filepath.Join(dir, "s")}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), Deadline)
		defer cancel()
		_ = exec.CommandContext(ctx, "tmux", "-S", x.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(
		conf,
		[]byte("set -g status off\nset -g history-limit 20000\nset -sg escape-time 0\nset -g default-terminal tmux-256color\n"),
		0o600,
	); err != nil {
		tb.Fatal(err)
	}
	script := filepath.Join(dir, "run")
	body := fmt.Sprintf("printf %%s %s\n%s\nprintf 'ended %%s\\n' $?\nexec sleep 600\n", quote(before), command)
	if err := os.WriteFile(script, []byte(body), 0o600); err != nil {
		tb.Fatal(err)
	}
	x.run("-f", conf, "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "sh "+script)
	return x
}

// Keys sends keys by their tmux names: Enter, Escape, C-l, Up.
func (x *Tmux) Keys(names ...string) {
	x.t.Helper()
	x.run(append([]string{"send-keys"}, names...)...)
}

// Type sends text literally.
func (x *Tmux) Type(text string) {
	x.t.Helper()
	x.run("send-keys", "-l", text)
}

// Paste sends text as one bracketed paste.
func (x *Tmux) Paste(text string) {
	x.t.Helper()
	x.run("set-buffer", "-b", "clip", text)
	x.run("paste-buffer", "-p", "-b", "clip")
}

// Resize changes the size of the window.
func (x *Tmux) Resize(width, height int) {
	x.t.Helper()
	x.ResizeAtOnce(width, height)
	tty := x.tty()
	want := fmt.Sprint(width, " ", height)
	x.Wait("the size "+want, func() string { // the program hears of it a little later
		w, h, err := xterm.GetSize(tty.Fd())
		return fmt.Sprint(w, " ", h, err)
	}, func(s string) bool { return strings.HasPrefix(s, want) })
}

// ResizeAtOnce changes the size of the window without waiting for the program
// to learn of it.
func (x *Tmux) ResizeAtOnce(width, height int) {
	x.t.Helper()
	x.run("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// Tell makes the program believe that the window's width is different from what
// it is.
func (x *Tmux) Tell(width int) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), "stty", "cols", strconv.Itoa(width))
	cmd.Stdin = x.tty()
	if out, err := cmd.CombinedOutput(); err != nil {
		x.t.Fatalf("stty: %v\n%s", err, out)
	}
}

// Record starts recording what the program writes. The returned function
// returns what has been written so far.
func (x *Tmux) Record() func() string {
	x.t.Helper()
	file := filepath.Join(filepath.Dir(x.socket), "written")
	x.run("pipe-pane", "cat >"+quote(file))
	return func() string {
		x.t.Helper()
		b, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			x.t.Fatal(err)
		}
		return string(b)
	}
}

// tty is the program's terminal, open until the test ends.
func (x *Tmux) tty() *os.File {
	x.t.Helper()
	tty, err := os.Open(strings.TrimSpace(x.run("display-message", "-p", "#{pane_tty}")))
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = tty.Close() })
	return tty
}

// Screen is the visible rows, without trailing spaces or empty rows at the end.
func (x *Tmux) Screen() string {
	x.t.Helper()
	return strings.TrimRight(x.run("capture-pane", "-p"), "\n ")
}

// All is the scrollback and the screen, row by row.
func (x *Tmux) All() string {
	x.t.Helper()
	return strings.TrimRight(x.run("capture-pane", "-p", "-S", "-"), "\n ")
}

// Joined is All, with lines that the terminal wrapped joined again.
func (x *Tmux) Joined() string {
	x.t.Helper()
	return strings.TrimRight(x.run("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

// Cursor is the position of the real cursor, counted from 0.
func (x *Tmux) Cursor() (col, row int) {
	x.t.Helper()
	if _, err := fmt.Sscanf(x.run("display-message", "-p", "#{cursor_x} #{cursor_y}"), "%d %d", &col, &row); err != nil {
		x.t.Fatal(err)
	}
	return col, row
}

// Wait polls look until ok returns true, and returns what it saw last. It fails
// the test at the deadline.
func (x *Tmux) Wait(what string, look func() string, ok func(string) bool) string {
	x.t.Helper()
	end := time.Now().Add(Deadline)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got := look()
		if ok(got) {
			return got
		}
		if time.Now().After(end) {
			x.t.Fatalf("%s: not seen. The terminal shows:\n%s", what, got)
		}
		<-tick.C
	}
}

// WaitFor waits until the screen contains text.
func (x *Tmux) WaitFor(text string) string {
	x.t.Helper()
	return x.Wait(strconv.Quote(text), x.Screen, func(s string) bool { return strings.Contains(s, text) })
}

// WaitAll waits until the scrollback and the screen are exactly want.
func (x *Tmux) WaitAll(want string) {
	x.t.Helper()
	x.Wait("exactly\n"+want+"\n", x.All, func(s string) bool { return s == want })
}

func (x *Tmux) run(args ...string) string {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), "tmux", append([]string{"-S", x.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8") //nolint:forbidigo // the tester's own, for PATH and HOME
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Self is a shell command that runs the test binary again with one variable
// set.
func Self(name, value string) string {
	return name + "=" + quote(value) + " " + quote(os.Args[0])
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
