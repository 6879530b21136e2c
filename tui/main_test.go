package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/tui/term/termtest"
)

// TestMain turns the test binary into a chat with a scripted daemon when a
// terminal test runs it again.
func TestMain(m *testing.M) {
	if mode := os.Getenv("TUI_TEST_PROGRAM"); mode != "" {
		os.Exit(runChat(mode))
	}
	os.Exit(m.Run())
}

func runChat(mode string) int {
	f := newFake()
	if mode == "huge" {
		f.history = append(
			f.history,
			api.Message{MessageType: api.MessageUser, ID: "u", Content: api.Text("first\n" + strings.Repeat("a line\n", 50_000) + "last")},
		)
	}
	if mode == "past" {
		withTurns(f)
	}
	if mode == "history" {
		for i := range 30 {
			f.history = append(f.history,
				api.Message{MessageType: api.MessageUser, ID: fmt.Sprint("u", i), Content: api.Text(fmt.Sprint("question ", i))},
				api.Message{MessageType: api.MessageAssistant, ID: fmt.Sprint("a", i), Content: api.Text(fmt.Sprint("answer ", i))})
		}
	}
	if err := Run(context.Background(), Options{Backend: f, NoColor: true, CopyFile: os.Getenv("TUI_TEST_COPY")}); err != nil {
		return 1
	}
	return 0
}

func chat(t *testing.T, width, height int, mode string) *termtest.Tmux {
	t.Helper()
	t.Parallel()
	return another(t, width, height, mode)
}

// another is chat for a test that is already parallel.
func another(t *testing.T, width, height int, mode string) *termtest.Tmux {
	t.Helper()
	x := termtest.Start(t, width, height, "$ loci\n", termtest.Self("TUI_TEST_PROGRAM", mode))
	x.WaitFor("openai/gpt-4o")
	return x
}

func say1(x *termtest.Tmux, text string) {
	x.Type(text)
	x.Keys("Enter")
}
