package engine

import (
	"context"
	"time"

	"loci/core"
	"loci/core/compact"
	"loci/core/request"
)

const (
	// aheadShare is the share of the room for messages from which a summary is made between turns, before it must be.
	aheadShare = 0.85
	// defaultRest is how long a conversation must have rested before: what is sent in one go would begin and end a call
	// after each answer, and calls that are ended are paid for.
	defaultRest = 2 * time.Second
)

// upkeep is a summary that a lane makes while nobody wants anything of its conversation. It is no run: it is told in no
// stream, it ends as soon as anybody enters the lane, and after a crash nobody knows of it.
type upkeep struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing of it goes on
}

// noteUpkeep remembers for the lane that the run left a window that is nearly full, and can be summarised.
func (t *turn) noteUpkeep() {
	s := compact.Read(t.agent.Extra)
	if t.run.Status == core.RunCompleted && t.win.summarises(s) && t.win.nearlyFull(s) {
		t.j.ratio = t.win.ratio
	}
}

// nearlyFull reports whether the next turns are bound to compact the window.
func (w *window) nearlyFull(s compact.Settings) bool {
	room := w.room()
	return room > 0 && float64(request.TokensOfRows(w.rows)) >= aheadShare*float64(room) || s.Overfull(request.Visible(w.rows))
}

// keepUpLocked returns what a lane does now that it has no more runs.
func (e *Engine) keepUpLocked(l *lane, j *job) func() {
	now := e.lanes[j.run.Conversation] // nil if who brought the run left only now
	if j.ratio == 0 || e.closed || e.silent != nil || l.wanted() || l.upkeep != nil || now != nil && now != l {
		return func() {}
	}
	e.lanes[j.run.Conversation] = l
	ctx, cancel := context.WithCancel(context.Background())
	l.upkeep = &upkeep{cancel, make(chan struct{})}
	return func() { e.keepUp(ctx, l, j) }
}

// endUpkeepsLocked ends what all lanes do for conversations at rest.
func (e *Engine) endUpkeepsLocked() {
	for _, l := range e.lanes {
		l.upkeep.end()
	}
}

func (u *upkeep) end() {
	if u != nil {
		u.cancel()
	}
}

// over ends it and waits for that: no longer than the call to a model takes to hear of it, or one transaction.
func (u *upkeep) over(ctx context.Context) error {
	if u == nil {
		return nil
	}
	u.cancel()
	select {
	case <-u.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepUp makes a summary once the conversation has rested. What fails is tried again some turns later, or when it must be.
func (e *Engine) keepUp(ctx context.Context, l *lane, j *job) {
	defer func() {
		if v := recover(); v != nil {
			e.cfg.Logger.ErrorContext(ctx, "the summary between turns panicked", logRun(j.run.ID), logAny("panic", v), logStack())
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		l.upkeep.cancel()
		close(l.upkeep.done)
		l.upkeep = nil
		e.dropLocked(j.run.Conversation, l)
	}()
	rest := time.NewTimer(e.cfg.Rest)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	err := e.summariseAhead(ctx, j)
	if err != nil && ctx.Err() == nil && core.KindOf(err) != core.NotFound { // else the agent, or its model, is gone
		e.cfg.Logger.WarnContext(ctx, "no summary was made between turns", logRun(j.run.ID), logErr(err))
	}
}

// summariseAhead replaces the older messages by a summary as the next runs would, with the keys of whoever sent the last. An
// agent without a model of its own is left alone: its next run chooses one.
func (e *Engine) summariseAhead(ctx context.Context, j *job) error {
	conv := j.run.Conversation
	t, end, err := e.aside(ctx, conv, j.env)
	if err != nil {
		return err
	}
	defer end()
	if t.agent.ModelAuto {
		return nil
	}
	if err := t.chooseModel(ctx); err != nil {
		return err
	}
	if err := t.decidePin(ctx); err != nil {
		return err
	}
	t.win.ratio = j.ratio
	s := compact.Read(t.agent.Extra)
	if !t.win.summarises(s) || !t.win.nearlyFull(s) {
		return nil
	}
	if due, err := t.win.summaryDue(ctx, &j.run, e.vain.tried(conv)); err != nil || !due {
		return err
	}
	now := request.TokensOfRows(t.win.rows)
	done, err := t.win.summarise(ctx, s, "", min(int(float64(t.win.room())*request.KeepShare), now), now, triggerCheck)
	if err != nil {
		e.gaveUp(ctx, j, err)
		return err
	}
	if !done.made {
		return nil
	}
	e.wins.put(conv, t.win.conv.Rev, t.win.rows)
	e.hub.announce(core.Change{Agent: t.agent.ID, Conversation: conv})
	e.cfg.Logger.InfoContext(ctx, "summary made between turns", logRun(j.run.ID), logAny("model", string(t.choice.Handle)),
		logAny("before", done.stats.TokensBefore), logAny("after", done.stats.TokensAfter), logAny("notice", done.notice))
	return nil
}

// gaveUp keeps a summariser that failed from being asked again between the next turns. Where a window is full it is still
// asked, unless it was waited for in vain.
func (e *Engine) gaveUp(ctx context.Context, j *job, err error) {
	if ctx.Err() != nil {
		return
	}
	e.vain.pause(j.run.Conversation, j.run.ID, time.Time{})
	if core.KindOf(err) == core.Timeout {
		e.slow.pause(j.run.Conversation, "", e.cfg.Clock().Add(pauseAfterHang))
	}
}
