package service

import (
	"context"

	"loci/core"
)

// metaEndpoint begins the key under which the server that a model's texts are sent to is kept, with the model's handle.
const metaEndpoint = "embedding_endpoint:"

// embedder finds a model whose texts may be sent where the variables of now say. A daemon that was started with others
// than those that somebody agreed to sends nothing until it is agreed to again.
func (e *Embedding) embedder(ctx context.Context, model core.Handle) (core.Embedder, core.EmbeddingInfo, error) {
	embedder, info, err := e.find(ctx, model)
	if err != nil || info.BuiltIn() || e.store == nil {
		return embedder, info, err
	}
	agreed, err := e.agreed(ctx, info.Handle)
	if err != nil {
		return nil, info, err
	}
	if agreed != "" && agreed != info.Endpoint {
		return nil, info, core.E(core.Conflict, "texts for %s are sent to %s, and the daemon's variables now name %s: nothing is sent there", info.Handle, agreed, info.Endpoint).
			WithHint("loci archival embedding %s agrees to the new server; a daemon restarted with its former variables goes on with the old one", info.Handle)
	}
	return embedder, info, nil
}

// agreed returns where a model's texts are sent; empty: none were.
func (e *Embedding) agreed(ctx context.Context, model core.Handle) (string, error) {
	e.mu.Lock()
	endpoint := e.sent[model]
	e.mu.Unlock()
	if endpoint != "" {
		return endpoint, nil
	}
	endpoint, _, err := e.store.Meta().Get(ctx, metaEndpoint+string(model))
	if err != nil || endpoint == "" {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent[model] = endpoint
	return endpoint, nil
}

// agree keeps where a model's texts are sent from now on, before the first is, and lets it be asked at once.
func (e *Embedding) agree(ctx context.Context, info core.EmbeddingInfo) error {
	if info.BuiltIn() || e.store == nil {
		return nil
	}
	if err := e.store.Meta().Put(ctx, metaEndpoint+string(info.Handle), info.Endpoint); err != nil {
		return err
	}
	e.mu.Lock()
	e.sent[info.Handle] = info.Endpoint
	delete(e.models, info.Handle)
	e.mu.Unlock()
	select {
	case e.keys.joined <- struct{}{}:
	default:
	}
	return nil
}
