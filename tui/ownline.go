package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/transcript"
)

// Bounds of what is kept of the output of a person's own line, in bytes: its beginning, and more of its end. Of lines that go
// along with one message, the last ones are kept.
const (
	ownFirst = 8 << 10
	ownLast  = 16 << 10
	ownMost  = 8           // lines
	ownTotal = 48 << 10    // bytes of all of them
	ownKill  = time.Second // until a line that was stopped is killed
	ownTail  = 6           // rows shown while it runs
)

// ownLines are the shell lines that the person runs from the prompt: as themselves, with their own environment, by this program
// and not by the daemon. What they wrote goes along with the next message, once.
type ownLines struct {
	ui     *display
	wg     *sync.WaitGroup
	folder string // empty: that of this program
	shell  string
	in     *os.File
	out    *os.File

	running *ownLine
	done    []transcript.Enclosure // for the next message
}

// ownLine is one that runs.
type ownLine struct {
	line string
	stop context.CancelFunc
	over bool // the person stopped it

	mu     sync.Mutex // guards all that follows
	output transcript.Kept
}

// ownTickMsg says it is time to look what the line has written.
type ownTickMsg struct{ line *ownLine }

// ownDoneMsg is the end of a line. One that had the terminal wrote there, and nothing is known of it.
type ownDoneMsg struct {
	line     *ownLine
	err      error
	terminal bool
}

// own is a line behind the sign for it.
func ownOf(text string) (line string, ok bool) {
	line, ok = strings.CutPrefix(text, "!")
	return strings.TrimSpace(line), ok && strings.TrimSpace(line) != ""
}

// wantsTerminal are programs that draw on the whole terminal, or read from it.
func wantsTerminal(line string) bool {
	words := strings.Fields(line)
	for len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "sudo" || words[0] == "env") {
		words = words[1:]
	}
	name := filepath.Base(words[0])
	known := []string{
		"vi", "vim", "nvim", "view", "nano", "emacs", "hx", "micro", "less", "more", "most", "man", "top", "htop", "btop", "watch",
		"tmux", "screen", "ssh", "mc", "ranger", "lazygit", "tig", "gdb", "fzf", "passwd", "su",
	}
	prompts := []string{"bash", "sh", "zsh", "fish", "python", "python3", "node"}
	return slices.Contains(known, name) || len(words) == 1 && slices.Contains(prompts, name)
}

// run starts a line.
func (o *ownLines) run(line string) tea.Cmd {
	if wantsTerminal(line) {
		return o.onTerminal(line)
	}
	ctx, stop := context.WithCancel(o.ui.ctx)
	own := &ownLine{line: line, stop: stop}
	own.output.First, own.output.Last = ownFirst, ownLast
	o.running = own
	cmd := exec.CommandContext(ctx, o.shell, "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.folder, own, own
	cmd.WaitDelay = ownKill
	ownGroup(cmd)
	done := make(chan error, 1)
	o.wg.Go(func() {
		defer stop()
		done <- cmd.Run()
		if ctx.Err() != nil {
			ownKillGroup(cmd)
		}
	})
	return tea.Batch(func() tea.Msg { return ownDoneMsg{line: own, err: <-done} }, o.tick(own))
}

// Write takes what the line writes.
func (l *ownLine) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.output.Write(piece)
}

func (l *ownLine) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.output.String()
}

func (o *ownLines) tick(own *ownLine) tea.Cmd {
	return tea.Tick(spinEvery, func(time.Time) tea.Msg { return ownTickMsg{own} })
}

// ticked draws a line that runs again.
func (o *ownLines) ticked(msg ownTickMsg) tea.Cmd {
	if o.running != msg.line {
		return nil
	}
	return o.tick(msg.line)
}

// stop ends the line that runs, with all that it started.
func (o *ownLines) stop() bool {
	if o.running == nil {
		return false
	}
	o.running.over = true
	o.running.stop()
	return true
}

// terminalLine runs a program that needs the terminal.
type terminalLine struct {
	editor // for the terminal
	cmd    *exec.Cmd
}

// Run implements tea.ExecCommand.
func (t *terminalLine) Run() error {
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = t.in, t.out, t.out
	return t.cmd.Run()
}

