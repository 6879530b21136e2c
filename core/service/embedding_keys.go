package service

import (
	"context"
	"maps"
	"slices"
	"time"

	"loci/core"
)

// keys are where embedding finds a key that the daemon itself does not have: in the client sessions that live.
type keys struct {
	borrow func() []core.Env // of the sessions, the one that asked last first; nil: there are none
	joined chan struct{}     // a session came; has room for one
}

// lend lets embedding use the keys of client sessions.
func (e *Embedding) lend(envs func() []core.Env) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys.borrow = envs
}

// sessionJoined lets models that have no key be asked again at once: the session may have brought it.
func (e *Embedding) sessionJoined() {
	e.mu.Lock()
	waiting := false
	maps.DeleteFunc(e.models, func(_ core.Handle, t *trouble) bool {
		gone := core.KindOf(t.err) == core.Unauthenticated
		waiting = waiting || gone
		return gone
	})
	e.mu.Unlock()
	if !waiting {
		return
	}
	select {
	case e.keys.joined <- struct{}{}:
	default:
	}
}

// embedder finds a model by the daemon's own variables, and where these have no key for it by those of a session.
func (e *Embedding) embedder(ctx context.Context, model core.Handle) (core.Embedder, core.EmbeddingInfo, error) {
	embedder, info, err := e.cfg.Embedders.Embedder(ctx, model, e.cfg.Env)
	if core.KindOf(err) != core.Unauthenticated {
		return embedder, info, err
	}
	e.mu.Lock()
	borrow := e.keys.borrow
	e.mu.Unlock()
	if borrow == nil {
		return nil, info, err
	}
	for _, env := range borrow() {
		if embedder, info, err := e.cfg.Embedders.Embedder(ctx, model, env); err == nil {
			return embedder, info, nil
		}
	}
	return nil, info, err
}

// envs are the variables of the living sessions, of the one that asked last first.
func (c *Clients) envs() []core.Env {
	type seen struct {
		env core.Env
		at  time.Time
	}
	c.mu.Lock()
	var all []seen
	for _, s := range c.sessions {
		all = append(all, seen{s.client.Env, s.seen})
	}
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b seen) int { return b.at.Compare(a.at) })
	out := make([]core.Env, len(all))
	for i, s := range all {
		out[i] = s.env
	}
	return out
}
