// Package embedding computes vectors for every searchable text, in the background, and for queries.
//
// Promises: if a model fails, stalls or returns nonsense, nothing is lost or doubled: its texts stay queued, can be
// found by their words meanwhile, and are retried with growing delays, while other models go on. Texts are sent only
// where somebody agreed to; a client session lends its key, never its server. Memory use is bounded. Everything is safe
// for concurrent use.
//
// Layer 3, beside core/service: it imports core and sees the store and the models through their ports. Delays are
// measured by the machine's own clock.
package embedding

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
)

// Limits on embedding.
const (
	embedPage    = 256             // texts looked at together
	embedLoad    = 200_000         // characters per request
	embedTimeout = 2 * time.Minute // for one request of texts to store
	queryTimeout = 2 * time.Second // for a query: somebody waits
	firstRest    = time.Second     // after a failure; doubled with each one that follows
	longestRest  = 5 * time.Minute // between two attempts
	leastCut     = 500             // shortest length to which a text that a model finds too long is cut
	cacheBytes   = 4 << 20         // vectors cached by the content of their texts
	movedAtOnce  = 500             // passages of an archive whose model has changed
)

// Config is what embedding needs. Store and Embedders are required.
type Config struct {
	Store     core.Store
	Embedders core.Embedders
	Env       core.Env     // the daemon's own provider variables; nil: none
	Logger    *slog.Logger // nil: discarded
	After     func()       // called when texts have got their vectors; it must not wait; nil: nobody is told
}

// Worker embeds waiting texts after they are committed, in batches, in one goroutine.
type Worker struct {
	cfg  Config
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex               // guards the rest
	silent   map[core.Handle]*silence // models that were asked and have not answered since
	patience time.Duration            // how long one may take for a few words
	cache    map[[sha256.Size]byte][]float32
	order    [][sha256.Size]byte // of the cache, oldest first
	bytes    int
	dims     map[core.Handle]int
	models   map[core.Handle]*trouble
	texts    map[int64]*trouble     // by ticket
	sent     map[core.Handle]string // where a model's texts are sent
	keys     keys
}

// Start starts embedding what waits. Call Close before closing the store.
func Start(ctx context.Context, cfg Config) *Worker {
	w := newWorker(cfg)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	w.wg.Go(func() { w.follow(run) })
	return w
}

// newWorker returns a worker that answers queries but doesn't embed stored texts yet.
func newWorker(cfg Config) *Worker {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Env == nil {
		cfg.Env = func(string) (core.Secret, bool) { return "", false }
	}
	if cfg.After == nil {
		cfg.After = func() {}
	}
	return &Worker{
		cfg:      cfg,
		cache:    map[[sha256.Size]byte][]float32{},
		silent:   map[core.Handle]*silence{},
		patience: stallAfter,
		dims:     map[core.Handle]int{},
		models:   map[core.Handle]*trouble{},
		sent:     map[core.Handle]string{},
		texts:    map[int64]*trouble{},
		keys:     keys{joined: make(chan struct{}, 1)},
	}
}

// Close stops the goroutine; unfinished texts stay queued.
func (w *Worker) Close() {
	w.stop()
	w.wg.Wait()
}

// Trouble says why a model's texts are currently not being embedded.
type Trouble struct {
	Model    core.Handle
	Failures int         // in a row
	Next     time.Time   // when it is asked again; in the past: it is being asked
	Err      error       // why it was not embedded last
	Stall    *core.Stall // it has stalled; nil: it has not
}

// Status says how far embedding has got and what is in its way.
func (w *Worker) Status(ctx context.Context) (core.VectorProgress, []Trouble, error) {
	p, err := w.cfg.Store.Vectors().Progress(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Trouble
	for model, t := range w.models {
		trouble := Trouble{Model: model, Failures: t.failures, Next: t.until, Err: t.err}
		trouble.Stall = w.stalledLocked(model)
		out = append(out, trouble)
	}
	for model := range w.silent {
		if stall := w.stalledLocked(model); stall != nil && w.models[model] == nil {
			out = append(out, Trouble{Model: model, Next: stall.Since, Err: core.E(core.Timeout, "%s", stall), Stall: stall})
		}
	}
	slices.SortFunc(out, func(a, b Trouble) int { return strings.Compare(string(a.Model), string(b.Model)) })
	return p, out, err
}

// Query returns a query's vector, nil if the model knows nothing in it. A provider has two seconds.
func (w *Worker) Query(ctx context.Context, model core.Handle, text string) ([]float32, error) {
	embedder, info, err := w.embedder(ctx, model)
	if err != nil {
		return nil, err
	}
	text = cut(text, info.MaxChars)
	key := contentKey(model, text)
	if v, ok := w.cached(key); ok {
		return v, nil
	}
	if !info.BuiltIn() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, queryTimeout)
		defer cancel()
	}
	vectors, err := w.ask(ctx, model, embedder, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 || vectors[0] != nil && !sound(vectors[0]) || vectors[0] == nil && !info.BuiltIn() {
		return nil, core.E(core.Unavailable, "%s answers with something that is no vector", model)
	}
	w.remember(key, vectors[0])
	return vectors[0], nil
}

