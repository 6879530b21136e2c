package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/permission"
	"loci/core/request"
	"loci/core/rules"
)

// settlement carries out what an answer decided: all calls of the response in one go, in the step that asked. The answer is
// a fact before the first call runs, and the returns are one record.
type settlement struct {
	t       *turn
	request core.Message
	answer  core.Message
	calls   []*pendingCall
	state   *rules.State
	goOn    string // what a hook gives the agent to do before its turn may end
}

// settle carries out the answer that a run brings. It returns nil when the model is asked next.
func settle(ctx context.Context, t *turn) *ending {
	s := &settlement{t: t, answer: t.run.Input[0]}
	if t.win.has(s.answer.ID) && !unsettled(t.win.rows, s.answer.ID) {
		return nil // an earlier attempt did it
	}
	for _, r := range t.win.rows {
		if r.Message.ID == s.answer.Approval.Request {
			s.request = r.Message
		}
	}
	if !t.win.has(s.answer.ID) {
		if err := s.keepAnswer(ctx); err != nil {
			return brokenOff(ctx, err)
		}
	}
	step, err := s.step(ctx)
	if err != nil {
		return brokenOff(ctx, err)
	}
	t.step = &step
	defer func() { t.step = nil }() // the run's own steps follow
	s.keepRules()
	s.judge(ctx)
	return s.act(ctx)
}

// unsettled reports whether an answer is the last in a window: none of its returns is stored.
func unsettled(rows []core.InContext, answer core.MessageID) bool {
	for i := len(rows) - 1; i >= 0; i-- {
		if !request.StandsForOthers(rows[i]) {
			return rows[i].Message.ID == answer
		}
	}
	return false
}

// keepAnswer stores the answer.
func (s *settlement) keepAnswer(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := s.t
	s.answer.Tokens = 0 // it is not sent
	var c *commit
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if c, err = s.begin(ctx, tx); err != nil {
			return err
		}
		m := s.answer
		if err := c.enter(ctx, tx, nil, &m); err != nil {
			return err
		}
		return tx.Conversations().Update(ctx, &c.conv)
	})
	if err != nil {
		return err
	}
	t.win.rows, t.win.conv = append(t.win.rows, c.entered...), c.conv
	return nil
}

// begin returns a commit of the step that asked.
func (s *settlement) begin(ctx context.Context, tx core.Store) (*commit, error) {
	c := s.t.newCommit(nil)
	c.calls, c.state, c.run, c.goOn = s.calls, s.state, s.t.run, s.goOn
	if s.t.step != nil {
		c.step = *s.t.step
	}
	conv, err := tx.Conversations().Get(ctx, s.t.win.conv.ID)
	c.conv = conv
	return c, err
}

// step returns the step that asked; one whose run was deleted is made up.
func (s *settlement) step(ctx context.Context) (core.Step, error) {
	step, err := s.t.e.cfg.Store.Steps().Get(ctx, s.request.Step)
	if core.KindOf(err) == core.NotFound {
		return core.Step{ID: s.request.Step, Run: s.request.Run, Status: core.StepSuccess}, nil
	}
	return step, err
}

// keepRules keeps the rules that came with the answer, which is a fact by now: a crash leaves no rule for a call that nobody
// answered, and keeps them when the run goes on. What can't be kept is said, and the call runs this once. Of a tool that was
// changed meanwhile nothing is kept: the person knew another one.
func (s *settlement) keepRules() {
	g := &gate{bound: s.t.win.pinned.Bound, clients: s.t.run.Config.ClientTools}
	calls := s.request.Calls()
	for i, d := range s.answer.Approval.Decisions { // they stand as the calls that wait do
		at := slices.IndexFunc(calls, func(c core.ToolCall) bool { return c.ID == d.CallID })
		if len(d.Keep) == 0 || at < 0 || g.replaced(&pendingCall{call: calls[at]}, s.request.Approval.Waits[i]) {
			continue
		}
		for _, rule := range d.Keep {
			t := s.t
			text := "From now on " + rule + " is allowed in this folder; `loci permissions` shows and removes it."
			if err := t.e.cfg.Permissions.Add(permission.Allow, rule, t.run.Client.Workspace); err != nil {
				text = "The call is allowed this once: " + rule + " could not be kept: " + err.Error()
			}
			t.emit(core.Event{Body: core.Notice{Kind: "kept", Text: text, Data: map[string]any{"rule": rule}}})
		}
	}
}

// judge sends the calls through the gate again, since much may have changed while they waited.
func (s *settlement) judge(ctx context.Context) {
	t := s.t
	s.state = t.rules()
	g := newGate(ctx, t, s.state)
	asked := *g
	asked.hooks = nil
	for _, call := range core.CallsOf(t.win.rows, &s.request) {
		_, _, beat := request.SplitArguments(call.Arguments)
		p := &pendingCall{call: call, beat: beat}
		s.calls = append(s.calls, p)
		if i := slices.IndexFunc(s.request.Approval.Refused, func(r core.ToolReturn) bool { return r.CallID == call.ID }); i >= 0 {
			p.refusal, p.hooked = s.request.Approval.Refused[i].Text, s.request.Approval.Refused[i].Hooked
			continue
		}
		i := slices.IndexFunc(s.request.Approval.Waits, func(w core.WaitingCall) bool { return w.CallID == call.ID })
		if i < 0 {
			if g.judge(p); p.asks() {
				p.refusal = "Error executing function " + call.Name +
					": PermissionError: by now this call needs a person's approval. Call it again."
			}
			continue
		}
		s.decide(&asked, p, s.request.Approval.Waits[i])
	}
}

