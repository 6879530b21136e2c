package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	xterm "github.com/charmbracelet/x/term"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/term"
)

// Options say what to open and where to show it.
type Options struct {
	Client  *client.Client // how to reach the daemon, and start it if need be
	Who     api.Client     // who is asking; its Open isn't used
	Backend Backend        // replaces Client and Who in tests

	Open     api.Open // agent and conversation; zero: the daemon chooses
	Model    string   // for this chat's runs; empty: the agent's
	Effort   string   // the reasoning effort of its runs; empty: the agent's
	NoColor  bool
	Theme    string              // dark or light; otherwise the terminal is asked
	Notify   string              // off, bell or desktop: how to call who doesn't look; otherwise what the terminal is known to show
	Editor   string              // command of the person's text editor; empty: none
	CopyFile string              // where /copy leaves its text if there is no clipboard tool
	Getenv   func(string) string // of the person's environment, for what the terminal can do; may be nil
	Notes    <-chan string       // lines from the client to show to the person; may be nil

	// About says in one line what a person should know about the daemon that
	// answers; may be nil.
	About func(api.Status) string

	In  *os.File // nil: standard input
	Out *os.File // nil: standard output

	now func() time.Time // nil: time.Now
}

// Notes returns a function for client.Options.Notify and the channel it feeds.
// Lines that aren't read in time are dropped.
func Notes() (notify func(string), notes <-chan string) {
	ch := make(chan string, 32)
	return func(line string) {
		select {
		case ch <- line:
		default:
		}
	}, ch
}

// Run shows the chat until the person leaves or ctx ends. It closes everything
// it opened before it returns; runs go on in the daemon. Its error comes from
// opening the agent or from the terminal.
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
	err = term.Run(ctx, m, o.In, out)
	cancel()
	err = errors.Join(ended(ctx, err), out.Close())
	wg.Wait()
	if m.quitErr != nil {
		return m.quitErr
	}
	return err
}

// ended tells a requested end from a failure.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, tea.ErrInterrupted) ||
		(errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) && ctx.Err() != nil) {
		return nil //nolint:nilerr // the end was requested
	}
	return err
}
