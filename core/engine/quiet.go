package engine

import (
	"context"

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
	e.endUpkeepsLocked()
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
	err := core.E(core.Busy, "run %s is under way, and this needs all of them to rest", run).
		WithHint("wait for it, or cancel it where it was begun: esc in the chat, ctrl+c with loci -p")
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

// Busily says that texts are read and written again until done is called; Quiet waits for it.
func (e *Engine) Busily(ctx context.Context) (done func(), err error) {
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
