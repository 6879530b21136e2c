package shell

import (
	"context"
	"sync"

	"loci/core"
	"loci/core/jobs"
)

// network is what a line may reach: hosts that rules of permission allow, or a person who is asked. Where nobody does, its names
// are noted nevertheless. Ports are opened by rules and persons likewise.
func (s *Shell) network(p *place, env core.ToolEnv, l jobs.Line, out *output) *core.JobNetwork {
	rules, opens := env.Workspace.Hosts, env.Workspace.Opens
	if rules == nil {
		return nil
	}
	h := &hosts{rules: rules, line: l, origin: out.from, allowed: map[string]bool{}}
	n := &core.JobNetwork{Allows: h.allows, Ask: h.ask}
	if opens != nil {
		p.openPorts(n, opens, l, out)
	}
	return n
}

// hosts are those that one line may reach.
type hosts struct {
	rules  core.HostRules
	line   jobs.Line
	origin *origin

	mu      sync.Mutex // guards allowed
	allowed map[string]bool
}

// allows reports whether a host may be reached. What a person allowed when they were asked is named alone.
func (h *hosts) allows(host string, named bool) bool {
	h.mu.Lock()
	asked := h.allowed[host]
	h.mu.Unlock()
	if !asked && !h.rules.Allows(host, named) {
		return false
	}
	h.origin.add(host)
	return true
}

// ask asks a person, as core.JobNetwork says. A rule that asks can't be overcome by one that allows, but this once.
func (h *hosts) ask(ctx context.Context, a core.HostAsk) *core.JobRefusal {
	r := &core.JobRefusal{Host: a.Host, Why: "no rule allows it", Rule: a.Host}
	if a.Behind != "" {
		r.Host = a.Behind
	}
	if !h.rules.Asks(a.Host) {
		return r
	}
	why, final := h.line.Ask(ctx, a, h.rules.Closed(a.Host) == "")
	if why == "" {
		h.mu.Lock()
		h.allowed[a.Host] = true
		h.mu.Unlock()
		h.origin.add(a.Host)
		return nil
	}
	r.Why = why
	if a.Behind != "" {
		r.Why = "its name leads to " + a.Why + "; " + why
	}
	if final {
		r.Rule = ""
	}
	return r
}
