package engine

import (
	"context"

	"loci/core"
)

// Hooks are programs of the person's own around the calls of tools.
type Hooks interface {
	// Before is asked before a call runs.
	Before(ctx context.Context, call core.HookCall) core.HookVerdict
	// After is told what a call returned.
	After(ctx context.Context, call core.HookCall) core.HookVerdict
}

// stageHooks asks the person's own programs. Arguments that one changed pass the stages before again. A call that a person
// approved doesn't ask them again: what runs is what the person saw.
func stageHooks(g *gate, p *pendingCall) verdict {
	if g.hooks == nil {
		return verdict{}
	}
	v := g.hooks(p)
	p.faults = append(p.faults, v.Faults...)
	if v.Deny != "" {
		return verdict{deny: "Error executing function " + p.call.Name + ": PermissionError: a hook of the person's forbids it: " + v.Deny}
	}
	if v.Arguments == "" {
		return verdict{ask: v.Ask}
	}
	p.call.Arguments = v.Arguments
	for _, again := range []stage{stageArguments, stageRules} {
		w := again(g, p)
		if w.deny != "" {
			return w
		}
		if w.arguments != "" {
			p.call.Arguments = w.arguments
		}
	}
	p.note = "[ran with arguments changed by a hook: " + p.call.Arguments + "]\n"
	return verdict{ask: v.Ask}
}

// hooksBefore asks the programs about calls of this turn; nil: there are none.
func (t *turn) hooksBefore(ctx context.Context) func(p *pendingCall) core.HookVerdict {
	if t.e.cfg.Hooks == nil {
		return nil
	}
	return func(p *pendingCall) core.HookVerdict { return t.e.cfg.Hooks.Before(ctx, t.hookCall(p)) }
}

// hookAfter tells the programs what a call returned, and adds what they say. What our own tools return is final only when it
// is saved, and they touch nothing of the person's.
func (t *turn) hookAfter(ctx context.Context, p *pendingCall) {
	if t.e.cfg.Hooks == nil || p.result.Apply != nil {
		return
	}
	call := t.hookCall(p)
	call.Return, call.Failed = &p.result.Text, p.result.IsError
	v := t.e.cfg.Hooks.After(ctx, call)
	p.faults = append(p.faults, v.Faults...)
	if v.Text != "" {
		p.result.Text += "\n(A hook of the person's says: " + v.Text + ")"
	}
}

func (t *turn) hookCall(p *pendingCall) core.HookCall {
	return core.HookCall{
		Agent: t.agent.ID, Conversation: t.win.conv.ID, Run: t.run.ID, Workspace: t.run.Client.Workspace, Mode: t.run.Client.Mode,
		Tool: p.call.Name, Arguments: p.call.Arguments,
	}
}

// NoticeHook tells of a hook that failed.
const NoticeHook = "hook"

// tellHooks says which hooks failed.
func (t *turn) tellHooks(calls []*pendingCall) {
	for _, p := range calls {
		for _, fault := range p.faults {
			t.emit(core.Event{Body: core.Notice{Kind: NoticeHook, Text: fault}})
		}
		p.faults = nil
	}
}
