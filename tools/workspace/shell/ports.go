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
	n.Local = p.reaches(opens)
	n.Reached = func(port uint16) { out.from.add(fmt.Sprintf("localhost:%d", port)) } // whoever listens there is not the person
	n.Listens = func(ctx context.Context, port uint16) bool { return listensAt(ctx, l, opens, port) }
	n.Opened = func(port uint16, err error) { out.note(opened(port, err)) }
}

// reaches are the ports of this machine that the line reaches: those that a person has just opened before those of rules.
func (p *place) reaches(opens core.Openings) (ports []uint16) {
	for _, port := range slices.Concat(p.local, opens.LocalPorts()) {
		if !slices.Contains(ports, port) && len(ports) < mostLocal {
			ports = append(ports, port)
		}
	}
	return ports
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
