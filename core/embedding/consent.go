package embedding

import (
	"context"

	"loci/core"
)

// embedder finds a model if its texts may be sent to the server that the current variables name. A daemon started with a
// server other than the one somebody agreed to sends nothing until somebody agrees again.
func (w *Worker) embedder(ctx context.Context, model core.Handle) (core.Embedder, core.EmbeddingInfo, error) {
	embedder, info, err := w.find(ctx, model)
	if err != nil || info.BuiltIn() {
		return embedder, info, err
	}
	agreed, err := w.agreed(ctx, info.Handle)
	if err == nil && model != info.Handle && agreed != core.EmbeddingHeld { // the model may be held under another name
		var held string
		if held, err = w.agreed(ctx, model); held == core.EmbeddingHeld {
			agreed = held
		}
	}
	if err != nil {
		return nil, info, err
	}
	if agreed == core.EmbeddingHeld {
		return nil, info, core.E(core.Conflict, "the restored backup wants texts sent to a server for %s: none are until "+
			"somebody allows it", info.Handle).
			WithHint("loci restore --waiting shows where, --allow allows it; or agree to the daemon's own server: "+
				"loci archival embedding %s", info.Handle)
	}
	if agreed != "" && agreed != info.Endpoint {
		return nil, info, core.E(core.Conflict, "texts for %s are sent to %s, and the daemon's variables now name "+
			"%s: nothing is sent there", info.Handle, agreed, info.Endpoint).
			WithHint("loci archival embedding %s agrees to the new server; a daemon restarted with its former variables "+
				"goes on with the old one", info.Handle)
	}
	return embedder, info, nil
}

// agreed returns where a model's texts are sent; empty if none were.
func (w *Worker) agreed(ctx context.Context, model core.Handle) (string, error) {
	w.mu.Lock()
	endpoint := w.sent[model]
	w.mu.Unlock()
	if endpoint != "" {
		return endpoint, nil
	}
	endpoint, _, err := w.cfg.Store.Meta().Get(ctx, core.MetaEmbeddingEndpoint+string(model))
	if err != nil || endpoint == "" {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[model] = endpoint
	return endpoint, nil
}

// Agree records where a model's texts are sent from now on, before any are, and lets the model be asked at once.
func (w *Worker) Agree(ctx context.Context, info core.EmbeddingInfo) error {
	if info.BuiltIn() {
		return nil
	}
	if err := w.cfg.Store.Meta().Put(ctx, core.MetaEmbeddingEndpoint+string(info.Handle), info.Endpoint); err != nil {
		return err
	}
	w.mu.Lock()
	w.sent[info.Handle] = info.Endpoint
	delete(w.models, info.Handle)
	w.mu.Unlock()
	select {
	case w.keys.joined <- struct{}{}:
	default:
	}
	return nil
}
