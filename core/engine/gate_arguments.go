package engine

import (
	"fmt"

	"loci/core/arguments"
)

// stageArguments refuses calls of what there is not, and arguments that don't fit the schema of the tool. JSON that is broken
// in one known way is mended, and the return says so.
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
	text, err := arguments.Read(p.call.Arguments)
	if err != nil {
		text := "Error executing function " + p.call.Name + ": ValueError: " + err.Error() + ". Call it again with one JSON object."
		return verdict{deny: text}
	}
	if err := g.schemas.Check(p.tool.Info.SpecFor(g.agent).Parameters, text.JSON); err != nil {
		return verdict{deny: "Error executing function " + p.call.Name + ": TypeError: " + err.Error()}
	}
	if text.Mended == "" {
		return verdict{}
	}
	p.note = "[the arguments were no valid JSON, because " + text.Mended + "; they were mended]\n"
	return verdict{arguments: text.JSON}
}
