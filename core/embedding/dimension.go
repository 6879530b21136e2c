package embedding

import (
	"context"

	"loci/core"
)

// alike checks that vectors have the same dimension as the model's other vectors.
func (w *Worker) alike(info core.EmbeddingInfo, vectors [][]float32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := w.dims[info.Handle]
	for _, v := range vectors {
		if v == nil {
			continue
		}
		if want == 0 {
			want = len(v)
		}
		if len(v) != want {
			delete(w.dims, info.Handle) // its vectors may be gone by the next attempt, so count them again then
			w.forgetLocked()            // the cache may be from the previous model
			return core.E(core.Unavailable, "%s answers with %d dimensions, its vectors have %d", info.Handle, len(v), want).
				WithHint("if the model behind this name has changed, give the archive another one and then this again")
		}
	}
	w.dims[info.Handle] = want
	return nil
}

// learn determines the dimension of a model's vectors.
func (w *Worker) learn(ctx context.Context, model core.Handle) error {
	w.mu.Lock()
	_, known := w.dims[model]
	w.mu.Unlock()
	if known {
		return nil
	}
	dim, err := w.made(ctx, model)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dims[model] = dim
	return nil
}

// made returns the dimension of the vectors a model has made, 0 if there are none.
func (w *Worker) made(ctx context.Context, model core.Handle) (dim int, err error) {
	all, err := w.cfg.Store.Vectors().Made(ctx)
	for _, have := range all {
		if have.Model == model && have.Count > 0 {
			dim = have.Dim
		}
	}
	return dim, err
}
