package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"loci/core"
	"loci/core/request"
	"loci/core/rules"
)

// pendingCall is a call on its way through the step: what the gate said, what calling it gave.
type pendingCall struct {
	call    core.ToolCall
	tool    core.BoundTool
	wrong   string // what it was called by, where that is no name
	refusal string // why the gate refused it; empty: it runs
	result  core.ToolResult
	beat    bool // it asked for a heartbeat
}

// stage judges one call: it may refuse it or change its arguments.
type stage func(t *turn, state *rules.State, p *pendingCall)

// gate is the one way from a tool call to its execution, for every kind of tool: its stages, in their order. No later
// stage can undo a refusal.
type gate []stage

// toolGate is the gate of every call.
func toolGate() gate { return gate{stageArguments, stageRules} }

// stageArguments finds the tool and refuses arguments that are no JSON object.
func stageArguments(t *turn, state *rules.State, p *pendingCall) {
	i := slices.IndexFunc(t.win.pinned.Bound, func(b core.BoundTool) bool { return b.Info.Spec.Name == p.call.Name })
	if p.wrong != "" {
		p.refusal = fmt.Sprintf("Error executing function %s: NameError: there is no tool %q", p.call.Name, p.wrong)
		return
	}
	if i < 0 {
		p.refusal = state.Check(p.call.Name)
		if p.refusal == "" {
			p.refusal = "Error executing function " + p.call.Name + ": NameError: there is no such tool"
		}
		return
	}
	p.tool = t.win.pinned.Bound[i]
	if _, err := core.ParseArguments(p.call.Arguments); err != nil {
		p.refusal = "Error executing function " + p.call.Name + ": ValueError: " + err.Error() + ". Call it again with one JSON object."
	}
}

// stageRules refuses what a rule forbids now and fills in what a rule prescribes.
func stageRules(t *turn, state *rules.State, p *pendingCall) {
	if text := state.Check(p.call.Name); text != "" {
		p.refusal = text
		return
	}
	for _, r := range t.agent.ToolRules {
		if r.Type == core.RuleRequiresApproval && r.Tool == p.call.Name {
			p.refusal = "Error executing function " + p.call.Name + ": PermissionError: this tool needs a person's approval, which " +
				"cannot be asked for here"
			return
		}
	}
	if prefill := state.Prefill(p.call.Name); len(prefill) > 0 {
		args, err := core.ParseArguments(p.call.Arguments)
		if err != nil {
			return // refused already
		}
		for k, v := range prefill {
			if !hasProperty(p.tool.Info.Spec.Parameters, k) {
				p.refusal = "Error executing function " + p.call.Name + ": ValueError: a tool rule gives it the argument " + k +
					", which it does not have"
				return
			}
			args[k] = v
		}
		p.call.Arguments = request.JSON(args)
	}
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

// pass sends every call of a response through the gate, before the first one runs.
func (g gate) pass(t *turn, state *rules.State, a *answer) []*pendingCall {
	var calls []*pendingCall
	m := core.Message{Content: a.content}
	for _, c := range m.Calls() {
		p := &pendingCall{call: c, beat: a.heartbeat(c.ID), wrong: a.wrong(c.ID)}
		for _, judge := range g {
			if judge(t, state, p); p.refusal != "" {
				break
			}
		}
		calls = append(calls, p)
	}
	return calls
}
