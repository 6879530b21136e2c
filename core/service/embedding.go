package service

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"loci/core"
)

// The bounds of embedding.
const (
	embedPage    = 256             // texts that are looked at together
	embedLoad    = 200_000         // characters in one request
	embedTimeout = 2 * time.Minute // for one request of texts to keep
	queryTimeout = 2 * time.Second // for a query: somebody waits
	firstRest    = time.Second     // after a failure; doubled with each one that follows
	longestRest  = 5 * time.Minute // between two attempts
	leastCut     = 500             // characters to which a text that a model finds too long is cut at most
	cacheBytes   = 4 << 20         // vectors remembered by the content of their texts
	movedAtOnce  = 500             // passages of an archive whose model has changed
)

// EmbeddingConfig is what embedding needs.
type EmbeddingConfig struct {
	Embedders core.Embedders
	Env       core.Env     // the daemon's own provider variables; nil: none
	Logger    *slog.Logger // nil: discarded
	After     func()       // called when texts have got their vectors; it must not wait; nil: nobody is told
}

// Embedding gives every text that search can find its vector: one goroutine follows what waits for one, after the commit,
// in batches. A model that fails, stalls or answers nonsense loses and doubles nothing: its texts stay on the list, are
// found by words meanwhile, and are tried again with growing rests; other models go on.
type Embedding struct {
	cfg    EmbeddingConfig
	store  core.Store
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards the rest
	cache  map[[sha256.Size]byte][]float32
	order  [][sha256.Size]byte // of the cache, the oldest first
	bytes  int
	dims   map[core.Handle]int
	models map[core.Handle]*trouble
	texts  map[int64]*trouble     // by ticket
	sent   map[core.Handle]string // where a model's texts are sent
	keys   keys
}

// trouble is why something is not asked for now.
type trouble struct {
	failures int
	until    time.Time
	err      error
}

// NewEmbedding returns embedding that answers queries; Start lets it follow a store.
func NewEmbedding(cfg EmbeddingConfig) *Embedding {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Env == nil {
		cfg.Env = func(string) (core.Secret, bool) { return "", false }
	}
	if cfg.After == nil {
		cfg.After = func() {}
	}
	return &Embedding{
		cfg: cfg, cache: map[[sha256.Size]byte][]float32{}, dims: map[core.Handle]int{},
		models: map[core.Handle]*trouble{}, sent: map[core.Handle]string{}, texts: map[int64]*trouble{}, keys: keys{joined: make(chan struct{}, 1)},
	}
}

// Start begins to follow what waits for a vector. Close must be called before the store is closed.
func (e *Embedding) Start(ctx context.Context, store core.Store) {
	e.store = store
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	e.wg.Go(func() { e.follow(run) })
}

// Close ends the goroutine; what it had not finished stays on the list.
func (e *Embedding) Close() {
	if e.cancel != nil {
		e.cancel()
	}
	e.wg.Wait()
}

// EmbeddingTrouble says why a model's texts are not embedded at the moment.
type EmbeddingTrouble struct {
	Model    core.Handle
	Failures int // in a row
	Next     time.Time
	Err      error
}

// Status says how far embedding is and what keeps it.
func (e *Embedding) Status(ctx context.Context) (core.VectorProgress, []EmbeddingTrouble, error) {
	if e.store == nil {
		return core.VectorProgress{}, nil, nil
	}
	p, err := e.store.Vectors().Progress(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []EmbeddingTrouble
	for model, t := range e.models {
		out = append(out, EmbeddingTrouble{Model: model, Failures: t.failures, Next: t.until, Err: t.err})
	}
	slices.SortFunc(out, func(a, b EmbeddingTrouble) int { return strings.Compare(string(a.Model), string(b.Model)) })
	return p, out, err
}

// Query returns a query's vector, nil when it has nothing that the model knows. A provider has two seconds.
func (e *Embedding) Query(ctx context.Context, model core.Handle, text string) ([]float32, error) {
	embedder, info, err := e.embedder(ctx, model)
	if err != nil {
		return nil, err
	}
	text = cut(text, info.MaxChars)
	key := contentKey(model, text)
	if v, ok := e.cached(key); ok {
		return v, nil
	}
	if !info.BuiltIn() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, queryTimeout)
		defer cancel()
	}
	vectors, err := embedder.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 || vectors[0] != nil && !sound(vectors[0]) || vectors[0] == nil && !info.BuiltIn() {
		return nil, core.E(core.Unavailable, "%s answers with something that is no vector", model)
	}
	e.remember(key, vectors[0])
	return vectors[0], nil
}

