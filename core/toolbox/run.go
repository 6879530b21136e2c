package toolbox

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
)

// Trial is a tool that is run without being stored.
type Trial struct {
	Draft
	Name string // of the function; empty: the source says which
	Args map[string]any
	Env  map[string]string
}

// Try runs a tool from its source.
func (t *Tools) Try(ctx context.Context, in Trial) (core.ToolResult, core.ToolInfo, error) {
	was := core.CustomTool{ID: core.NewToolID()}
	if in.Schema == nil && in.Name != "" {
		in.Schema = &core.ToolSpec{Name: in.Name}
	}
	made, err := t.tool(was, in.Draft)
	if err != nil {
		return core.ToolResult{}, core.ToolInfo{}, err
	}
	var given []string
	for name, value := range in.Env {
		if err := core.ValidateVariableName(name); err != nil {
			return core.ToolResult{}, core.ToolInfo{}, err
		}
		if strings.ContainsRune(value, 0) {
			return core.ToolResult{}, core.ToolInfo{}, core.E(core.Invalid, "%s holds a zero byte, which no variable can", name)
		}
		given = append(given, name+"="+value)
	}
	slices.Sort(given)
	bound := t.cfg.Maker.Bind(&made)
	result, err := t.run(ctx, bound, core.Agent{}, in.Args, given)
	return result, bound.Info, err
}

// Prepare installs the packages that a draft asks for, and tells what is done.
func (t *Tools) Prepare(ctx context.Context, d Draft, tell func(string)) error {
	if t.cfg.Maker == nil {
		return core.E(core.Unsupported, "this daemon keeps no tools of your own")
	}
	want := core.CustomTool{Name: "the tool", Language: d.Language}
	if want.Language == "" {
		want.Language = core.LanguagePython
	}
	set(&want.Pip, d.Pip)
	set(&want.Npm, d.Npm)
	if len(want.Pip)+len(want.Npm) > core.MaxToolRequirements {
		return core.E(core.TooLarge, "a tool asks for at most %d packages", core.MaxToolRequirements)
	}
	return t.cfg.Maker.Prepare(ctx, &want, tell)
}

// Run runs a tool of an agent by its name, as a call of the agent would.
func (t *Tools) Run(ctx context.Context, id core.AgentID, name string, args map[string]any) (core.ToolResult, error) {
	agent, err := t.cfg.Store.Agents().Get(ctx, id)
	if err != nil {
		return core.ToolResult{}, err
	}
	attached, err := t.cfg.Box.Tools(ctx, agent.Tools)
	if err != nil {
		return core.ToolResult{}, err
	}
	i := slices.IndexFunc(attached, func(b core.BoundTool) bool { return b.Info.Spec.Name == name })
	switch {
	case i < 0:
		return core.ToolResult{}, core.E(core.NotFound, "tool %q is not attached to agent %s", name, id)
	case attached[i].Info.Kind.Ours():
		return core.ToolResult{}, core.E(core.Unsupported, "%s is built in, and runs in a conversation only", name).
			WithHint("send the agent a message")
	}
	return t.run(ctx, attached[i], agent, args, nil)
}

// RunRemote runs a tool of an MCP server, for no agent.
func (t *Tools) RunRemote(ctx context.Context, id core.ToolID, args map[string]any) (core.ToolResult, error) {
	found, err := t.cfg.Box.Tools(ctx, []core.ToolID{id})
	if err == nil && (len(found) == 0 || found[0].Info.Remote == nil) {
		err = core.E(core.NotFound, "there is no tool %s of an MCP server", id)
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	return t.run(ctx, found[0], core.Agent{}, args, nil)
}

// run calls a tool with what a call of the agent would have; an agent without an id is none.
func (t *Tools) run(ctx context.Context, b core.BoundTool, agent core.Agent, args map[string]any, given []string) (core.ToolResult, error) {
	env := core.ToolEnv{
		Agent: agent, Read: core.ReadsOf(t.cfg.Store), Search: t.cfg.Search, Now: t.cfg.Clock(), MaxReturn: b.Info.ReturnCharLimit,
		Author: core.Author{Kind: core.AuthorUser}, Client: core.Client{Kind: core.ClientAPI},
	}
	var err error
	if t.cfg.Hosts != nil {
		if env.Workspace.Hosts, err = t.cfg.Hosts(); err != nil {
			return core.ToolResult{}, err
		}
	}
	if t.cfg.Variables != nil {
		if env.Veil, err = t.cfg.Variables.Veil(ctx, agent.ID); err != nil {
			return core.ToolResult{}, err
		}
		if env.Variables, err = t.cfg.Variables.Env(ctx, agent.ID, &b.Info); err != nil {
			return core.ToolResult{}, err
		}
	}
	env.Variables = append(env.Variables, given...)
	if args == nil {
		args = map[string]any{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return core.ToolResult{}, core.E(core.Invalid, "the arguments are no JSON: %w", err)
	}
	if err := t.schemas.Check(b.Info.Spec.Parameters, string(text)); err != nil {
		said := "Error executing function " + b.Info.Spec.Name + ": TypeError: " + err.Error()
		return core.ToolError(said), nil //nolint:nilerr // who calls reads it
	}
	call := core.ToolCall{ID: string(core.NewMessageID()), Name: b.Info.Spec.Name, Arguments: string(text)}
	result, err := b.Tool.Call(ctx, call, env)
	if err == nil && result.Apply != nil {
		apply := result.Apply
		err = t.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
			result, err = apply(ctx, core.EditsOf(tx))
			return err
		})
		if err == nil {
			t.cfg.Changed(agent.ID)
		}
	}
	result.Apply = nil
	return result.Veiled(env.Veil), err
}
