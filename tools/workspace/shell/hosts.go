package shell

import (
	"loci/core"
	"loci/core/jobs"
	"loci/tools/internal/reach"
)

// network is what a line may reach: hosts that rules of permission allow, or a person who is asked. Where nobody does, its names
// are noted nevertheless. Ports are opened by rules and persons likewise.
func (s *Shell) network(p *place, env core.ToolEnv, l jobs.Line, out *output) *core.JobNetwork {
	rules, opens := env.Workspace.Hosts, env.Workspace.Opens
	if rules == nil {
		return nil
	}
	h := &reach.Hosts{Rules: rules, Line: l, Seen: out.from.add}
	n := &core.JobNetwork{Allows: h.Allows, Ask: h.Ask}
	if opens != nil {
		p.openPorts(n, opens, l, out)
	}
	return n
}