// follow is the goroutine. from is the ticket up to which all is done or in trouble.
func (e *Embedding) follow(ctx context.Context) {
	from := int64(0)
	for ctx.Err() == nil {
		began := time.Now()
		next, err := e.round(ctx, from)
		if ctx.Err() != nil {
			return
		}
		if from == 0 && err == nil {
			e.settle(began)
		}
		if err != nil {
			e.cfg.Logger.WarnContext(ctx, "embedding rests", slog.Any("error", err))
			next = from
		}
		from = next
		if e.rest(ctx, err) {
			from = 0
		}
	}
}

// settle forgets troubles that were due when a whole round began: what is still in trouble has failed again since.
func (e *Embedding) settle(began time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.models, func(_ core.Handle, t *trouble) bool { return t.until.Before(began) })
	maps.DeleteFunc(e.texts, func(_ int64, t *trouble) bool { return t.until.Before(began) })
}

// rest waits until something was committed or something in trouble is due, and then returns true.
func (e *Embedding) rest(ctx context.Context, err error) (due bool) {
	wait, ok := e.nextAttempt(err)
	at := time.Now().Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-e.store.Vectors().Changed():
	case <-e.keys.joined:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return ok && !time.Now().Before(at)
}

// nextAttempt is when something in trouble is due.
func (e *Embedding) nextAttempt(err error) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wait, ok := longestRest, false
	if err != nil {
		wait, ok = firstRest, true
	}
	now := time.Now()
	for _, t := range e.models {
		wait, ok = min(wait, t.until.Sub(now)), true
	}
	for _, t := range e.texts {
		wait, ok = min(wait, t.until.Sub(now)), true
	}
	return max(wait, 10*time.Millisecond), ok
}

// round goes once through what waits after a ticket and returns the last one that it saw.
func (e *Embedding) round(ctx context.Context, from int64) (int64, error) {
	for more := true; more; {
		var err error
		if more, err = e.store.Vectors().Move(ctx, movedAtOnce); err != nil {
			return from, err
		}
	}
	for {
		page, err := e.store.Vectors().Waiting(ctx, from, embedPage)
		if err != nil || len(page) == 0 {
			return from, err
		}
		if err := e.page(ctx, page); err != nil {
			return from, err
		}
		from = page[len(page)-1].Ticket
	}
}

// page embeds what of a page may be asked for now, model by model.
func (e *Embedding) page(ctx context.Context, page []core.Unembedded) error {
	var models []core.Handle
	byModel := map[core.Handle][]core.Unembedded{}
	var empty []core.Embedded
	for _, u := range page {
		switch {
		case strings.TrimSpace(u.Text) == "":
			empty = append(empty, core.Embedded{Unembedded: u})
		case !e.due(u):
		default:
			if byModel[u.Model] == nil {
				models = append(models, u.Model)
			}
			byModel[u.Model] = append(byModel[u.Model], u)
		}
	}
	if len(empty) > 0 {
		if err := e.store.Vectors().Put(ctx, empty...); err != nil {
			return err
		}
		e.cfg.After()
	}
	if i := slices.Index(models, core.WordsHandle); i > 0 { // first: the others may be minutes away
		models[0], models[i] = models[i], models[0]
	}
	for _, model := range models {
		if err := e.model(ctx, model, byModel[model]); err != nil {
			return err
		}
	}
	return nil
}

// due reports whether neither the text nor its model rests.
func (e *Embedding) due(u core.Unembedded) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	model, text := e.models[u.Model], e.texts[u.Ticket]
	return (model == nil || !now.Before(model.until)) && (text == nil || !now.Before(text.until))
}

