package engine

import (
	"context"
	"errors"
	"slices"

	"loci/core"
)

// whyFallback is why a model was chosen that takes the place of one that can't be asked.
const whyFallback = "fallback"

// SetFallback says which model answers where an agent's own refuses or can't be reached; an empty one is none. A model whose key is
// missing now may have it when it is needed.
func (e *Engine) SetFallback(ctx context.Context, id core.AgentID, handle core.Handle, env core.Env) (core.Agent, error) {
	var agent core.Agent
	if handle != "" {
		if _, err := e.Choose(ctx, core.Agent{}, handle, e.envOf(env)); err != nil &&
			slices.Contains([]core.Kind{core.NotFound, core.Invalid, core.Unsupported}, core.KindOf(err)) {
			return agent, err
		}
	}
	err := e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if agent, err = tx.Agents().Get(ctx, id); err != nil {
			return err
		}
		if handle != "" && handle == agent.Model {
			return core.E(core.Invalid, "%s is the agent's own model", handle).WithHint("name another one to take its place")
		}
		agent.Fallback, agent.UpdatedAt = handle, e.cfg.Clock()
		agent.Rev++
		return tx.Agents().Update(ctx, &agent)
	})
	return agent, err
}

// mayFallBack reports whether another model may still take the place of the one that answers. It never does for a model that was
// named for this run alone: whoever named it wants that one.
func (t *turn) mayFallBack() bool {
	return t.agent.Fallback != "" && t.agent.Fallback != t.choice.Handle && t.choice.Why != whyFallback && t.run.Config.Model == ""
}

// fallenFrom are the failures of a provider after which the next model is asked: it refuses, or can't be reached.
func fallenFrom(err error) bool {
	return slices.Contains([]core.Kind{
		core.Unavailable, core.Timeout, core.RateLimited, core.NoCredit, core.Unauthenticated, core.Forbidden, core.NotFound,
	}, core.KindOf(err))
}

// fallBack chooses the agent's other model after its own failed, and tells so. It reports whether that one may be asked.
func (t *turn) fallBack(ctx context.Context, failed error) bool {
	if ctx.Err() != nil || !t.mayFallBack() || !fallenFrom(failed) {
		return false
	}
	c, err := t.e.Choose(ctx, t.agent, t.agent.Fallback, t.env)
	if err == nil {
		err = t.givesTokens(&c)
	}
	if err != nil {
		t.tellFallback(failed.Error() + ". Its fallback cannot be asked either: " + err.Error() + ".")
		return false
	}
	own := t.choice
	c.Why, c.Move = whyFallback, false
	t.take(c)
	said := failed.Error() + ". The fallback " + string(c.Handle) + " answers instead, until the end of this run."
	if own.Info.BindsPrefix || own.Info.Reasoning {
		said += " It does not see the thinking of " + string(own.Handle) + "."
	}
	if c.Notice != "" {
		said += " " + c.Notice
	}
	t.tellFallback(said)
	return true
}

func (t *turn) tellFallback(text string) {
	t.emit(core.Event{Body: core.Notice{
		Kind: "model", Text: text, Data: map[string]any{"model": string(t.choice.Handle), "why": whyFallback},
	}})
}

// fellBack is for a step whose model failed: it reports whether the other one answers, as long as nobody was shown anything. The
// window must be fitted to that.
func (t *turn) fellBack(ctx context.Context, a *answer, failed error) bool {
	var e *core.Error
	return !a.said && errors.As(failed, &e) && e.Provider && t.fallBack(ctx, failed)
}
