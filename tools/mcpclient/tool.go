package mcpclient

import (
	"context"
	"errors"

	"loci/core"
)

// tool is one of a server, as it is called.
type tool struct {
	box *Box
	of  core.MCPTool
}

// Spec implements core.Tool.
func (t *tool) Spec() core.ToolSpec { return t.of.Spec() }

// Call implements core.Tool.
func (t *tool) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	args, err := core.ParseArguments(call.Arguments)
	if err != nil {
		return t.failed(core.E(core.Invalid, "%w", err))
	}
	if t.of.Gone {
		return t.failed(core.E(core.Gone, "the server %s has the tool no more", t.of.ServerName))
	}
	if t.box.servers == nil {
		return t.failed(core.E(core.Unsupported, "no MCP servers are reached here"))
	}
	to, err := t.box.servers.Target(ctx, t.of.Server, env.Variables)
	if err != nil {
		return t.failed(err)
	}
	result, err := t.box.client.Call(ctx, to, core.MCPCall{
		Remote: t.of.Remote, Hash: t.of.Known().Hash, Arguments: args, Pictures: env.Pictures, Sees: env.Sees != core.ImagesRefused,
	})
	if err != nil {
		if ctx.Err() != nil {
			return core.ToolResult{}, context.Cause(ctx)
		}
		return t.failed(err)
	}
	return result, nil
}

// failed tells a model why a call brought nothing. What is no error of ours fails the run.
func (t *tool) failed(err error) (core.ToolResult, error) {
	var ours *core.Error
	if !errors.As(err, &ours) {
		return core.ToolResult{}, err
	}
	text := "Error executing function " + t.of.Name + ": " + ours.Error() + "."
	if ours.Kind == core.Conflict {
		text += " Nothing was run. Call it again, if it is still needed: a person is shown the difference then."
	}
	if hint := core.HintOf(err); hint != "" {
		text += " What helps, and only a person can do it: " + hint
	}
	return core.ToolError(text), nil
}
