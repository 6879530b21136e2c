package engine

import (
	"context"
	"encoding/json"

	"loci/core"
	"loci/core/rules"
)

// ask streams one answer; every delta is in the run log before the next is awaited. An error comes with what was
// collected until then.
func (t *turn) ask(ctx context.Context, state *rules.State) (*answer, error) {
	s := t.sending(state)
	a := newAnswer(t.policy, t.run.Config.Speak)
	message := core.NewMessageID()
	t.step.StartedAt, t.step.Model, t.step.Endpoint = t.e.cfg.Clock(), t.choice.Handle, t.choice.Info.Endpoint
	t.step.Window, t.step.Choice, t.step.Offer, t.step.Parallel = s.window, s.choice, s.offer, s.parallel
	a.message = message
	for d, err := range t.choice.Chat.Stream(ctx, s.request()) {
		if err != nil {
			return a, err
		}
		pieces := a.add(d)
		if t.step.ResponseAt.IsZero() {
			t.step.ResponseAt = t.e.cfg.Clock()
		}
		if len(pieces) == 0 {
			continue
		}
		events := make([]core.Event, len(pieces))
		for i, p := range pieces {
			events[i] = core.Event{Step: t.step.ID, Message: message, OTID: core.OTIDOf(message, p.part), Part: p.part, Body: p.body}
		}
		t.emit(events...)
	}
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if !a.ended {
		err := core.E(core.Unavailable, "the answer of %s ended before it was complete", t.choice.Handle)
		err.Provider = true
		return a, err
	}
	t.step.LoggedAt = t.e.cfg.Clock()
	t.calibrate(&s, a)
	if a.empty() {
		err := core.E(core.Unavailable, "%s gave an empty answer", t.choice.Handle).WithHint("send the message again, or choose another model")
		err.Provider, err.Detail = true, core.StopInvalidResponse
		return a, err
	}
	return a, nil
}

// calibrate learns from the provider's own count how far the estimate is off.
func (t *turn) calibrate(s *sending, a *answer) {
	if a.usage == nil || a.usage.Prompt == 0 {
		return
	}
	if estimated := t.fixedTokens() + tokensOfRows(s.rows); estimated > 0 {
		t.ratio = min(max(float64(a.usage.Prompt)/float64(estimated), 1), 3)
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

func readTools(schema string) ([]core.ToolSpec, error) {
	var tools []core.ToolSpec
	if err := json.Unmarshal([]byte(schema), &tools); err != nil {
		return nil, core.E(core.Internal, "read the pinned tools: %w", err)
	}
	return tools, nil
}
