package engine

import (
	"encoding/json"

	"loci/core"
	"loci/core/request"
)

// stageRules refuses what a tool rule forbids now and fills in what a rule prescribes.
func stageRules(g *gate, p *pendingCall) verdict {
	if p.call.Name == core.MoreToolsName { // it finds tools and does nothing
		return verdict{}
	}
	if text := g.rules.Check(p.call.Name); text != "" {
		return verdict{deny: text}
	}
	prefill := g.rules.Prefill(p.call.Name)
	if len(prefill) == 0 {
		return verdict{}
	}
	args, err := core.ParseArguments(p.call.Arguments)
	if err != nil {
		return verdict{deny: "Error executing function " + p.call.Name + ": ValueError: " + err.Error()}
	}
	for k, v := range prefill {
		if !hasProperty(p.tool.Info.Spec.Parameters, k) {
			return verdict{deny: "Error executing function " + p.call.Name + ": ValueError: a tool rule gives it the argument " + k +
				", which it does not have"}
		}
		args[k] = v
	}
	return verdict{arguments: request.JSON(args)}
}

func hasProperty(schema json.RawMessage, name string) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	_, ok := s.Properties[name]
	return ok
}
