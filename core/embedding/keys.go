package embedding

import (
	"context"
	"maps"

	"loci/core"
)

// keys is where embedding finds a key that the daemon itself doesn't have: in the live client sessions.
type keys struct {
	borrow func() []core.Env // of the sessions, most recently used first; nil: none
	joined chan struct{}     // a session came; has room for one
}

// Lend lets embedding use the keys of client sessions.
func (w *Worker) Lend(envs func() []core.Env) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys.borrow = envs
}

// SessionJoined lets models without a key be retried at once: the session may have brought it.
func (w *Worker) SessionJoined() {
	w.mu.Lock()
	waiting := false
	maps.DeleteFunc(w.models, func(_ core.Handle, t *trouble) bool {
		gone := core.KindOf(t.err) == core.Unauthenticated
		waiting = waiting || gone
		return gone
	})
	w.mu.Unlock()
	if !waiting {
		return
	}
	select {
	case w.keys.joined <- struct{}{}:
	default:
	}
}

// find finds a model. The daemon's own variables decide where texts are sent: a session only lends its key, and only one
// for that same server.
func (w *Worker) find(ctx context.Context, model core.Handle) (core.Embedder, core.EmbeddingInfo, error) {
	embedder, info, err := w.cfg.Embedders.Embedder(ctx, model, w.cfg.Env)
	if core.KindOf(err) != core.Unauthenticated {
		return embedder, info, err
	}
	w.mu.Lock()
	borrow := w.keys.borrow
	w.mu.Unlock()
	if borrow == nil {
		return nil, info, err
	}
	for _, env := range borrow() {
		embedder, theirs, failed := w.cfg.Embedders.Embedder(ctx, model, env)
		switch {
		case failed != nil:
		case theirs.Endpoint == info.Endpoint:
			return embedder, theirs, nil
		default:
			err = core.E(core.Unauthenticated, "the daemon has no key for %s; the one of a shell is for %s", info.Endpoint,
				theirs.Endpoint).
				WithHint("loci daemon restart in that shell makes its server the daemon's")
		}
	}
	return nil, info, err
}

// Reach finds a model as find does, for a caller who is shown where texts are sent before agreeing. It refuses caller
// variables that name another server, because the caller would expect texts to go there.
func (w *Worker) Reach(ctx context.Context, model core.Handle, asking core.Env) (core.EmbeddingInfo, error) {
	_, info, err := w.find(ctx, model)
	if asking == nil {
		return info, err
	}
	_, theirs, failed := w.cfg.Embedders.Embedder(ctx, model, asking)
	if failed == nil && info.Endpoint != "" && theirs.Endpoint != info.Endpoint {
		return info, core.E(core.Conflict, "the daemon sends texts to %s, the variables here name %s", info.Endpoint, theirs.Endpoint).
			WithHint("loci daemon restart lets the daemon use the variables of this shell; then the same again")
	}
	return info, err
}
