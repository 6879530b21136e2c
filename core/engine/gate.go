package engine

import (
	"context"
	"slices"

	"loci/core"
	"loci/core/arguments"
	"loci/core/rules"
)

// pendingCall is a call on its way through the step: what the gate said, what calling it gave.
type pendingCall struct {
	call     core.ToolCall
	tool     core.BoundTool
	client   bool             // the client runs it, not we
	wrong    string           // what it was called by, where that is no name
	refusal  string           // why it does not run, as the model reads it; empty: it runs
	passed   string           // what let it pass: a rule, a mode or a person
	why      string           // which rule asks a person before it runs, in a sentence; empty: none does
	unasked  *core.Notice     // it was denied, since nobody is there to be asked; nil: it wasn't
	always   []string         // the rules that would allow it from now on
	approved bool             // a person said yes to it
	uncaged  string           // what lets it run outside of the sandbox; empty: nothing does
	offers   bool             // a person can let it run there
	wanted   bool             // … and said so
	opens    core.Openings    // what a person can open to it while it runs; nil: nothing
	given    bool             // its result came from outside
	hooked   string           // what hooks did about it, in a clause; empty: nothing
	told     core.HookVerdict // what hooks have to say to the person, until it is said
	halt     string           // why a hook ends the turn with it; empty: none does
	note     string           // what the model must know beside the result
	paths    core.PathRules   // what it may do with files that it comes across
	dirs     []core.WorkspaceDir
	hosts    core.HostRules    // which hosts it may reach; nil: none
	settings core.SettingRules // of git, which it may leave behind; nil: none that aren't safe
	result   core.ToolResult
	images   []core.Image    // that the result shows
	brings   []*core.Message // what enters behind its return
	beat     bool            // it asked for a heartbeat
}

// asks reports whether the call waits for somebody.
func (p *pendingCall) asks() bool { return p.refusal == "" && p.why != "" }

// verdict is what a stage says of a call. The zero value allows it as it is.
type verdict struct {
	deny      string   // what the model reads in place of a result
	ask       string   // which rule asks a person, in a sentence
	always    []string // the rules that would allow it from now on
	arguments string   // what it runs with from here on; empty: unchanged
}

// stage judges one call, with the arguments that the stage before left.
type stage func(g *gate, p *pendingCall) verdict

// stages are those of the gate, in their order.
func stages() []stage {
	return []stage{stageArguments, stageRules, stageTrust, stageHooks, stagePermission, stageApproval}
}

// gate is the one way from a tool call to its execution, for every kind of tool. Any stage may ask, and one question is
// enough; what a stage denies, no later one sees.
type gate struct {
	bound   []core.BoundTool // attached now
	clients []core.ToolSpec  // what the client runs
	rules   *rules.State
	agent   *core.Agent
	client  core.Client // whose run this is: its mode and its workspace
	schemas *arguments.Schemas

	hooks       func(p *pendingCall, call core.HookCall) core.HookVerdict // nil: there are none
	trust       Trust                                                     // nil: nothing is trusted
	permissions Permissions                                               // nil: no rules, the mode decides
	dir         string                                                    // where shell lines begin
}

func newGate(ctx context.Context, t *turn, state *rules.State) *gate {
	return &gate{
		bound: t.win.pinned.Bound, clients: t.run.Config.ClientTools, rules: state, agent: &t.agent, client: t.run.Client,
		schemas: t.e.schemas, hooks: t.win.hooksOf(ctx), trust: t.e.cfg.Trust, permissions: t.e.cfg.Permissions,
		dir: t.win.dir(),
	}
}

// judge sends a call through all stages.
func (g *gate) judge(p *pendingCall) {
	g.find(p)
	for _, judge := range stages() {
		v := judge(g, p)
		if p.refusal = v.deny; p.refusal != "" {
			return
		}
		switch {
		case v.ask != "" && p.why == "":
			p.why, p.always = v.ask, v.always
		case v.ask != "": // a second stage asks, whatever is allowed in the first
			p.always = nil
		}
		if v.arguments != "" {
			p.call.Arguments = v.arguments
		}
	}
}

// find looks up what a call names. A tool of the client hides one of ours.
func (g *gate) find(p *pendingCall) {
	for _, c := range g.clients {
		if c.Name == p.call.Name {
			p.client, p.tool = true, core.BoundTool{Info: core.ToolInfo{Effect: core.EffectFacts, Spec: c}}
			return
		}
	}
	if i := slices.IndexFunc(g.bound, func(b core.BoundTool) bool { return b.Info.Spec.Name == p.call.Name }); i >= 0 {
		p.tool = g.bound[i]
	}
}

// known reports whether find found something.
func (p *pendingCall) known() bool { return p.client || p.tool.Tool != nil }

// droppedReturn is the return of a call that came beside another one where only one is wanted.
const droppedReturn = "Only the first call of a response was run: calls side by side are turned off here, or a rule about the order of " +
	"tools forbids them. Call it again, alone, if it is still needed."

// pass sends every call of a response through the gate, before the first one runs.
func (g *gate) pass(a *answer) []*pendingCall {
	var calls []*pendingCall
	m := core.Message{Content: a.content}
	for _, c := range m.Calls() {
		p := &pendingCall{call: c, beat: a.heartbeat(c.ID), wrong: a.wrong(c.ID)}
		if p.refusal = droppedReturn; !c.Dropped {
			g.judge(p)
		}
		calls = append(calls, p)
	}
	return calls
}
