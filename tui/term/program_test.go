package term

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	xterm "github.com/charmbracelet/x/term"
)

// TestMain turns the test binary into the program under test when a terminal
// test runs it again.
func TestMain(m *testing.M) {
	if v := os.Getenv("TERM_TEST_PROGRAM"); v != "" {
		os.Exit(runProgram(v))
	}
	os.Exit(m.Run())
}

// program is a model driven by typed commands; see do.
type program struct {
	screen *Screen
	live   int
	block  []string
	typed  string
	status string
	panel  bool
	early  bool
	quit   bool
}

func runProgram(mode string) int {
	w, h, err := xterm.GetSize(os.Stdout.Fd())
	if err != nil {
		return 3
	}
	out := NewOutput(os.Stdout)
	p := &program{screen: NewScreen(out, w, h), live: 4, early: mode == "early"}
	err = Run(context.Background(), p, os.Stdin, out)
	_ = out.Close()
	if err != nil {
		return 4
	}
	return 0
}

func (p *program) Init() tea.Cmd {
	if p.early {
		p.print("e", 5)
	}
	return nil
}

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.screen.Resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "enter":
			p.do(p.typed)
			p.typed = ""
		case "tab":
			p.status += strings.Repeat("s", 10)
		case "space":
			p.typed += " "
		default:
			p.typed += msg.Text
		}
	}
	if p.quit {
		return p, tea.Quit
	}
	return p, nil
}

func (p *program) do(command string) {
	name, arg, _ := strings.Cut(command, " ")
	n, _ := strconv.Atoi(arg)
	width, _ := p.screen.Size()
	switch name {
	case "print":
		p.print("p", n)
	case "live":
		p.live = n
	case "block": // a block of n rows in the live region
		for i := range n {
			p.block = append(p.block, fmt.Sprintf("block %d", i))
		}
	case "commit": // it moves into the scrollback
		p.screen.Print(strings.Join(p.block, "\n"))
		p.block = nil
	case "exact":
		p.screen.Print(strings.Repeat("x", n*width) + "\nafter")
	case "long":
		p.screen.Print(strings.Repeat("y", n) + "\nafter")
	case "wide":
		p.screen.Print(strings.Repeat("漢", n) + "\nafter")
	case "tabs":
		p.screen.Print(strings.Repeat("\t", n) + "end\nafter")
	case "panel":
		p.panel = !p.panel
	case "swap": // open or shut, and shrink the region in the same frame
		p.live = n
		p.do("panel")
	case "clear":
		p.screen.Clear()
		p.print("c", n)
	case "quit":
		p.screen.Print("bye")
		p.quit = true
	case "silent":
		p.quit = true
	}
}

func (p *program) print(mark string, n int) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s%d", mark, i)
	}
	p.screen.Print(strings.Join(lines, "\n"))
}

func (p *program) View() tea.View {
	if p.panel {
		return p.screen.Panel("PANEL "+p.typed, nil)
	}
	if p.quit {
		return p.screen.View("", tea.NewCursor(0, 0))
	}
	return p.screen.View(strings.Join(p.rows(), "\n"), tea.NewCursor(2+len(p.typed), len(p.block)+p.live-2))
}

func (p *program) rows() []string {
	rows := append([]string{}, p.block...)
	for i := range p.live - 2 {
		rows = append(rows, fmt.Sprintf("live %d", i))
	}
	return append(rows, "> "+p.typed, "status"+p.status)
}
