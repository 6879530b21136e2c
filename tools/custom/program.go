package custom

import (
	"context"
	"encoding/json"
	"strings"

	"loci/core"
	"loci/tools/custom/run"
)

// callProgram runs a tool that is a file. Its arguments are one line of JSON on its standard input, and those that are texts, numbers
// or truths are in its environment as well. What it prints is its result.
func (t *tool) callProgram(ctx context.Context, args map[string]any, env core.ToolEnv, by calling) (core.ToolResult, error) {
	if t.cfg.Sandbox == nil {
		return t.refused(core.E(core.Unsupported, "there is no sandbox here"))
	}
	delete(args, heartbeatArgument)
	text, err := json.Marshal(args)
	if err != nil {
		return core.ToolResult{}, err
	}
	c := run.Call{
		Tool: t.of.Name, Env: append(inEnvironment(args), t.variables(env)...), Hosts: by.hosts, Ask: by.ask, Waits: by.waits,
		Mounts: []core.JobMount{{Source: t.of.File}},
	}
	out, err := run.Program(ctx, t.cfg.Sandbox, []string{t.of.File}, append(text, '\n'), c)
	if err != nil {
		return t.refused(err)
	}
	if out.Class == "" && out.Text != "" { // it ended with a code
		out.Class = "RuntimeError"
		out.Text += " " + strings.TrimSpace(out.Stderr+"\n"+out.Stdout)
	} else if out.Class == "" {
		out.Text, out.Stdout = out.Stdout, ""
	}
	return t.result(out, nil, env), nil
}

// inEnvironment are the arguments that a shell can use as they are: ARG_ and the name in capitals.
func inEnvironment(args map[string]any) (out []string) {
	for name, value := range args {
		text, ok := value.(string)
		if !ok {
			raw, err := json.Marshal(value)
			if err != nil {
				continue
			}
			text = string(raw)
		}
		name = "ARG_" + strings.ToUpper(name)
		if core.ValidateVariableName(name) == nil && len(text) <= core.MaxVariableValue && !strings.ContainsRune(text, 0) {
			out = append(out, name+"="+text)
		}
	}
	return out
}
