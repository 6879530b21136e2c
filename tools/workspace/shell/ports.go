package shell

import (
	"context"
	"fmt"
	"slices"

	"loci/core"
	"loci/core/jobs"
)

// mostLocal is how many ports of this machine one line reaches.
const mostLocal = 4

// leastPassing is the first port of those that programs get when they ask for any: nobody opens them by number.
const leastPassing = 32768

// openPorts opens ports, as rules and persons say.
func (p *place) openPorts(n *core.JobNetwork, opens core.Openings, l jobs.Line, out *output) {
	for _, port := range slices.Concat(opens.LocalPorts(), p.local) {
		if !slices.Contains(n.Local, port) && len(n.Local) < mostLocal {
			n.Local = append(n.Local, port)
		}
	}
	n.Listens = func(ctx context.Context, port uint16) bool { return listensAt(ctx, l, opens, port) }
	n.Opened = func(port uint16, err error) { out.note(opened(port, err)) }
}

// listensAt reports whether this machine reaches a port on which the line listens. A person is asked only for servers that go on in
// the background: tests that a line runs to its end listen on many.
func listensAt(ctx context.Context, l jobs.Line, opens core.Openings, port uint16) bool {
	o, open, ok := opens.Port(port)
	return ok && (open || l.Behind() && port < leastPassing && l.AskOpening(ctx, o) == "")
}

// opened tells of a port of the line that this machine reaches, or can't.
func opened(port uint16, err error) string {
	if err != nil {
		return fmt.Sprintf("(The port %d is not opened to this machine: %s.)", port, err)
	}
	return fmt.Sprintf("(This machine reaches the port %d of the line at http://127.0.0.1:%d.)", port, port)
}
