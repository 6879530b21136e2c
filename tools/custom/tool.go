package custom

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/tools/custom/pysource"
	"loci/tools/custom/run"
	"loci/tools/internal/plaintext"
	"loci/tools/internal/reach"
	"loci/tools/memory"
)

// maxErrorChars limits the text of an error that a model reads.
const maxErrorChars = 1000

// tool is one that a person wrote, as it is called.
type tool struct {
	cfg *Config
	of  *core.CustomTool
}

// Spec implements core.Tool.
func (t *tool) Spec() core.ToolSpec { return t.of.Spec() }

// ParallelSafe implements core.ParallelSafe.
func (t *tool) ParallelSafe() bool { return t.of.Parallel }

// Call implements core.Tool.
func (t *tool) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	args, err := core.ParseArguments(call.Arguments)
	if err != nil {
		return t.failed("TypeError", err.Error()), nil
	}
	return t.attended(ctx, env, func(ctx context.Context, c calling) (core.ToolResult, error) {
		if t.of.Language == core.LanguageProgram {
			return t.callProgram(ctx, args, env, c)
		}
		return t.callFunction(ctx, args, env, c)
	})
}

// callFunction runs a tool that is a function of its source.
func (t *tool) callFunction(ctx context.Context, args map[string]any, env core.ToolEnv, by calling) (core.ToolResult, error) {
	c := run.Call{
		Tool: t.of.Name, Source: t.of.Source, Function: t.of.Name, Arguments: args, Env: t.variables(env), Hosts: by.hosts, Ask: by.ask,
		Waits: by.waits,
	}
	runner, takesState := t.cfg.JavaScript, strings.Contains(t.of.Source, stateArgument)
	if t.of.Language == core.LanguagePython {
		head, err := pysource.Head([]byte(t.of.Source), t.of.Name)
		if err != nil {
			return t.failed("SyntaxError", err.Error()), nil
		}
		runner, takesState = t.cfg.Python, head.Function.AgentState
		c.Positional, c.Self = head.Function.Positional(), head.Function.Self
		takes := func(p pysource.Parameter) bool { return p.Name == heartbeatArgument }
		if !slices.ContainsFunc(head.Function.Parameters, takes) {
			delete(args, heartbeatArgument)
		}
	}
	if runner == nil {
		return t.refused(core.E(core.Unsupported, "there is no sandbox here"))
	}
	var err error
	if t.cfg.Packages != nil {
		if c.Packages, err = t.cfg.Packages.Environment(ctx, t.of, by.tell); err != nil {
			return t.refused(err)
		}
	}
	if takesState {
		if c.State, err = t.state(ctx, env.Agent); err != nil {
			return core.ToolResult{}, err
		}
	}
	out, err := runner.Run(ctx, c)
	if err != nil {
		return t.refused(err)
	}
	return t.result(out, c.State, env), nil
}

// stateArgument is the parameter that gets the state of the agent.
const stateArgument = "agent_state"

// heartbeatArgument is for the loop, not for the tool: models that know it from earlier turns send it unasked.
const heartbeatArgument = "request_heartbeat"

// variables is what the tool finds in its environment.
func (t *tool) variables(env core.ToolEnv) []string {
	given := slices.Clone(env.Variables)
	for _, v := range [][2]string{
		{"LETTA_AGENT_ID", string(env.Agent.ID)},
		{"LETTA_TOOL_ID", string(t.of.ID)},
		{"LETTA_RUN_ID", string(env.Run)},
		{"LETTA_STEP_ID", string(env.Step)},
		{"LETTA_CONVERSATION_ID", string(env.Conversation)},
	} {
		if v[1] != "" {
			given = append(given, v[0]+"="+v[1])
		}
	}
	return given
}

// state is what a function is told that takes agent_state; without an agent, it is nobody's.
func (t *tool) state(ctx context.Context, a core.Agent) (*run.State, error) {
	s := &run.State{
		ID: string(a.ID), Name: a.Name, Description: a.Description, System: a.System, AgentType: string(a.Type), Model: string(a.Model),
		Timezone: a.Timezone, Tags: append([]string{}, a.Tags...), Metadata: a.Metadata, Blocks: []run.Block{},
	}
	if a.ID == "" {
		return s, nil
	}
	blocks, err := t.cfg.Store.Blocks().OfAgent(ctx, a.ID)
	for _, b := range blocks {
		s.Blocks = append(s.Blocks, run.Block{
			ID: string(b.ID), Label: b.Label, Value: b.Value, Description: b.Description, Limit: b.Limit, ReadOnly: b.ReadOnly,
		})
	}
	return s, err
}

// result is what the model reads of a call.
func (t *tool) result(out run.Outcome, state *run.State, env core.ToolEnv) core.ToolResult {
	r := core.ToolResult{Text: out.Text, Stdout: rows(out.Stdout), Stderr: rows(out.Stderr)}
	if out.Class != "" {
		failed := t.failed(out.Class, out.Text)
		r.Text, r.IsError = failed.Text, true
	}
	if out.Note != "" {
		r.Text += "\n(" + out.Note + ")"
	}
	r.Text += reach.Unreached(out.Refused, env.Workspace.Hosts, env.Workspace.Path != "")
	if r.Layers = out.Layers; len(r.Layers) == 0 {
		r.Layers = []string{core.LayersOff}
		r.Text += "\n(It ran unconfined, as a person's configuration says.)"
	}
	if state == nil || len(out.Blocks) == 0 || r.IsError {
		return r
	}
	r.Apply = func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		return written(ctx, tx, env, r, out.Blocks, state)
	}
	return r
}

// written gives blocks the values that a tool gave them. What can't be written is said, since the call itself has run.
func written(
	ctx context.Context, tx core.ToolEdits, env core.ToolEnv, r core.ToolResult, values map[string]string, state *run.State,
) (core.ToolResult, error) {
	r.Apply = nil
	for _, b := range state.Blocks {
		next, ok := values[b.Label]
		if !ok {
			continue
		}
		err := memory.Assign(ctx, tx, env, b.Label, b.Value, next)
		var ours *core.Error
		switch {
		case err == nil:
			r.Text += "\n(It changed the memory block " + b.Label + ".)"
		case errors.As(err, &ours) && (ours.Kind == core.Invalid || ours.Kind == core.TooLarge):
			r.Text += "\n(The memory block " + b.Label + " was not changed: " + err.Error() + ")"
		default:
			return core.ToolResult{}, err
		}
	}
	return r, nil
}

// rows are the lines of an output.
func rows(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// failed is what a model reads of a call that failed.
func (t *tool) failed(class, text string) core.ToolResult {
	text = "Error executing function " + t.of.Name + ": " + class + ": " + plaintext.Of(text)
	if utf8.RuneCountInString(text) > maxErrorChars {
		text = string([]rune(text)[:maxErrorChars-1]) + "…"
	}
	return core.ToolError(text)
}

// refused tells a model why nothing ran, with the line that helps. What is no error of ours fails the run.
func (t *tool) refused(err error) (core.ToolResult, error) {
	var ours *core.Error
	if !errors.As(err, &ours) {
		return core.ToolResult{}, err
	}
	text := "Nothing was run: " + err.Error() + "."
	if hint := core.HintOf(err); hint != "" {
		text += " What helps, and only a person can do it: " + hint + "."
	}
	return core.ToolError("Error executing function " + t.of.Name + ": RuntimeError: " + text), nil
}
