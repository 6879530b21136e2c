package server

import (
	"encoding/json"
	"strconv"
	"strings"

	"loci/core"
	"loci/daemon/api"
)

const defaultReturnLimit = 50_000

func itoa(n int) string { return strconv.Itoa(n) }

// wireTool converts a tool.
func wireTool(t core.ToolInfo) api.Tool {
	limit := t.ReturnCharLimit
	if limit == 0 {
		limit = defaultReturnLimit
	}
	no := false
	out := api.Tool{
		ID: string(t.ID), Name: &t.Spec.Name, ToolType: string(t.Kind), Description: &t.Spec.Description, Tags: t.Tags,
		JSONSchema: wireSchema(t.Spec), ReturnCharLimit: limit, DefaultRequiresApproval: &no, EnableParallelExecution: &no,
	}
	if r := t.Remote; r != nil {
		server, _, _ := strings.Cut(r.Name, "/")
		out.Metadata = api.Object{
			"mcp": map[string]any{"server_name": server, "server_id": string(r.Server)}, "mcp:SCHEMA_STATUS": string(r.Health),
			"mcp:SCHEMA_WARNINGS": append([]string{}, r.Reasons...),
		}
	}
	if c := t.Custom; c != nil {
		language := string(c.Language)
		out.SourceCode, out.SourceType, out.Metadata = &c.Source, &language, c.Metadata
		out.DefaultRequiresApproval, out.EnableParallelExecution = &c.Asks, &c.Parallel
		out.PipRequirements, out.NpmRequirements = wireRequirements(c.Pip), wireRequirements(c.Npm)
		out.ArgsJSONSchema = wireObject(c.ArgsSchema)
	}
	return out
}

func wireRequirements(in []core.Requirement) []api.Requirement {
	var out []api.Requirement
	for _, r := range in {
		out = append(out, api.Requirement{Name: r.Name, Version: api.PtrTo(r.Version)})
	}
	return out
}

func coreRequirements(in *[]api.Requirement) *[]core.Requirement {
	if in == nil {
		return nil
	}
	out := []core.Requirement{}
	for _, r := range *in {
		out = append(out, core.Requirement{Name: r.Name, Version: api.Val(r.Version)})
	}
	return &out
}

// wireObject shows a schema as it was given; nil: none was.
func wireObject(text json.RawMessage) api.Object {
	var out api.Object
	if json.Unmarshal(text, &out) != nil { // it is checked before it is stored
		return nil
	}
	return out
}

// givenSchema reads the json_schema of a request: a name, a description and parameters; nil: none was sent.
func givenSchema(in api.Object) (*core.ToolSpec, error) {
	if in == nil {
		return nil, nil
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var spec core.ToolSpec
	if json.Unmarshal(text, &spec) != nil || spec.Name == "" {
		return nil, unprocessable("body.json_schema", "a schema of a tool is an object with its name, description and parameters")
	}
	if spec.Parameters == nil {
		spec.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return &spec, nil
}

// wireSchema shows a tool as the contract does: its name, description and argument schema.
func wireSchema(spec core.ToolSpec) api.Object {
	return api.Object{"name": spec.Name, "description": spec.Description, "parameters": wireParameters(spec)}
}

func wireParameters(spec core.ToolSpec) map[string]any {
	parameters := map[string]any{}
	if err := json.Unmarshal(spec.Parameters, &parameters); err != nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return parameters
}

// wireRule converts a tool rule; each type shows only the keys it has.
func wireRule(r core.ToolRule) api.ToolRule {
	out := api.ToolRule{
		Type: string(r.Type), ToolName: r.Tool, Args: api.Arguments(r.Args), Children: r.Children, ChildOutputMapping: r.Mapping,
	}
	for _, c := range r.ChildArgs {
		out.ChildArgNodes = append(out.ChildArgNodes, api.ToolCallNode{Name: c.Name, Args: api.Arguments(c.Args)})
	}
	switch r.Type { //nolint:exhaustive // only these have more keys
	case core.RuleConditional:
		out.RequireOutputMapping = &r.RequireOutput
		out.DefaultChild = api.PtrTo(r.DefaultChild)
	case core.RuleMaxCount:
		out.MaxCountLimit = &r.MaxCount
	}
	return out
}

// coreRules converts tool rules and rejects types that the contract doesn't have.
func coreRules(in []api.ToolRule) ([]core.ToolRule, error) {
	var out []core.ToolRule
	for _, r := range in {
		rule := core.ToolRule{
			Type: core.ToolRuleType(r.Type), Tool: r.ToolName, Children: r.Children, Args: core.Arguments(r.Args),
			Mapping:      r.ChildOutputMapping,
			DefaultChild: api.Val(r.DefaultChild), RequireOutput: api.Val(r.RequireOutputMapping), MaxCount: api.Val(r.MaxCountLimit),
		}
		if !rule.Type.Valid() {
			return nil, unprocessable("body.tool_rules", "tool rule type %q is not known", r.Type)
		}
		if err := completeRule(r, rule.Type); err != nil {
			return nil, err
		}
		for _, c := range r.ChildArgNodes {
			rule.ChildArgs = append(rule.ChildArgs, core.ChildArgs{Name: c.Name, Args: core.Arguments(c.Args)})
		}
		out = append(out, rule)
	}
	return out, nil
}

// completeRule checks what the contract requires of a rule of a type.
func completeRule(r api.ToolRule, kind core.ToolRuleType) error {
	missing := ""
	switch {
	case (kind == core.RuleConstrainChild || kind == core.RuleParentLast) && r.Children == nil:
		missing = "children"
	case kind == core.RuleConditional && r.ChildOutputMapping == nil:
		missing = "child_output_mapping"
	case kind == core.RuleMaxCount && api.Val(r.MaxCountLimit) < 1:
		return unprocessable("body.tool_rules", "a rule of type %s has a max_count_limit of at least 1", r.Type)
	}
	if missing != "" {
		return unprocessable("body.tool_rules", "a rule of type %s has %s", r.Type, missing)
	}
	return nil
}
