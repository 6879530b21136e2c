package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"loci/core"
	"loci/core/request"
)

// endRun marks a run as over.
func endRun(run *core.Run, end ending, now time.Time) {
	run.Status, run.StopReason, run.CompletedAt = end.reason.Status(), end.reason, now
	if end.err != nil && run.Status == core.RunFailed {
		run.Error = runError(end)
	}
	lost := errors.Is(end.err, core.ErrShutdown)
	if !run.Delivered || !lost && strings.HasPrefix(run.Request, whileActive) {
		run.Request = "" // nothing was saved, or its client has heard its end: the same request may be made again
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
	if !t.run.Delivered {
		t.e.begun.forget(&t.run)
	}
	if t.win.conv.ID != "" {
		t.e.wins.put(t.win.conv.ID, t.win.conv.Rev, t.win.rows)
	}
	t.noteUpkeep()
	usage, steps, err := t.e.cfg.Store.Runs().Usage(ctx, t.run.ID)
	if err != nil {
		t.e.cfg.Logger.Warn("sum the usage of a run", logRun(t.run.ID), logErr(err))
	}
	var events []core.Event
	if t.run.Error != nil {
		events = append(events, core.Event{Body: core.Failure{Error: *t.run.Error}})
	}
	t.e.cfg.Logger.Info(
		"run finished",
		logRun(t.run.ID),
		logAny("agent", string(t.run.Agent)),
		logAny("status", string(t.run.Status)),
		logAny(
			"reason",
			string(t.run.StopReason),
		),
		logAny("model", string(t.choice.Handle)),
		logAny("steps", steps),
		logAny("dur", t.e.cfg.Clock().Sub(t.run.CreatedAt)),
	)
	return append(events,
		core.Event{Body: core.UsageReport{Usage: usage, Steps: steps, Context: t.win.fixedTokens() + request.TokensOfRows(t.win.rows)}},
		core.Event{Body: core.Stop{Reason: t.run.StopReason, Status: t.run.Status}})
}

// saveEnd stores the end of a run whose last step did not: the step fails with it, and input that never became a
// message stays readable on the run, with everything that was sent beside it.
func (t *turn) saveEnd(ctx context.Context, end ending) error {
	now := t.e.cfg.Clock()
	return t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		run := t.run
		if !run.Delivered && len(t.win.input) > 0 {
			run.Input = nil
			for _, m := range t.win.input {
				run.Input = append(run.Input, *m)
			}
		}
		endRun(&run, end, now)
		if t.step != nil {
			step := *t.step
			step.Status, step.StopReason, step.FinishedAt, step.Error = core.StepFailed, end.reason, now, stepError(end.err)
			if end.reason == core.StopCancelled {
				step.Status, step.Error = core.StepCancelled, nil
			}
			step.SentRev, step.WithInput = t.win.conv.Rev, !run.Delivered
			if err := t.newCommit(nil).saveFailed(ctx, tx, step); err != nil {
				return err
			}
		}
		if err := tx.Runs().Update(ctx, &run); err != nil {
			return err
		}
		if err := tx.Agents().
			Finished(ctx, run.Agent, run.StopReason, now, now.Sub(run.CreatedAt)); err != nil &&
			core.KindOf(err) != core.NotFound {
			return err
		}
		t.run = run
		return nil
	})
}

// contextOverflow is the type of the error of a run that does not fit the model's context window.
const contextOverflow = "context_window_overflow"

// runError words why a run failed as the contract does.
func runError(end ending) *core.RunError {
	var e *core.Error
	r := &core.RunError{Type: "internal_error", Kind: core.KindOf(end.err), Message: end.err.Error(), Hint: core.HintOf(end.err)}
	if errors.As(end.err, &e) && e.Provider {
		r.Type = core.LLMErrorType(e.Kind)
		if e.Kind == core.TooLong {
			r.Type = contextOverflow
		}
		if end.reason == core.StopInvalidLLMResponse {
			r.Type = core.LLMEmptyResponse
		}
		if errors.Is(end.err, errRunaway) {
			r.Type = core.LLMRunaway
		}
	}
	var none noModelError
	switch {
	case errors.As(end.err, &none):
		r.Type = "model_not_found"
	case errors.Is(end.err, errBlocked):
		r.Type = "blocked_by_hook"
	case r.Kind == core.SchemaMismatch:
		r.Type = string(core.SchemaMismatch)
	case errors.Is(end.err, core.ErrNoKey):
		r.Type = core.LLMErrorType(core.Unauthenticated)
	}
	if end.reason == core.StopSystemPromptFull {
		r.Type = contextOverflow
	}
	return r
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