// follow is the goroutine. from is the ticket up to which everything is done or in trouble.
func (w *Worker) follow(ctx context.Context) {
	from := int64(0)
	for ctx.Err() == nil {
		began := time.Now()
		next, err := w.round(ctx, from)
		if ctx.Err() != nil {
			return
		}
		if from == 0 && err == nil {
			w.settle(began)
		}
		if err != nil {
			w.cfg.Logger.WarnContext(ctx, "embedding rests", slog.Any("error", err))
			next = from
		}
		from = next
		if w.rest(ctx, err) {
			from = 0
		}
	}
}

// rest waits until something was committed, or until something in trouble is due; then it returns true.
func (w *Worker) rest(ctx context.Context, err error) (due bool) {
	wait, ok := w.nextAttempt(err)
	at := time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.cfg.Store.Vectors().Changed():
	case <-w.keys.joined:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return ok && !time.Now().Before(at)
}

// round goes once through what waits after a ticket and returns the last ticket it saw.
func (w *Worker) round(ctx context.Context, from int64) (int64, error) {
	for more := true; more; {
		var err error
		if more, err = w.cfg.Store.Vectors().Move(ctx, movedAtOnce); err != nil {
			return from, err
		}
	}
	for {
		page, err := w.cfg.Store.Vectors().Waiting(ctx, from, embedPage)
		if err != nil || len(page) == 0 {
			return from, err
		}
		if err := w.page(ctx, page); err != nil {
			return from, err
		}
		from = page[len(page)-1].Ticket
	}
}

// page embeds the texts of a page that may be requested now, model by model.
func (w *Worker) page(ctx context.Context, page []core.EmbeddingTask) error {
	var models []core.Handle
	byModel := map[core.Handle][]core.EmbeddingTask{}
	var empty []core.EmbeddingResult
	for _, u := range page {
		switch {
		case strings.TrimSpace(u.Text) == "":
			empty = append(empty, core.EmbeddingResult{EmbeddingTask: u})
		case !w.due(u):
		default:
			if byModel[u.Model] == nil {
				models = append(models, u.Model)
			}
			byModel[u.Model] = append(byModel[u.Model], u)
		}
	}
	if len(empty) > 0 {
		if err := w.cfg.Store.Vectors().Put(ctx, empty...); err != nil {
			return err
		}
		w.cfg.After()
	}
	if i := slices.Index(models, core.WordsHandle); i > 0 { // first: the others may be minutes away
		models[0], models[i] = models[i], models[0]
	}
	for _, model := range models {
		if err := w.model(ctx, model, byModel[model]); err != nil {
			return err
		}
	}
	return nil
}

// model embeds texts with one model.
func (w *Worker) model(ctx context.Context, model core.Handle, texts []core.EmbeddingTask) error {
	embedder, info, err := w.embedder(ctx, model)
	if err != nil {
		return w.unreachable(ctx, model, texts, err)
	}
	if agreed, err := w.agreed(ctx, model); err != nil {
		return err
	} else if agreed == "" { // an archive made by a program, which only names the model
		if err := w.Agree(ctx, info); err != nil {
			return err
		}
	}
	if err := w.learn(ctx, model); err != nil {
		return err
	}
	for i := range texts {
		texts[i].Text = cut(texts[i].Text, info.MaxChars)
	}
	for len(texts) > 0 {
		n, load := 0, 0
		for n < len(texts) && n < max(info.Batch, 1) && (n == 0 || load+len(texts[n].Text) <= embedLoad) {
			load += len(texts[n].Text)
			n++
		}
		b := &batch{w: w, embedder: embedder, info: info}
		done, err := b.run(ctx, texts[:n])
		if len(done) > 0 {
			if err := w.cfg.Store.Vectors().Put(ctx, done...); err != nil {
				return err
			}
			w.cfg.After()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			w.rests(ctx, model, err)
			return nil
		}
		w.works(model)
		texts = texts[n:]
	}
	return nil
}

// unreachable handles a model that can't be asked. An archive for which it never worked falls back to the built-in one
// and says so; if it did work, the key was removed since, and its vectors are kept. One whose texts wait for somebody to
// agree keeps waiting.
func (w *Worker) unreachable(ctx context.Context, model core.Handle, texts []core.EmbeddingTask, cause error) error {
	dim, err := w.made(ctx, model)
	if err != nil {
		return err
	}
	if dim > 0 || model == core.WordsHandle || core.KindOf(cause) == core.Conflict {
		w.rests(ctx, model, cause)
		return nil
	}
	var archives []core.ArchiveID
	for _, u := range texts {
		if u.Archive != "" && !slices.Contains(archives, u.Archive) {
			archives = append(archives, u.Archive)
		}
	}
	for _, id := range archives {
		err := w.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
			a, err := tx.Archives().Get(ctx, id)
			if err != nil || a.Embedding != model {
				return err
			}
			a.Wanted, a.Embedding = model, ""
			return tx.Archives().Update(ctx, &a)
		})
		if err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
		w.cfg.Logger.WarnContext(ctx, "an archive uses the built-in embedding: the one asked for cannot be reached",
			slog.String("archive", string(id)), slog.String("model", string(model)), slog.Any("error", cause))
	}
	return nil
}
