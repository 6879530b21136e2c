package engine

import (
	"cmp"
	"slices"

	"loci/core"
)

// stageApproval asks before a call that a rule wants a person to see, or that the client runs. The person's own programs are
// told of each call that a person is asked about, whatever stage asks.
func stageApproval(g *gate, p *pendingCall) (v verdict) {
	if p.client {
		return verdict{ask: "The program that sent the message runs " + p.call.Name + " itself."}
	}
	if p.tool.Info.Asks && !g.client.Unattended {
		return verdict{ask: "The agent asks you something."}
	}
	if asksByName(g.agent, p.call.Name) {
		v.ask = "A rule of the agent says that " + p.call.Name + " needs a person's approval."
	}
	if why := cmp.Or(p.why, v.ask); why != "" {
		v.deny = g.hookApproval(p, why)
	}
	return v
}

// asksByName reports whether a rule of the agent wants a person to approve every call of a tool.
func asksByName(a *core.Agent, tool string) bool {
	return slices.ContainsFunc(a.ToolRules, func(r core.ToolRule) bool { return r.Type == core.RuleRequiresApproval && r.Tool == tool })
}

// askedByName tells of a name alone whether calls of that tool ask, so that they are shown as a request while they come.
func askedByName(t *turn) func(tool string) bool {
	known := map[string]bool{}
	for _, spec := range t.win.tools() {
		known[spec.Name] = asksByName(&t.agent, spec.Name)
	}
	for _, spec := range t.run.Config.ClientTools {
		known[spec.Name] = true
	}
	return func(tool string) bool { return known[tool] }
}
