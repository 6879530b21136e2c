package engine

import (
	"context"
	"slices"

	"loci/core"
)

// Quiet runs fn while no run of any conversation is active or accepted; requests that come meanwhile wait until it is
// over. Runs under way get a while to end, then it is Busy. What is kept in memory of the facts is read anew afterwards.
func (e *Engine) Quiet(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := e.silence(ctx); err != nil {
		return err
	}
	defer e.resumeAll()
	return fn(ctx)
}

// silence stops lanes from being entered and waits until all are empty.
func (e *Engine) silence(ctx context.Context) error {
	e.mu.Lock()
	switch {
	case e.closed:
		e.mu.Unlock()
		return core.ErrShutdown
	case e.silent != nil:
		e.mu.Unlock()
		return core.E(core.Busy, "this is being done already").WithHint("wait for it, then try again")
	}
	e.silent = make(chan struct{})
	e.mu.Unlock()
	patience, cancel := context.WithTimeout(ctx, e.cfg.Patience)
	defer cancel()
	for {
		e.mu.Lock()
		left := e.emptied
		if left == nil {
			left = make(chan struct{})
			e.emptied = left
		}
		empty, inTheWay := len(e.lanes)+len(e.active)+e.copies == 0, e.anyLocked()
		e.mu.Unlock()
		if empty {
			return nil
		}
		select {
		case <-left:
		case <-patience.Done():
			e.resumeAll()
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return notQuiet(inTheWay)
		}
	}
}

func notQuiet(run core.RunID) error {
	if run == "" {
		return core.E(core.Busy, "an agent is being copied, and this needs that to rest").WithHint("wait for it, then try again")
	}
	err := core.E(core.Busy, "run %s is under way, and this needs all of them to rest", run).WithHint("wait for it, or cancel it: loci runs cancel %s", run)
	err.Run = run
	return err
}

// anyLocked is a run that is under way.
func (e *Engine) anyLocked() core.RunID {
	for id := range e.active {
		return id
	}
	return ""
}

// resumeAll lets lanes be entered again and drops what was kept of windows and snapshots.
func (e *Engine) resumeAll() {
	e.wins.clear()
	e.seen.clear()
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.silent)
	e.silent = nil
}

// loud waits until nobody asks for quiet and returns with the engine locked.
func (e *Engine) loud(ctx context.Context) error {
	for {
		e.mu.Lock()
		silent := e.silent
		if silent == nil {
			return nil
		}
		e.mu.Unlock()
		select {
		case <-silent:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// busily says that texts are read and written again until done is called; Quiet waits for it.
func (e *Engine) busily(ctx context.Context) (done func(), err error) {
	if err := e.loud(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	e.copies++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.copies--
		e.lessLocked()
	}, nil
}

// lessLocked tells who waits for quiet that something is over.
func (e *Engine) lessLocked() {
	if e.emptied != nil {
		close(e.emptied)
		e.emptied = nil
	}
}

// Redacted reports whether a text of what a step sent was forgotten since: Reproduce returns what is left.
func (e *Engine) Redacted(ctx context.Context, id core.StepID) (bool, error) {
	s := e.cfg.Store
	step, err := s.Steps().Get(ctx, id)
	if err != nil {
		return false, err
	}
	at, err := s.Snapshots().RedactedAt(ctx, step.SystemHash, step.ToolsHash, step.AgentHash)
	if err != nil || at.After(step.CreatedAt) {
		return err == nil, err
	}
	rows, err := s.Messages().ContextAt(ctx, step.Conversation, step.SentRev)
	if err != nil {
		return false, err
	}
	if step.WithInput {
		run, err := s.Runs().Get(ctx, step.Run)
		if err != nil {
			return false, err
		}
		for _, m := range run.Input {
			rows = append(rows, core.InContext{Row: core.ContextRow{Position: 1}, Message: m})
		}
	}
	return slices.ContainsFunc(rows, func(r core.InContext) bool { // message 0 is not what is sent
		return r.Message.RedactedAt.After(step.CreatedAt) && r.Row.Position > 0
	}), nil
}
