package engine

import (
	"fmt"

	"loci/core"
)

// stageArguments refuses calls of what there is not, and arguments that are no JSON object.
func stageArguments(g *gate, p *pendingCall) verdict {
	if p.wrong != "" {
		return verdict{deny: fmt.Sprintf("Error executing function %s: NameError: there is no tool %q", p.call.Name, p.wrong)}
	}
	if !p.known() {
		if text := g.rules.Check(p.call.Name); text != "" {
			return verdict{deny: text}
		}
		return verdict{deny: "Error executing function " + p.call.Name + ": NameError: there is no such tool"}
	}
	if _, err := core.ParseArguments(p.call.Arguments); err != nil {
		text := "Error executing function " + p.call.Name + ": ValueError: " + err.Error() + ". Call it again with one JSON object."
		return verdict{deny: text}
	}
	return verdict{}
}
