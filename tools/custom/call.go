package custom

import (
	"context"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/core/jobs"
	"loci/tools/custom/packages"
	"loci/tools/custom/run"
	"loci/tools/internal/reach"
)

// calling is a call of a tool while it runs.
type calling struct {
	hosts core.HostRules
	ask   func(ctx context.Context, ask core.HostAsk) *core.JobRefusal // nil: nobody is asked
	tell  func(string)                                                 // shows a person what is done meanwhile
	waits time.Duration                                                // what it may take beside its time, which somebody else counts
}

// attended runs a call where a person sees it and can be asked, as the lines of a shell are. What it returns is stored with its call, so
// that it never goes to the background.
func (t *tool) attended(
	ctx context.Context, env core.ToolEnv, do func(ctx context.Context, c calling) (core.ToolResult, error),
) (core.ToolResult, error) {
	if t.cfg.Jobs == nil || env.Conversation == "" {
		return do(ctx, calling{hosts: env.Workspace.Hosts, tell: func(string) {}})
	}
	out, installs := &said{veil: env.Veil}, len(t.of.Pip)+len(t.of.Npm) > 0
	work := jobs.Work{
		Agent: env.Agent.ID, Conversation: env.Conversation, Run: env.Run, Call: env.Call, Client: env.Client, Command: t.of.Name,
		Folder: env.Workspace.Path, Stays: true, Time: run.CallTime, Output: out,
		Do: func(ctx context.Context, l jobs.Line) (core.ToolResult, error) {
			c := calling{hosts: env.Workspace.Hosts, tell: out.add, waits: run.AskTime}
			if installs {
				c.waits = 0
			}
			if c.hosts != nil {
				h := &reach.Hosts{Rules: c.hosts, Line: l}
				c.hosts, c.ask = h, h.Ask
			}
			return do(ctx, c)
		},
	}
	if installs { // nobody can tell ahead whether they are there; the call itself is bounded as ever
		work.Time += packages.InstallTime
	}
	result, _, err := t.cfg.Jobs.Run(ctx, work)
	return result, err
}

// said is what a call says of its work before it returns.
type said struct {
	veil *core.Veil
	mu   sync.Mutex // guards rows
	rows []string
}

var _ jobs.Output = (*said)(nil)

// mostSaid bounds what is remembered of it, in rows.
const mostSaid = 50

func (s *said) add(row string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows[max(0, len(s.rows)-mostSaid+1):], row)
}

// Text implements jobs.Output.
func (s *said) Text() string { return s.Tail(mostSaid) }

// Source implements jobs.Output.
func (*said) Source() string { return "" }

// Tail implements jobs.Output.
func (s *said) Tail(rows int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.veil.Text(strings.Join(s.rows[max(0, len(s.rows)-rows):], "\n"))
}
