package tui

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// editor is the program a person writes texts in. It has the terminal while it
// runs; the live region comes back afterwards.
type editor struct {
	command string // includes arguments
	in, out *os.File
	file    string
}

// editedMsg is the outcome of an editor.
type editedMsg struct {
	text string
	err  error
	take func(string)
}

// Run opens the file in the editor.
func (e *editor) Run() error {
	args := append(strings.Fields(e.command), e.file)
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // the person's own choice, and it ends when they say so
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, e.out, e.out
	return cmd.Run()
}

// EditorFailure says in a person's words why their editor didn't run, or how it ended. The command includes arguments.
func EditorFailure(command string, err error) error {
	var ended *exec.ExitError
	name := strings.Fields(command)[0]
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended) && ended.Exited():
		return fmt.Errorf("%s ended with status %d", name, ended.ExitCode())
	case errors.As(err, &ended):
		return fmt.Errorf("%s was ended by a signal", name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no program %s", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be run", name)
	}
	return fmt.Errorf("%s did not start", name)
}

// SetStdin, SetStdout and SetStderr do nothing: the editor gets the terminal
// itself.
func (*editor) SetStdin(io.Reader) {}

// SetStdout is like SetStdin.
func (*editor) SetStdout(io.Writer) {}

// SetStderr is like SetStdin.
func (*editor) SetStderr(io.Writer) {}

// edit opens a text in the person's editor and passes on what they save.
func (m *Model) edit(text string, take func(string)) tea.Cmd {
	if strings.TrimSpace(m.opts.Editor) == "" {
		m.ui.flash = "no editor: set `editor` in the configuration, or $EDITOR"
		return nil
	}
	f, err := os.CreateTemp("", "loci-*.md")
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		m.ui.flash = "no file for the editor: " + err.Error()
		return nil
	}
	e := &editor{command: m.opts.Editor, in: m.opts.In, out: m.opts.Out, file: f.Name()}
	return tea.Exec(e, func(err error) tea.Msg {
		text, readErr := os.ReadFile(e.file)
		err = cmp.Or(EditorFailure(e.command, err), readErr, os.Remove(e.file))
		return editedMsg{strings.TrimRight(string(text), "\n"), err, take}
	})
}

// done passes on the text, or says why there is none.
func (msg editedMsg) done(d *display) {
	if msg.err != nil {
		d.flash = "the editor failed, the text is as it was: " + msg.err.Error()
		return
	}
	msg.take(msg.text)
}
