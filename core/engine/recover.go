package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"loci/core"
	"loci/core/request"
)

// Recover takes up the runs that the last daemon left: background runs resume at their last saved step, foreground runs
// end as failed, and so do those of a restored backup, for which nobody here asked. Call it before the first request is
// answered.
func (e *Engine) Recover(ctx context.Context) error {
	runs, err := e.cfg.Store.Runs().Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Background && !run.Restored {
			err = e.resume(ctx, run)
		} else {
			err = e.failLost(ctx, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lossOf is why a run ends that isn't taken up.
func lossOf(run *core.Run) error {
	msg := "the daemon stopped while the run was under way"
	if run.Restored {
		msg = "the run was under way when the backup was made"
	}
	return &core.Error{Kind: core.Unavailable, Msg: msg, Hint: "send the message again"}
}

// lostSteps closes the steps of a run that never came to an end, answers the calls that were under way, and returns how
// many steps ended well.
func (e *Engine) lostSteps(ctx context.Context, tx core.Store, run *core.Run) error {
	now := e.cfg.Clock()
	steps, err := tx.Steps().List(ctx, core.StepFilter{Run: run.ID}, core.Page{Limit: 10_000})
	if err != nil {
		return err
	}
	for i := range steps {
		s := &steps[i]
		if s.Status != core.StepPending {
			continue
		}
		s.Status, s.FinishedAt, s.Error = core.StepFailed, now, stepError(lossOf(run))
		if err := tx.Steps().Update(ctx, s); err != nil {
			return err
		}
	}
	return e.answerLost(ctx, tx, run, now)
}

// answerLost gives calls that were saved and never returned an error return: whether they ran is not known, and they
// are never run a second time.
func (e *Engine) answerLost(ctx context.Context, tx core.Store, run *core.Run, now time.Time) error {
	rows, err := tx.Messages().Context(ctx, run.Conversation)
	rows = slices.DeleteFunc(rows, request.StandsForOthers)
	if err != nil || len(rows) == 0 {
		return err
	}
	last := rows[len(rows)-1].Message
	m := core.Message{
		ID:           core.NewMessageID(),
		Agent:        run.Agent,
		Conversation: run.Conversation,
		Run:          run.ID,
		Step:         last.Step,
		Role:         core.RoleTool,
		CreatedAt:    now,
	}
	switch {
	case last.Run != run.ID:
	case last.Answers():
		m.Returns = e.lostAnswer(ctx, rows, run, &last)
	case last.Role == core.RoleAssistant:
		for _, c := range last.Calls() {
			m.Returns = append(m.Returns, lostReturn(c, request.Interrupted))
		}
	}
	if len(m.Returns) == 0 {
		return nil
	}
	m.Tokens = request.Tokens(&m)
	conv, err := tx.Conversations().Get(ctx, run.Conversation)
	if err != nil {
		return err
	}
	conv.Rev++
	if err := tx.Messages().Insert(ctx, &m); err != nil {
		return err
	}
	if err := tx.Messages().Enter(ctx, conv.ID, conv.Rev, []core.MessageID{m.ID}, nil); err != nil {
		return err
	}
	return tx.Conversations().Update(ctx, &conv)
}

func lostReturn(c core.ToolCall, text string) core.ToolReturn {
	if c.Dropped {
		text = droppedReturn
	}
	return core.ToolReturn{CallID: c.ID, Name: c.Name, Text: text, IsError: true, Dropped: c.Dropped}
}

// notRun is the return of an approved call that the daemon's end came before.
const notRun = "The call was approved but did not run: the daemon stopped before it began. Call it again if it is still wanted."

// lostAnswer returns what the calls of a request returned whose answer was stored and not carried out. A background run whose
// calls had not begun carries it out when it resumes: then there are none.
func (e *Engine) lostAnswer(ctx context.Context, rows []core.InContext, run *core.Run, answer *core.Message) []core.ToolReturn {
	if run.Background && !run.Restored && !run.Config.Acted {
		return nil
	}
	i := slices.IndexFunc(rows, func(r core.InContext) bool { return r.Message.ID == answer.Approval.Request })
	if i < 0 {
		return nil
	}
	asked := &rows[i].Message
	var returns []core.ToolReturn
	for _, c := range core.CallsOf(rows, asked) {
		r := lostReturn(c, notRun)
		if run.Config.Acted && e.actsOutside(ctx, c.Name) {
			r.Text = request.Interrupted
		}
		if i := slices.IndexFunc(answer.Approval.Decisions, func(d core.Decision) bool { return d.CallID == c.ID }); i >= 0 {
			switch d := answer.Approval.Decisions[i]; {
			case d.Return != nil:
				r.Text, r.IsError, r.Stdout, r.Stderr = d.Return.Text, d.Return.IsError, d.Return.Stdout, d.Return.Stderr
			case !d.Approve:
				r.Text = core.DenialText(d.Reason)
			}
		}
		if i := slices.IndexFunc(asked.Approval.Refused, func(r core.ToolReturn) bool { return r.CallID == c.ID }); i >= 0 {
			r = asked.Approval.Refused[i]
		}
		returns = append(returns, r)
	}
	return returns
}

// actsOutside reports whether calls of a tool may act on the world; those of one that is gone may have.
func (e *Engine) actsOutside(ctx context.Context, name string) bool {
	bound, found, err := e.cfg.Tools.Find(ctx, name)
	return err != nil || !found || bound.Info.Effect == core.EffectOutside
}

// failLost ends a foreground run: its client is gone. Its terminal event follows when somebody asks for its stream.
func (e *Engine) failLost(ctx context.Context, run core.Run) error {
	now := e.cfg.Clock()
	err := e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		r := run
		if err := e.lostSteps(ctx, tx, &r); err != nil {
			return err
		}
		r.Attempt++
		r.Status, r.StopReason, r.CompletedAt = core.RunFailed, core.StopError, now
		r.Error = runError(ending{reason: core.StopError, err: lossOf(&r)})
		if !r.Delivered {
			r.Request = ""
		}
		if err := tx.Runs().Update(ctx, &r); err != nil {
			return err
		}
		return finishedUnlessGone(ctx, tx, &r, now)
	})
	if err != nil {
		return err
	}
	_, err = e.replay(ctx, run.ID, 0)
	return err
}

func finishedUnlessGone(ctx context.Context, tx core.Store, r *core.Run, now time.Time) error {
	err := tx.Agents().Finished(ctx, r.Agent, r.StopReason, now, now.Sub(r.CreatedAt))
	if core.KindOf(err) == core.NotFound {
		return nil
	}
	return err
}

// resume takes a background run up again: as a new attempt with a new step and new message ids. If deltas of the lost
// attempt were shown, the first event tells to discard that message.
func (e *Engine) resume(ctx context.Context, run core.Run) error {
	err := e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		r := run
		if err := e.lostSteps(ctx, tx, &r); err != nil {
			return err
		}
		r.Attempt++
		if err := tx.Runs().Update(ctx, &r); err != nil {
			return err
		}
		run.Attempt = r.Attempt
		return nil
	})
	if err != nil {
		return err
	}
	l, err := e.enter(ctx, run.Conversation, false)
	if err != nil {
		return err
	}
	defer e.leave(run.Conversation, l)
	j := e.newJob(run, nil)
	j.resume = true
	last, _, err := e.cfg.Log.Last(ctx, run.ID)
	if err != nil {
		return err
	}
	j.seq = max(last, int64(run.Attempt)*core.AttemptSpan)
	if err := e.reopenLog(ctx, j); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return core.ErrShutdown
	}
	e.enqueueLocked(l, j)
	return nil
}

