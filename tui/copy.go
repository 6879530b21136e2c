package tui

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"loci/tui/transcript"
)

const copyTime = 2 * time.Second

// copyTools put standard input on the clipboard of the machine they run on.
func copyTools() [][]string {
	return [][]string{{"pbcopy"}, {"wl-copy"}, {"xclip", "-selection", "clipboard"}, {"xsel", "-ib"}, {"clip.exe"}}
}

// copyAnswer copies the last answer, or its code block n. It asks the terminal,
// which works over ssh but never reports back, and also runs a tool or, failing
// that, writes a file. It says which of them it used.
func copyAnswer(d *display, arg, file string) tea.Cmd {
	text := d.answer()
	if text == "" {
		d.flash = "there is no answer to copy yet"
		return nil
	}
	what := "the answer"
	if arg != "" {
		n, err := strconv.Atoi(arg)
		blocks := transcript.CodeBlocks(text)
		if err != nil || n < 1 || n > len(blocks) {
			d.flash = "the last answer has " + strconv.Itoa(len(blocks)) + " code blocks"
			return nil
		}
		text, what = blocks[n-1], "code block "+arg
	}
	if file == "" {
		file = filepath.Join(os.TempDir(), "loci-copy.md")
	}
	d.screen.Send(ansi.SetSystemClipboard(text))
	return func() tea.Msg {
		second := copyBeside(d.ctx, text, file)
		return loadedMsg{func() tea.Cmd {
			d.notice("copied " + what + " by the terminal (OSC 52)" + second)
			return nil
		}}
	}
}

func copyBeside(ctx context.Context, text, file string) string {
	for _, tool := range copyTools() {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, copyTime)
		cmd := exec.CommandContext(ctx, path, tool[1:]...)
		cmd.Stdin = strings.NewReader(text)
		err = cmd.Run()
		cancel()
		if err == nil {
			return " and " + tool[0]
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "; if that is not allowed there, nothing was copied: " + err.Error()
	}
	return "; it is also in " + file
}
