package embedding

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"time"

	"loci/core"
)

// trouble says why something isn't requested now.
type trouble struct {
	failures int
	until    time.Time
	err      error
}

// settle clears troubles that were due when a complete round began: whatever is still in trouble has failed again since.
func (w *Worker) settle(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.models, func(_ core.Handle, t *trouble) bool { return t.until.Before(began) })
	maps.DeleteFunc(w.texts, func(_ int64, t *trouble) bool { return t.until.Before(began) })
}

// due reports whether neither the text nor its model is being delayed.
func (w *Worker) due(u core.EmbeddingTask) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	model, text := w.models[u.Model], w.texts[u.Ticket]
	return (model == nil || !now.Before(model.until)) && (text == nil || !now.Before(text.until))
}

func (w *Worker) works(model core.Handle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.models, model)
}

// rests delays a model, longer after each failure.
func (w *Worker) rests(ctx context.Context, model core.Handle, err error) {
	w.mu.Lock()
	t := w.models[model]
	if t == nil {
		t = &trouble{}
		w.models[model] = t
	}
	t.fail(err)
	w.mu.Unlock()
	w.cfg.Logger.WarnContext(
		ctx,
		"an embedding failed and is asked again later",
		slog.String("model", string(model)),
		slog.Int("failures", t.failures),
		slog.Any("error", err),
	)
}

// fails delays a text.
func (w *Worker) fails(ticket int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.texts[ticket]
	if t == nil {
		t = &trouble{}
		w.texts[ticket] = t
	}
	t.fail(err)
}

func (t *trouble) fail(err error) {
	t.failures++
	t.err = err
	wait := min(firstRest<<min(t.failures-1, 16), longestRest)
	t.until = time.Now().Add(wait/2 + rand.N(wait/2)) //nolint:gosec // jitter
}

// nextAttempt returns when something in trouble is due.
func (w *Worker) nextAttempt(err error) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait, ok := longestRest, false
	if err != nil {
		wait, ok = firstRest, true
	}
	now := time.Now()
	for _, t := range w.models {
		wait, ok = min(wait, t.until.Sub(now)), true
	}
	for _, t := range w.texts {
		wait, ok = min(wait, t.until.Sub(now)), true
	}
	return max(wait, 10*time.Millisecond), ok
}
