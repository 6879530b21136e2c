package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
	xterm "github.com/charmbracelet/x/term"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/term"
)

// Options say what to open and where to show it.
type Options struct {
	Client  *client.Client // how to reach the daemon, which it may start
	Who     api.Client     // who asks; its Open is not used
	Backend Backend        // in place of Client and Who, for tests

	Open     api.Open // agent and conversation; zero: as the daemon finds them
	Model    string   // for the runs of this chat; empty: the agent's
	NoColor  bool
	CopyFile string        // where /copy leaves its text when no tool is there
	Notes    <-chan string // lines that the client wants a person to know; may be nil

	// About says what a person should know of the daemon that answers, in one
	// line; may be nil.
	About func(api.Status) string

	In  *os.File // nil: standard input
	Out *os.File // nil: standard output

	greet string
}

// Notes returns a function for client.Options.Notify and the channel that it
// feeds. Lines that nobody reads in time are dropped.
func Notes() (notify func(string), notes <-chan string) {
	ch := make(chan string, 32)
	return func(line string) {
		select {
		case ch <- line:
		default:
		}
	}, ch
}

// Run shows the chat until the person leaves or ctx ends. What it opened it has
// closed when it returns; runs go on in the daemon. The error is that of opening
// the agent, or of the terminal.
func Run(ctx context.Context, o Options) error {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Backend == nil {
		o.Backend = daemon{o.Client, o.Who}
	}
	width, height, err := xterm.GetSize(o.Out.Fd())
	if err != nil {
		return fmt.Errorf("the chat needs a terminal: %w", err)
	}
	width, height = term.SizeOr(width, height)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	out := term.NewOutput(o.Out)
	m := newModel(ctx, &wg, o, out, width, height)
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(out), tea.WithFPS(120), tea.WithFilter(term.Filter(out))).Run()
	cancel()
	err = errors.Join(ended(ctx, err), out.Close())
	wg.Wait()
	if m.quitErr != nil {
		return m.quitErr
	}
	return err
}

// ended tells an end that someone asked for from a failure.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, tea.ErrInterrupted) || (errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) && ctx.Err() != nil) {
		return nil //nolint:nilerr // it was asked for
	}
	return err
}
