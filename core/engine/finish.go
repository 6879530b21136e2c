package engine

import (
	"context"
	"errors"
	"time"

	"loci/core"
)

// endRun marks a run as over.
func (t *turn) endRun(run *core.Run, end ending, now time.Time) {
	run.Status, run.StopReason, run.CompletedAt = end.reason.Status(), end.reason, now
	if end.err != nil && run.Status == core.RunFailed {
		run.Error = runError(end)
	}
	if !run.Delivered {
		run.Request = "" // nothing was saved: the same request may be made again
	}
}

// finish is the one function that every run passes at its end: it makes the end a fact, where the last step has not
// done so, and returns the last events, the one terminal event behind them.
func (t *turn) finish(end ending) []core.Event {
	if end.leave {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.j.ctx), 10*time.Second)
	defer cancel()
	if !end.saved {
		if err := t.saveEnd(ctx, end); err != nil {
			t.e.cfg.Logger.Error("save the end of a run", logRun(t.run.ID), logErr(err))
			return nil // it is unfinished in the facts: the next start ends it
		}
	}
	if t.conv.ID != "" {
		t.e.wins.put(t.conv.ID, t.conv.Rev, t.rows)
	}
	usage, steps, err := t.e.cfg.Store.Runs().Usage(ctx, t.run.ID)
	if err != nil {
		t.e.cfg.Logger.Warn("sum the usage of a run", logRun(t.run.ID), logErr(err))
	}
	var events []core.Event
	if t.run.Error != nil {
		events = append(events, core.Event{Body: core.Failure{Error: *t.run.Error}})
	}
	t.e.cfg.Logger.Info("run finished", logRun(t.run.ID), logAny("agent", string(t.run.Agent)), logAny("status", string(t.run.Status)),
		logAny("reason", string(t.run.StopReason)), logAny("model", string(t.choice.Handle)), logAny("steps", steps), logAny("dur", t.e.cfg.Clock().Sub(t.run.CreatedAt)))
	return append(events,
		core.Event{Body: core.UsageReport{Usage: usage, Steps: steps, Context: t.fixedTokens() + tokensOfRows(t.rows)}},
		core.Event{Body: core.Stop{Reason: t.run.StopReason, Status: t.run.Status}})
}

// saveEnd stores the end of a run whose last step did not: the step fails with it, and input that never became a
// message stays readable on the run, with everything that was sent beside it.
func (t *turn) saveEnd(ctx context.Context, end ending) error {
	now := t.e.cfg.Clock()
	return t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		run := t.run
		if !run.Delivered && len(t.input) > 0 {
			run.Input = nil
			for _, m := range t.input {
				run.Input = append(run.Input, *m)
			}
		}
		t.endRun(&run, end, now)
		if t.step != nil {
			step := *t.step
			step.Status, step.StopReason, step.FinishedAt, step.Error = core.StepFailed, end.reason, now, stepError(end.err)
			if end.reason == core.StopCancelled {
				step.Status, step.Error = core.StepCancelled, nil
			}
			step.SentRev, step.WithInput = t.conv.Rev, !run.Delivered
			if err := t.keepFailed(ctx, tx, &step); err != nil {
				return err
			}
			if err := tx.Steps().Update(ctx, &step); err != nil {
				return err
			}
		}
		if err := tx.Runs().Update(ctx, &run); err != nil {
			return err
		}
		if err := tx.Agents().Finished(ctx, run.Agent, run.StopReason, now, now.Sub(run.CreatedAt)); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
		t.run = run
		return nil
	})
}

// keepFailed names what a failed step sent, if it came to sending.
func (t *turn) keepFailed(ctx context.Context, tx core.Store, step *core.Step) error {
	if step.StartedAt.IsZero() {
		return nil
	}
	c := &commit{step: *step, conv: t.conv, failed: true}
	if err := t.keepSnapshots(ctx, tx, c); err != nil {
		return err
	}
	*step = c.step
	return nil
}

// runError words why a run failed as the contract does.
func runError(end ending) *core.RunError {
	var e *core.Error
	r := &core.RunError{Type: "internal_error", Kind: core.KindOf(end.err), Message: end.err.Error(), Hint: core.HintOf(end.err)}
	if errors.As(end.err, &e) && e.Provider {
		r.Type = llmError(e.Kind)
		if end.reason == core.StopInvalidResponse {
			r.Type = "llm_empty_response"
		}
	}
	if errors.Is(end.err, core.ErrNoKey) {
		r.Type = llmError(core.Unauthenticated)
	}
	if end.reason == core.StopOverflow {
		r.Type = "context_window_overflow"
	}
	return r
}

// llmError words a provider's failure as the contract does.
func llmError(kind core.Kind) string {
	words := map[core.Kind]string{
		core.Timeout: "llm_timeout", core.RateLimited: "llm_rate_limit", core.Unauthenticated: "llm_authentication",
		core.Forbidden: "llm_authentication", core.NoCredit: "llm_insufficient_credits", core.Invalid: "llm_bad_request",
		core.NotFound: "llm_bad_request", core.TooLong: "context_window_overflow",
	}
	if word, ok := words[kind]; ok {
		return word
	}
	return "llm_error"
}

func stepError(err error) *core.StepError {
	if err == nil {
		return nil
	}
	e := &core.StepError{Type: string(core.KindOf(err)), Message: err.Error()}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); text != "" {
			e.Trace += text + "\n"
		}
	}
	return e
}