// onTerminal lends the terminal to a line.
func (o *ownLines) onTerminal(line string) tea.Cmd {
	own := &ownLine{line: line, stop: func() {}}
	o.running = own
	cmd := exec.Command(o.shell, "-c", line) //nolint:noctx // it is what the person typed, and it ends when they say so
	cmd.Dir = o.folder
	run := &terminalLine{editor{in: o.in, out: o.out}, cmd}
	return tea.Exec(run, func(err error) tea.Msg { return ownDoneMsg{line: own, err: err, terminal: true} })
}

// ended shows what a line wrote, and keeps it for the next message.
func (o *ownLines) ended(msg ownDoneMsg) {
	if o.running != msg.line {
		return
	}
	o.running = nil
	output, end := msg.line.text(), ownEnd(msg.err)
	if msg.line.over {
		end = "Stopped"
	}
	if msg.terminal {
		o.ui.screen.Resume()
		output = "(It had the terminal; what it showed there is not known.)"
	}
	arguments, err := json.Marshal(map[string]string{"command": msg.line.line})
	if err != nil {
		return // a text can always be written
	}
	o.ui.show(transcript.Item{Kind: transcript.Tool, Call: transcript.Call{
		Name: transcript.OwnLine, Arguments: string(arguments), Return: end + ".\n" + output, Done: true,
	}})
	o.done = append(o.done, transcript.Ran(o.folder, msg.line.line, end, output))
	o.done = o.done[max(0, len(o.done)-ownMost):]
	for o.size() > ownTotal {
		o.done = o.done[1:]
	}
}

// size is how much goes along with the next message, in bytes.
func (o *ownLines) size() (n int) {
	for _, e := range o.done {
		n += len(e.Text)
	}
	return n
}

// ownEnd says how a line ended.
func ownEnd(err error) string {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return "Exit code 0"
	case errors.As(err, &ended) && ended.Exited():
		return fmt.Sprintf("Exit code %d", ended.ExitCode())
	case errors.As(err, &ended):
		return "Ended by a signal"
	case errors.Is(err, exec.ErrWaitDelay):
		return "Exit code 0; something that it started goes on"
	}
	return "It did not start: " + transcript.OneLine(err.Error())
}

// take takes what goes along with a message.
func (o *ownLines) take() []transcript.Enclosure {
	done := o.done
	o.done = nil
	return done
}

// rows is the line that runs with what it has written last, in at most room rows.
func (o *ownLines) rows(room int) []string {
	if o.running == nil {
		return nil
	}
	th := o.ui.theme
	head := th.Accent.Render("!") + " " + transcript.OneLine(transcript.Reveal(o.running.line)) + th.Dim.Render(" · ctrl+c stops it")
	rows := []string{transcript.Short(head, o.ui.width())}
	written := strings.Split(strings.TrimRight(o.running.text(), "\n"), "\n")
	for _, row := range written[max(0, len(written)-min(ownTail, room-1)):] {
		if row != "" {
			rows = append(rows, transcript.Short(th.Dim.Render("  │ "+term.ExpandTabs(row)), o.ui.width()))
		}
	}
	return rows
}

// shellOf is the person's shell.
func shellOf(getenv func(string) string) string {
	if getenv != nil {
		if shell := getenv("SHELL"); filepath.IsAbs(shell) {
			return shell
		}
	}
	return "/bin/sh"
}

// runOwn runs a line from the prompt, where nothing else is being written on the screen.
func (m *Model) runOwn(line string) tea.Cmd {
	switch {
	case m.own.running != nil:
		m.ui.flash = "your line before still runs; ctrl+c stops it"
		return nil
	case m.turn != nil:
		m.ui.flash = m.conv.name() + " is busy; your line runs when it has answered, or after esc"
		return nil
	}
	m.prompt.Take()
	return m.own.run(line)
}

// withOwn puts what the person ran since the last message behind this one.
func (m *Model) withOwn(text string) string {
	ran := m.own.take()
	for _, e := range ran {
		m.prompt.Know(e.String())
	}
	return transcript.Enclose(text, ran)
}