// reopenLog brings the log of a resumed run up to the facts: messages that were shown and never saved are to be
// discarded, saved ones that were not shown whole are shown.
func (e *Engine) reopenLog(ctx context.Context, j *job) error {
	was := newShown()
	for after := int64(0); ; {
		events, err := e.cfg.Log.Read(ctx, j.run.ID, after, readBatch)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			was.add(ev)
			after = ev.Seq
		}
	}
	msgs, err := e.cfg.Store.Messages().
		List(ctx, core.MessageFilter{Agent: j.run.Agent, Run: j.run.ID, IncludeErr: true}, core.Page{Limit: 100_000})
	if err != nil {
		return err
	}
	stored, input := map[core.MessageID]bool{}, map[core.MessageID]bool{}
	for _, m := range j.run.Input {
		input[m.ID] = true
	}
	var events []core.Event
	for _, m := range j.run.Input {
		if m.Hidden == core.NotHidden && !m.Answers() && !was.input[m.ID] {
			events = append(events, inputEvent(m))
		}
	}
	for i := range msgs {
		stored[msgs[i].ID] = true
		if !input[msgs[i].ID] {
			events = append(events, was.rest(&msgs[i], j.run.Config.Speak)...)
		}
	}
	var discard []core.Event
	for _, id := range was.unsaved(stored) {
		discard = append(discard, core.Event{Message: id, Body: core.Notice{
			Kind: noticeDiscard, Text: "The daemon restarted; the answer starts over.", Data: map[string]any{"message_id": string(id)},
		}})
	}
	if events = append(discard, events...); len(events) > 0 {
		e.appendEvents(j, events)
	}
	return nil
}

// unsaved returns the messages that were shown, at least in part, and are no facts.
func (s *logState) unsaved(stored map[core.MessageID]bool) []core.MessageID {
	var ids []core.MessageID
	for _, id := range s.order {
		if !stored[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// Shutdown stops accepting, lets running turns finish for the grace time, then cancels them and waits for all lanes.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.endUpkeepsLocked()
	e.mu.Unlock()
	drained := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { // ends with the last lane
		e.wg.Wait()
		close(drained)
	})
	grace := time.NewTimer(e.cfg.Grace)
	defer grace.Stop()
	select {
	case <-drained:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	e.mu.Lock()
	for _, j := range e.active {
		j.cancel(core.ErrShutdown)
	}
	e.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return core.E(core.Timeout, "the shutdown ended before every run did: %w", ctx.Err())
	}
}
