package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/core/memory"
	"loci/core/rules"
)

// Hooks are programs of the person's own, and those of folders that a person trusts.
type Hooks interface {
	// Run tells them of an event, and asks those of them that have a say in it.
	Run(ctx context.Context, call core.HookCall) core.HookVerdict
}

// NoticeHook tells of a hook that failed, or what one has to say to the person.
const NoticeHook = "hook"

// mostGoOn is how often in one run hooks keep a turn from ending.
const mostGoOn = 5

// runHooks tells the programs of an event of the turn.
func (w *window) runHooks(ctx context.Context, call core.HookCall) core.HookVerdict {
	if w.cfg.Hooks == nil {
		return core.HookVerdict{}
	}
	v := w.cfg.Hooks.Run(ctx, w.hookCall(call))
	w.tellHooks(ctx, v)
	return v
}

// hookCall completes what programs are told.
func (w *window) hookCall(call core.HookCall) core.HookCall {
	call.Agent, call.Conversation, call.Run = w.agent.ID, w.conv.ID, w.run.ID
	call.Workspace, call.Mode = w.run.Client.Workspace, w.run.Client.Mode
	return call
}

// tellHooks says which hooks failed, and what they say to the person. Of one fault, such as a file that can't be read, every event
// of a run hears: it is told once. Beside runs there is only the log.
func (w *window) tellHooks(ctx context.Context, v core.HookVerdict) {
	faults := slices.DeleteFunc(slices.Clone(v.Faults), func(text string) bool { return slices.Contains(w.faults, text) })
	w.faults = append(w.faults, faults...)
	for _, text := range append(faults, v.Notices...) {
		w.emit(core.Event{Body: core.Notice{Kind: NoticeHook, Text: text}})
		if w.run.ID == "" {
			w.cfg.Logger.WarnContext(ctx, "a hook failed, or has something to say", logAny("text", text))
		}
	}
}

// hookInput tells the programs of what is said to the agent, before it is sent, and at the first message of a client session
// of that too. What they add joins the message. One that blocks it ends the run: its text is no message of the conversation.
func (t *turn) hookInput(ctx context.Context) error {
	said := asked(&t.run)
	if t.e.cfg.Hooks == nil || said == nil {
		return nil
	}
	call := core.HookCall{Event: core.HookPrompt, Prompt: said.PlainText()}
	var texts []string
	if t.e.begun.first(&t.run) {
		session := core.HookCall{Event: core.HookSession, Source: core.HookStartup}
		if len(t.win.rows) > 0 {
			session.Source = core.HookResume
		}
		v := t.win.runHooks(ctx, session)
		if v.Halt != "" {
			return blocked(v.Halt)
		}
		texts = append(texts, v.Text)
	}
	v := t.win.runHooks(ctx, call)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case v.Deny != "":
		return blocked(v.Deny)
	case v.Halt != "":
		return blocked(v.Halt)
	}
	if text := memory.Hooked(append(texts, v.Text)...); text != "" {
		t.win.input = append(t.win.input, t.win.hidden(core.HiddenNotice, text))
	}
	return nil
}

// errBlocked is the error of a message that a hook keeps from being sent.
var errBlocked = errors.New("a hook keeps the message from being sent")

func blocked(why string) error {
	return core.E(core.Forbidden, "%w: %s", errBlocked, why).WithHint("say it in another way, or change the hook")
}

// mayEnd asks the programs before a turn ends on its own. It returns what one gives the agent to do first; empty: it ends.
func (t *turn) mayEnd(ctx context.Context, outcome rules.Outcome, state *rules.State, said string) (goOn string) {
	if t.e.cfg.Hooks == nil || !natural(outcome) || ctx.Err() != nil {
		return ""
	}
	v := t.win.runHooks(ctx, core.HookCall{Event: core.HookStop, Again: t.wentOn > 0, Said: said})
	if v.Deny == "" || v.Halt != "" || ctx.Err() != nil {
		return ""
	}
	if t.wentOn >= mostGoOn || !state.Left() {
		text := fmt.Sprintf("A hook wants the agent to go on, but the turn has no step left, or was kept from ending %d times: %s",
			t.wentOn, v.Deny)
		t.emit(core.Event{Body: core.Notice{Kind: NoticeHook, Text: text}})
		return ""
	}
	t.wentOn++
	t.emit(core.Event{Body: core.Notice{Kind: NoticeHook, Text: "A hook makes the agent go on: " + v.Deny}})
	return v.Deny
}

// natural reports whether a turn ends because the agent is done.
func natural(o rules.Outcome) bool {
	return !o.Continue && (o.Stop == core.StopEndTurn || o.Stop == core.StopToolRule)
}

// follow is what an outcome becomes by what hooks, or the form of the answer, said of the end of the turn.
func (c *commit) follow(o rules.Outcome) rules.Outcome {
	switch {
	case c.halt != "" && o.Continue:
		return rules.Outcome{Stop: core.StopEndTurn}
	case (c.goOn != "" || c.misfit != "") && natural(o):
		return rules.Outcome{Continue: true}
	}
	return o
}

// halted says why a hook ends the turn after these calls; empty: none does.
func halted(calls []*pendingCall) string {
	for _, p := range calls {
		if p.halt != "" {
			return p.halt
		}
	}
	return ""
}

// begun are the client sessions that hooks were told of.
type begun struct {
	mu   sync.Mutex
	seen map[begunKey]bool // guarded by mu
}

type begunKey struct {
	client core.ClientID
	conv   core.ConversationID
}

// mostBegun bounds how many are remembered; then all are forgotten, and begin once more.
const mostBegun = 10_000

// first reports whether a run is the first one of its client session in its conversation.
func (b *begun) first(run *core.Run) bool {
	key := begunKey{run.Client.ID, run.Conversation}
	if key.client == "" {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[key] {
		return false
	}
	if len(b.seen) >= mostBegun || b.seen == nil {
		b.seen = map[begunKey]bool{}
	}
	b.seen[key] = true
	return true
}

// forget lets the next run be the first, since nothing of this one was sent.
func (b *begun) forget(run *core.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.seen, begunKey{run.Client.ID, run.Conversation})
}

// heed keeps what hooks did about a call, and what they have to say.
func (p *pendingCall) heed(v core.HookVerdict) {
	if p.hooked != "" {
		v.Did = append([]string{p.hooked}, v.Did...)
	}
	p.hooked = strings.Join(v.Did, "; ")
	p.told.Faults, p.told.Notices = append(p.told.Faults, v.Faults...), append(p.told.Notices, v.Notices...)
	if p.halt == "" {
		p.halt = v.Halt
	}
}
