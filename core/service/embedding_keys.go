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

// find finds a model. Where texts are sent is what the daemon's own variables say: a session lends its key, and only
// one for that same server.
func (e *Embedding) find(ctx context.Context, model core.Handle) (core.Embedder, core.EmbeddingInfo, error) {
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
		embedder, theirs, failed := e.cfg.Embedders.Embedder(ctx, model, env)
		switch {
		case failed != nil:
		case theirs.Endpoint == info.Endpoint:
			return embedder, theirs, nil
		default:
			err = core.E(core.Unauthenticated, "the daemon has no key for %s; the one of a shell is for %s", info.Endpoint, theirs.Endpoint).
				WithHint("loci daemon restart in that shell makes its server the daemon's")
		}
	}
	return nil, info, err
}

// reach finds a model as find does, for somebody who reads where texts are sent before agreeing to it. Variables of
// theirs that name another server are refused: they would expect texts to go there.
func (e *Embedding) reach(ctx context.Context, model core.Handle, asking core.Env) (core.EmbeddingInfo, error) {
	_, info, err := e.find(ctx, model)
	if asking == nil {
		return info, err
	}
	_, theirs, failed := e.cfg.Embedders.Embedder(ctx, model, asking)
	if failed == nil && info.Endpoint != "" && theirs.Endpoint != info.Endpoint {
		return info, core.E(core.Conflict, "the daemon sends texts to %s, the variables here name %s", info.Endpoint, theirs.Endpoint).
			WithHint("loci daemon restart lets the daemon use the variables of this shell; then the same again")
	}
	return info, err
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
