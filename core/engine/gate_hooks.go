package engine

import (
	"context"

	"loci/core"
	"loci/core/permission"
)

// stageHooks asks the person's own programs. Arguments that one changed pass the stages before again. A call that a person
// approved doesn't ask them again: what runs is what the person saw.
func stageHooks(g *gate, p *pendingCall) verdict {
	if g.hooks == nil {
		return verdict{}
	}
	v := g.hooks(p, core.HookCall{Event: core.HookBefore})
	p.heed(v)
	if v.Deny == "" {
		v.Deny = v.Halt
	}
	if v.Deny != "" {
		return verdict{deny: forbidden(p, "a hook of the person's forbids it: "+v.Deny)}
	}
	if v.Arguments == "" {
		return g.hookAsks(p, v.Ask)
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
	return g.hookAsks(p, v.Ask)
}

// hookAsks asks a person because a hook does, or because nobody knows what it would have said. No rule lets such a call pass.
func (g *gate) hookAsks(p *pendingCall, why string) verdict {
	if why == "" {
		return verdict{}
	}
	return g.ask(p, permission.Verdict{Effect: permission.Ask, Why: why}, permission.Remedy{})
}

// hookApproval tells the person's own programs of a call that asks. They may deny it, never allow it.
func (g *gate) hookApproval(p *pendingCall, why string) (deny string) {
	if g.hooks == nil {
		return ""
	}
	v := g.hooks(p, core.HookCall{Event: core.HookApproval, Why: why})
	p.heed(v)
	if v.Deny == "" {
		v.Deny = v.Halt
	}
	if v.Deny == "" {
		return ""
	}
	return forbidden(p, "a hook of the person's denies it: "+v.Deny)
}

// hooksOf asks the programs about calls of this turn; nil: there are none.
func (w *window) hooksOf(ctx context.Context) func(p *pendingCall, call core.HookCall) core.HookVerdict {
	if w.cfg.Hooks == nil {
		return nil
	}
	return func(p *pendingCall, call core.HookCall) core.HookVerdict { return w.hookTool(ctx, p, call) }
}

// hookTool tells the programs of a call.
func (w *window) hookTool(ctx context.Context, p *pendingCall, call core.HookCall) core.HookVerdict {
	call = w.hookCall(call)
	call.CallID, call.Tool, call.Arguments = p.call.ID, p.call.Name, p.call.Arguments
	return w.cfg.Hooks.Run(ctx, call)
}

// hookAfter tells the programs what a call returned, and adds what they say. What our own tools return is final only when it
// is saved: of that they are told then.
func (w *window) hookAfter(ctx context.Context, p *pendingCall) {
	if w.cfg.Hooks == nil || p.result.Apply != nil {
		return
	}
	v := w.hookTool(ctx, p, core.HookCall{Event: core.HookAfter, Return: &p.result.Text, Failed: p.result.IsError})
	p.heed(v)
	if v.Text != "" {
		p.result.Text += "\n(A hook of the person's says: " + v.Text + ")"
	}
}

// hookSaved tells the programs what our own tools returned, which is saved. The return stays as it is: what they add is told
// to the person.
func (w *window) hookSaved(ctx context.Context, c *commit) {
	if w.cfg.Hooks == nil || c.returns == nil {
		return
	}
	for i, p := range c.calls {
		if p.refusal != "" || p.given || p.result.Apply == nil {
			continue
		}
		r := c.returns.Returns[i]
		v := w.hookTool(ctx, p, core.HookCall{Event: core.HookAfter, Return: &r.Text, Failed: r.IsError})
		if v.Text != "" {
			v.Notices = append(v.Notices, "A hook says of "+p.call.Name+": "+v.Text)
		}
		w.tellHooks(ctx, v)
	}
}

// tellCalls says which hooks failed, and what they and the tools say to the person of calls.
func (w *window) tellCalls(ctx context.Context, calls []*pendingCall) {
	for _, p := range calls {
		w.tellHooks(ctx, p.told)
		p.told = core.HookVerdict{}
		for _, n := range p.result.Tells {
			w.emit(core.Event{Body: n})
		}
		p.result.Tells = nil
	}
}
