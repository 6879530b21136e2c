package engine

import (
	"context"

	"loci/core"
	"loci/core/request"
	"loci/core/rules"
)

// ask streams one answer; every delta is in the run log before the next is awaited. An error comes with what was
// collected until then.
func (t *turn) ask(ctx context.Context, state *rules.State) (*answer, error) {
	s := t.parts(state)
	a := newAnswer(t.policy, t.run.Config.Speak)
	a.message, a.asks, a.behind = core.NewMessageID(), askedByName(t), t.win.behind()
	a.one = !s.Parallel // whatever the provider makes of that
	t.step.StartedAt, t.step.Model, t.step.Endpoint = t.e.cfg.Clock(), t.choice.Handle, t.choice.Info.Endpoint
	t.step.Window, t.step.Choice, t.step.Offer, t.step.Parallel = s.Window, s.Choice, s.Offer, s.Parallel
	if err := t.mayForm(); err != nil {
		return a, err
	}
	guard := newGuard(t.choice.Handle, t.e.cfg.AnswerLimit)
	quiet := newSilence(t.e.cfg.Silence, t.waiting)
	defer func() { quiet.end() }()
	req := s.Request()
	req.Tokens = t.run.Config.Tokens
	if err := request.Fill(ctx, t.e.cfg.Store.Images(), &req); err != nil {
		return a, err
	}
	charge := core.Charge{Agent: t.run.Agent, Conversation: t.run.Conversation, Run: t.run.ID, Step: t.step.ID, For: core.ForStep}
	req.Hurried = t.mayFallBack()
	for d, err := range t.choice.Chat.Stream(core.WithCharge(ctx, charge), req) {
		quiet.end()
		if err == nil {
			err = guard.check(d)
		}
		if err != nil {
			return a, err
		}
		if d.Notice != nil {
			t.emit(core.Event{Step: t.step.ID, Body: *d.Notice})
			quiet = newSilence(t.e.cfg.Silence*saidSilence, t.waiting)
			continue
		}
		if t.step.ResponseAt.IsZero() {
			t.step.ResponseAt = t.e.cfg.Clock()
		}
		if d.Thought {
			a = t.rethink(a)
			continue
		}
		t.show(a, a.add(d))
	}
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if !a.ended {
		err := core.E(core.Unavailable, "the answer of %s ended before it was complete", t.choice.Handle)
		err.Provider = true
		return a, err
	}
	a = t.bared(t.plainly(a))
	t.step.LoggedAt = t.e.cfg.Clock()
	t.win.calibrate(&s, a)
	t.notePace(a)
	if a.empty() && a.finish == core.FinishRefused {
		err := core.E(core.Invalid, "%s declined to answer", t.choice.Handle).WithHint("put it in other words, or choose another model")
		err.Provider = true
		return a, err
	}
	if a.empty() {
		err := core.E(core.Unavailable, "%s gave an empty answer", t.choice.Handle).
			WithHint("send the message again, or choose another model")
		err.Provider, err.Detail = true, core.StopInvalidLLMResponse
		return a, err
	}
	if a.tokens != nil {
		t.emit(core.Event{Step: t.step.ID, Message: a.message, Body: core.Generated{Text: a.spoken(), Tokens: *a.tokens}})
	}
	return a, nil
}

// waiting says that the model has not answered yet.
func (t *turn) waiting() {
	text := string(t.choice.Handle) + " has not answered yet."
	t.emit(core.Event{Step: t.step.ID, Body: core.Notice{Kind: core.NoticeWaiting, Text: text}})
}

// show puts pieces of an answer into the run log.
func (t *turn) show(a *answer, pieces []piece) {
	events := make([]core.Event, len(pieces))
	for i, p := range pieces {
		id := a.message
		if p.part == core.RequestPart {
			id = core.RequestID(id)
		}
		events[i] = core.Event{Step: t.step.ID, Message: id, OTID: core.OTIDOf(id, p.part), Part: p.part, Body: p.body}
	}
	t.emit(events...)
}

// rethink begins an answer anew whose text so far turned out to be reasoning: what was shown is taken back.
func (t *turn) rethink(a *answer) *answer {
	thoughts, ok := a.thoughts()
	if !ok {
		return a
	}
	t.takeBack(a, "What came so far were the model's thoughts.")
	again := newAnswer(a.policy, a.speak)
	again.message, again.asks, again.one = core.NewMessageID(), a.asks, a.one
	t.show(again, again.add(core.Delta{Reasoning: thoughts}))
	return again
}

// plainly returns the answer of a model that can't be forced to speak through its tool and spoke in plain words: what was taken for
// thoughts beside a call is what it says.
func (t *turn) plainly(a *answer) *answer {
	if t.policy.SpeakTool == "" || !t.policy.TextEnds || len(a.calls) > 0 || a.spoken() != "" {
		return a
	}
	plain := a.policy
	plain.SpeakTool = ""
	again := newAnswer(plain, a.speak)
	again.message, again.asks, again.one = core.NewMessageID(), a.asks, a.one
	var pieces []piece
	for _, c := range a.content {
		switch {
		case !c.Prompted:
			pieces = append(pieces, again.add(core.Delta{Reasoning: c.Text, Signature: c.Signature})...)
		case c.Text != "":
			pieces = append(pieces, again.add(core.Delta{Text: c.Text})...)
		}
	}
	if !again.spoke {
		return a
	}
	t.takeBack(a, "What came so far is the answer.")
	t.show(again, append(pieces, again.add(core.Delta{Native: a.native, End: true, Finish: a.finish, Usage: a.usage, Tokens: a.tokens})...))
	return again
}

// takeBack tells readers to drop what they were shown of an answer.
func (t *turn) takeBack(a *answer, why string) {
	if !a.said {
		return
	}
	t.emit(discarded(t.step.ID, a.message, why))
	if a.inAsks > 0 {
		t.emit(discarded(t.step.ID, core.RequestID(a.message), why))
	}
}

func discarded(step core.StepID, id core.MessageID, why string) core.Event {
	return core.Event{Step: step, Message: id, Body: core.Notice{
		Kind: noticeDiscard, Text: why, Data: map[string]any{"message_id": string(id)},
	}}
}

// calibrate learns from the provider's own count how far the estimate is off.
func (w *window) calibrate(s *request.Parts, a *answer) {
	w.used = 0
	if a.usage == nil || a.usage.Prompt == 0 {
		return
	}
	w.used = a.usage.Prompt + a.usage.Completion
	if estimated := w.fixedTokens() + request.TokensOfRows(s.Rows); estimated > 0 {
		w.ratio = min(max(float64(a.usage.Prompt)/float64(estimated), 1), 3)
	}
}

// emit appends events to the run log and wakes the followers. A log that cannot be written costs watchers the stream,
// not the run its facts: they are replayed from those.
func (t *turn) emit(events ...core.Event) {
	if t.run.ID == "" { // a compaction on request has no run to watch
		return
	}
	t.e.appendEvents(t.j, events)
}

func (e *Engine) appendEvents(j *job, events []core.Event) {
	if len(events) == 0 {
		return
	}
	e.noteWait(j, events[len(events)-1])
	now := e.cfg.Clock()
	for i := range events {
		j.seq++
		events[i].Run, events[i].Seq, events[i].At = j.run.ID, j.seq, now
	}
	// A run that was cancelled still tells its end.
	if err := e.cfg.Log.Append(context.WithoutCancel(j.ctx), events...); err != nil {
		e.cfg.Logger.Warn("append to run log", logRun(j.run.ID), logErr(err))
		return
	}
	e.hub.changed(j.run.ID)
}