// model embeds texts with one model.
func (e *Embedding) model(ctx context.Context, model core.Handle, texts []core.Unembedded) error {
	embedder, info, err := e.embedder(ctx, model)
	if err != nil {
		return e.unreachable(ctx, model, texts, err)
	}
	if agreed, err := e.agreed(ctx, model); err != nil {
		return err
	} else if agreed == "" { // an archive that a program made, which names the model alone
		if err := e.agree(ctx, info); err != nil {
			return err
		}
	}
	if err := e.learn(ctx, model); err != nil {
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
		b := &batch{e: e, embedder: embedder, info: info}
		done, err := b.run(ctx, texts[:n])
		if len(done) > 0 {
			if err := e.store.Vectors().Put(ctx, done...); err != nil {
				return err
			}
			e.cfg.After()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			e.rests(ctx, model, err)
			return nil
		}
		e.works(model)
		texts = texts[n:]
	}
	return nil
}

// batch is a group of texts on its way to a model.
type batch struct {
	e        *Embedding
	embedder core.Embedder
	info     core.EmbeddingInfo
	probed   bool // the model takes a plain text, so what it refuses is the fault of a text
}

// run returns the vectors of those texts that got one. Its error is the model's; a text that fails by itself rests by
// itself.
func (b *batch) run(ctx context.Context, texts []core.Unembedded) (done []core.Embedded, err error) {
	var ask []string
	var rest []core.Unembedded
	at := map[string]int{}
	for _, u := range texts {
		if v, ok := b.e.cached(contentKey(b.info.Handle, u.Text)); ok {
			done = append(done, core.Embedded{Unembedded: u, Vector: v})
			continue
		}
		rest = append(rest, u)
		if _, ok := at[u.Text]; !ok {
			at[u.Text] = len(ask)
			ask = append(ask, u.Text)
		}
	}
	if len(ask) == 0 {
		return done, nil
	}
	vectors, err := b.ask(ctx, ask)
	if kind := core.KindOf(err); kind == core.Invalid || kind == core.TooLong {
		more, err := b.apart(ctx, rest, err)
		return append(done, more...), err
	}
	if err != nil {
		return done, err
	}
	if err := b.e.alike(b.info, vectors); err != nil {
		return done, err
	}
	for _, u := range rest {
		v := vectors[at[u.Text]]
		if v != nil && !sound(v) || v == nil && !b.info.BuiltIn() {
			b.e.fails(u.Ticket, core.E(core.Unavailable, "%s answers with something that is no vector", b.info.Handle))
			continue
		}
		b.e.remember(contentKey(b.info.Handle, u.Text), v)
		done = append(done, core.Embedded{Unembedded: u, Vector: v})
	}
	return done, nil
}

func (b *batch) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := b.embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = core.E(core.Unavailable, "%s answers %d texts with %d vectors", b.info.Handle, len(texts), len(vectors))
	}
	return vectors, err
}

