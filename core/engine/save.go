package engine

import (
	"context"

	"loci/core"
)

// saveStep saves the step with its returns, and with it the run's end or the next step. It returns nil when that follows.
// A cancel that comes now is too late for this step: what was shown whole is not lost to it.
func (t *turn) saveStep(ctx context.Context, c *commit) *ending {
	ctx = context.WithoutCancel(ctx)
	if !c.callsIn {
		c.record(t.e.cfg.Clock())
	}
	returnsID, afterID, nextID := core.NewMessageID(), core.NewMessageID(), core.NewStepID()
	now := t.e.cfg.Clock()
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := c.begin(ctx, tx); err != nil {
			return err
		}
		if err := c.enterAnswer(ctx, tx); err != nil {
			return err
		}
		if err := c.enterReturns(ctx, tx, returnsID, now); err != nil {
			return err
		}
		if err := c.enterAfter(ctx, tx, afterID, now); err != nil {
			return err
		}
		if err := t.e.noteReal(ctx, tx, &t.choice, now); err != nil {
			return err
		}
		return c.closeStep(ctx, tx, nextID, now)
	})
	if err != nil {
		return brokenOff(ctx, err)
	}
	t.committed(c)
	if !c.run.Status.Final() {
		return nil
	}
	end := ending{reason: c.run.StopReason}
	if c.end != nil {
		end = *c.end
	}
	end.saved = true
	return &end
}

// saveCalls saves an answer whose calls act on the world, before they run; a cancel stops the calls, not the save.
func (t *turn) saveCalls(ctx context.Context, c *commit) error {
	ctx = context.WithoutCancel(ctx)
	c.record(t.e.cfg.Clock())
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := c.begin(ctx, tx); err != nil {
			return err
		}
		if err := c.enterAnswer(ctx, tx); err != nil {
			return err
		}
		if err := tx.Steps().Update(ctx, &c.step); err != nil {
			return err
		}
		if err := tx.Runs().Update(ctx, &c.run); err != nil {
			return err
		}
		return tx.Conversations().Update(ctx, &c.conv)
	})
	if err != nil {
		return err
	}
	t.committed(c)
	c.callsIn = true
	return nil
}

// saveInterrupted saves what was shown of an answer that a person stopped; its whole calls get returns that say so.
func (t *turn) saveInterrupted(ctx context.Context, a *answer, dropped []string, end *ending) error {
	c := t.newCommit(a)
	c.end, c.dropped = end, dropped
	m := core.Message{Content: a.content}
	for _, call := range m.Calls() {
		c.calls = append(c.calls, &pendingCall{call: call, refusal: cancelledReturn, result: core.ToolError(cancelledReturn)})
	}
	if out := t.saveStep(ctx, c); out == nil || !out.saved {
		return core.E(core.Internal, "the interrupted answer could not be saved: %w", out.err)
	}
	return nil
}

// unwhole says that an answer is not all that the model had to say, where the run's stop reason does not.
func unwhole(c *commit) (core.Notice, bool) {
	switch {
	case c.answer == nil || c.callsIn: // said when the calls were saved
		return core.Notice{}, false
	case c.answer.finish == core.FinishFiltered:
		return core.Notice{Kind: "filtered", Text: "The provider's content filter ended this answer; what it had said is kept."}, true
	case c.answer.finish == core.FinishRefused:
		return core.Notice{Kind: "refused", Text: "The model declined to answer this; what it said is kept."}, true
	case c.answer.finish == core.FinishLength && c.outcome.Stop != core.StopMaxTokensExceeded:
		return core.Notice{Kind: "cut", Text: "This step's answer was cut: the model wrote as much as it may."}, true
	}
	return core.Notice{}, false
}

// committed brings the turn's copies up to date and announces what are facts now.
func (t *turn) committed(c *commit) {
	var ids []core.MessageID
	for _, in := range c.entered {
		t.win.rows = append(t.win.rows, in)
		if in.Message.Hidden == core.NotHidden {
			ids = append(ids, in.Message.ID)
		}
	}
	for _, h := range c.hashes {
		t.e.seen.add(h)
	}
	if t.choice.counts() {
		t.e.setReal()
	}
	t.win.conv, t.run, t.win.moved = c.conv, c.run, false
	var events []core.Event
	if n, ok := unwhole(c); ok {
		events = append(events, core.Event{Step: t.step.ID, Body: n})
	}
	if len(ids) > 0 {
		also, dropped := c.misshown()
		events = append(events, core.Event{Step: t.step.ID, Body: core.Saved{Messages: ids, Dropped: append(dropped, c.dropped...)}})
		if len(also) > 0 {
			events = append(append(events, also...), core.Event{Step: t.step.ID, Body: core.Saved{Messages: ids}})
		}
	}
	if c.returns != nil {
		t.history = append(t.history, core.Listed(c.returns.Returns)...)
		returned := core.Event{Step: t.step.ID, Message: c.returns.ID, OTID: core.OTIDOf(c.returns.ID, 0)}
		if parts := c.returns.Parts(t.run.Config.Speak); len(parts) > 0 {
			returned.Body = core.ToolReturned{Returns: parts[0].Returns}
			events = append(events, returned)
		}
	}
	t.emit(events...)
	if c.step.Status == core.StepPending { // the calls are saved, their returns follow
		*t.step = c.step
	} else {
		t.step = c.next
	}
	t.e.hub.announce(core.Change{Agent: t.agent.ID, Conversation: t.win.conv.ID, Run: t.run.ID})
}