// decide applies the decision on a call that waited.
func (s *settlement) decide(g *gate, p *pendingCall, w core.WaitingCall) {
	p.hooked = w.Hooked
	i := slices.IndexFunc(s.answer.Approval.Decisions, func(d core.Decision) bool { return d.CallID == p.call.ID })
	d := s.answer.Approval.Decisions[i]
	switch {
	case d.Return != nil:
		r := d.Return
		p.given, p.tool.Info.ReturnCharLimit = true, s.t.win.clientLimit()
		p.result = core.ToolResult{Text: r.Text, IsError: r.IsError, Stdout: r.Stdout, Stderr: r.Stderr}
		p.images = r.Images
		return
	case !d.Approve && g.asked(p):
		p.given, p.passed, p.result = true, "a person", core.ToolResult{Text: answerText(d.Reason)}
		return
	case !d.Approve:
		p.refusal = core.DenialText(d.Reason)
		return
	case w.Client:
		p.refusal = "Error executing function " + p.call.Name +
			": RuntimeError: the program that sent the message runs this tool, and it gave no result"
		return
	}
	if g.replaced(p, w) {
		p.refusal = forbidden(p, "the tool was changed since the person was asked about this call, and they approved what it was. "+
			"Call it again, if it is still needed: they are asked about what it is now.")
		return
	}
	p.call.Arguments = w.Arguments
	if d.Arguments != "" {
		p.call.Arguments = d.Arguments
	}
	p.approved, p.wanted = true, d.Uncaged
	g.judge(p)
	p.passed = p.let("a person")
	if d.Arguments != "" {
		p.note = changedNote(p.call.Arguments)
	}
}

// replaced reports whether a call that waited would run other code than the person was asked about.
func (g *gate) replaced(p *pendingCall, w core.WaitingCall) bool {
	g.find(p)
	return p.known() && p.tool.Info.Code() != w.Code
}

// asked reports whether a call is a question of the agent's.
func (g *gate) asked(p *pendingCall) bool {
	g.find(p)
	return p.tool.Info.Asks
}

// answerText is what a model reads of what a person says to its question.
func answerText(said string) string {
	if strings.TrimSpace(said) == "" {
		return "The person did not answer. Do what needs no answer, or stop and say what you would need."
	}
	return "The person answered: " + said
}

// act runs the calls and stores what they returned.
func (s *settlement) act(ctx context.Context) *ending {
	t := s.t
	if slices.ContainsFunc(s.calls, (*pendingCall).outside) && ctx.Err() == nil {
		if err := s.noteActing(ctx); err != nil {
			return brokenOff(ctx, err)
		}
	}
	var end *ending
	err := context.Cause(ctx)
	if err == nil {
		err = t.callAll(ctx, s.calls)
	}
	if err != nil {
		end = brokenOff(ctx, err)
		if isShutdown(t.j.ctx) && t.run.Background {
			return end // the next start goes on
		}
		stopped(s.calls, end)
	}
	if end == nil {
		s.goOn = t.afterCalls(ctx, s.calls, s.state)
	}
	if err := s.keepReturns(ctx, end); err != nil {
		return brokenOff(ctx, err)
	}
	if end != nil {
		end.saved = true
		return end
	}
	if t.run.Status.Final() {
		return &ending{reason: t.run.StopReason, saved: true}
	}
	return nil
}

// noteActing stores that calls with effects on the world begin, so that a crash never runs them a second time.
func (s *settlement) noteActing(ctx context.Context) error {
	run := s.t.run
	run.Config.Acted = true
	err := s.t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error { return tx.Runs().Update(ctx, &run) })
	if err == nil {
		s.t.run = run
	}
	return err
}

// keepReturns stores the returns, and with them the run's end where nothing follows. No later failure or cancel takes
// them back.
func (s *settlement) keepReturns(ctx context.Context, end *ending) error {
	t := s.t
	running := ctx
	ctx = context.WithoutCancel(ctx)
	returnsID, afterID, now := core.NewMessageID(), core.NewMessageID(), t.e.cfg.Clock()
	var c *commit
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if c, err = s.begin(ctx, tx); err != nil {
			return err
		}
		c.end = end
		if err := c.enterReturns(ctx, tx, returnsID, now); err != nil {
			return err
		}
		if err := c.enterAfter(ctx, tx, afterID, now); err != nil {
			return err
		}
		if err := tx.Steps().Update(ctx, &c.step); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
		return s.closeRun(ctx, tx, c, now)
	})
	if err == nil {
		t.committed(c)
		t.win.hookSaved(running, c)
	}
	return err
}

// closeRun stores the conversation, and the run's end unless the model is asked next: to go on, or with what the person said
// beside the answer.
func (s *settlement) closeRun(ctx context.Context, tx core.Store, c *commit, now time.Time) error {
	c.conv.UpdatedAt = now
	if err := tx.Conversations().Update(ctx, &c.conv); err != nil {
		return err
	}
	switch {
	case c.end != nil:
		endRun(&c.run, *c.end, now)
	case !c.outcome.Continue && len(c.run.Input) == 1:
		c.run.Delivered = true
		endRun(&c.run, ending{reason: c.outcome.Stop}, now)
	default:
		return nil
	}
	if err := tx.Runs().Update(ctx, &c.run); err != nil {
		return err
	}
	return finishedUnlessGone(ctx, tx, &c.run, now)
}