// apart tries the halves of texts that a model refuses together, to find the one that it does not take; a text that is
// too long by itself is cut. A model that does not take a plain text either is in trouble itself.
func (b *batch) apart(ctx context.Context, texts []core.Unembedded, refused error) ([]core.Embedded, error) {
	if core.KindOf(refused) == core.Invalid && !b.probed {
		if _, err := b.ask(ctx, []string{"hello"}); err != nil {
			return nil, refused
		}
		b.probed = true
	}
	if len(texts) == 1 {
		if n := utf8.RuneCountInString(texts[0].Text); core.KindOf(refused) == core.TooLong && n > leastCut {
			one := texts[0]
			one.Text = cut(one.Text, max(n/2, leastCut))
			return b.run(ctx, []core.Unembedded{one})
		}
		b.e.fails(texts[0].Ticket, refused)
		return nil, nil
	}
	var done []core.Embedded
	for _, half := range [][]core.Unembedded{texts[:len(texts)/2], texts[len(texts)/2:]} {
		more, err := b.run(ctx, half)
		done = append(done, more...)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// alike checks that vectors have the dimension that the model's others have.
func (e *Embedding) alike(info core.EmbeddingInfo, vectors [][]float32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := e.dims[info.Handle]
	for _, v := range vectors {
		if v == nil {
			continue
		}
		if want == 0 {
			want = len(v)
		}
		if len(v) != want {
			delete(e.dims, info.Handle) // its vectors may be gone at the next attempt: they are counted again
			e.forgetLocked()            // what is remembered may be of the model that was
			return core.E(core.Unavailable, "%s answers with %d dimensions, its vectors have %d", info.Handle, len(v), want).
				WithHint("if the model behind this name has changed, give the archive another one and then this again")
		}
	}
	e.dims[info.Handle] = want
	return nil
}

// learn finds out which dimension a model's vectors have.
func (e *Embedding) learn(ctx context.Context, model core.Handle) error {
	e.mu.Lock()
	_, known := e.dims[model]
	e.mu.Unlock()
	if known {
		return nil
	}
	dim, err := e.made(ctx, model)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dims[model] = dim
	return nil
}

// made returns the dimension of the vectors that a model has made, 0 when there are none.
func (e *Embedding) made(ctx context.Context, model core.Handle) (dim int, err error) {
	all, err := e.store.Vectors().Made(ctx)
	for _, have := range all {
		if have.Model == model && have.Count > 0 {
			dim = have.Dim
		}
	}
	return dim, err
}

// unreachable handles a model that cannot be asked. An archive for which it never worked takes the built-in one and says
// so; where it did, somebody took the key away, and what it has made is kept.
func (e *Embedding) unreachable(ctx context.Context, model core.Handle, texts []core.Unembedded, cause error) error {
	dim, err := e.made(ctx, model)
	if err != nil {
		return err
	}
	if dim > 0 || model == core.WordsHandle {
		e.rests(ctx, model, cause)
		return nil
	}
	var archives []core.ArchiveID
	for _, u := range texts {
		if u.Archive != "" && !slices.Contains(archives, u.Archive) {
			archives = append(archives, u.Archive)
		}
	}
	for _, id := range archives {
		err := e.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
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
		e.cfg.Logger.WarnContext(ctx, "an archive uses the built-in embedding: the one asked for cannot be reached",
			slog.String("archive", string(id)), slog.String("model", string(model)), slog.Any("error", cause))
	}
	return nil
}

func (e *Embedding) works(model core.Handle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.models, model)
}

// rests lets a model rest, longer after each failure.
func (e *Embedding) rests(ctx context.Context, model core.Handle, err error) {
	e.mu.Lock()
	t := e.models[model]
	if t == nil {
		t = &trouble{}
		e.models[model] = t
	}
	t.fail(err)
	e.mu.Unlock()
	e.cfg.Logger.WarnContext(ctx, "an embedding failed and is asked again later", slog.String("model", string(model)), slog.Int("failures", t.failures), slog.Any("error", err))
}

// fails lets a text rest.
func (e *Embedding) fails(ticket int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.texts[ticket]
	if t == nil {
		t = &trouble{}
		e.texts[ticket] = t
	}
	t.fail(err)
}

func (t *trouble) fail(err error) {
	t.failures++
	t.err = err
	wait := min(firstRest<<min(t.failures-1, 16), longestRest)
	t.until = time.Now().Add(wait/2 + rand.N(wait/2)) //nolint:gosec // jitter
}

func contentKey(model core.Handle, text string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(model) + "\x00" + text))
}

func (e *Embedding) cached(key [sha256.Size]byte) ([]float32, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.cache[key]
	return v, ok
}

// Forget drops the vectors remembered of texts.
func (e *Embedding) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetLocked()
}

func (e *Embedding) forgetLocked() {
	clear(e.cache)
	e.order, e.bytes = nil, 0
}

// remember keeps a vector by the content of its text, for a while.
func (e *Embedding) remember(key [sha256.Size]byte, v []float32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.cache[key]; ok {
		return
	}
	size := func(v []float32) int { return 4*len(v) + 4*sha256.Size }
	e.cache[key], e.order, e.bytes = v, append(e.order, key), e.bytes+size(v)
	for e.bytes > cacheBytes {
		e.bytes -= size(e.cache[e.order[0]])
		delete(e.cache, e.order[0])
		e.order = e.order[1:]
	}
}

// sound reports whether a vector is one: finite numbers, not all zero.
func sound(v []float32) bool {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return square > 0 && !math.IsNaN(square) && !math.IsInf(square, 0)
}

// cut returns the first characters of a text.
func cut(text string, chars int) string {
	if chars <= 0 || len(text) <= chars {
		return text
	}
	n := 0
	for i := range text {
		if n == chars {
			return text[:i]
		}
		n++
	}
	return text
}
