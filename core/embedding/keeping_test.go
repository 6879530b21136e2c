package embedding

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/finder"
	"loci/storage"
)

// embedders answer as its functions say; what it embeds is a random but fixed direction for each text.
type embedders struct {
	mu    sync.Mutex
	asked map[core.Handle]int // texts
	spoil func(model core.Handle, texts []string, out [][]float32) ([][]float32, error)
	find  func(model core.Handle) error
	stall func(model core.Handle, texts []string) error // set before the first text; nil: no request is held up
}

func (m *embedders) Embeddings(context.Context, core.Env, string) []core.EmbeddingInfo { return nil }

func (m *embedders) Embedder(_ context.Context, h core.Handle, _ core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	if h == "" {
		h = core.WordsHandle
	}
	info := core.EmbeddingInfo{Handle: h, Dim: 8, Batch: 16, MaxChars: 2000}
	if h != core.WordsHandle {
		info.Endpoint = "http://elsewhere"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find != nil {
		if err := m.find(h); err != nil {
			return nil, core.EmbeddingInfo{}, err
		}
	}
	return &one{m, h}, info, nil
}

func (m *embedders) set(spoil func(core.Handle, []string, [][]float32) ([][]float32, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spoil = spoil
}

type one struct {
	m *embedders
	h core.Handle
}

func direction(model core.Handle, text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(model) + text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func (o *one) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if o.m.stall != nil {
		if err := o.m.stall(o.h, texts); err != nil {
			return nil, err
		}
	}
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if o.m.asked == nil {
		o.m.asked = map[core.Handle]int{}
	}
	o.m.asked[o.h] += len(texts)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = direction(o.h, text)
	}
	if o.m.spoil != nil {
		return o.m.spoil(o.h, texts, out)
	}
	return out, nil
}

// keeping is a store whose texts are embedded.
type keeping struct {
	t         *testing.T
	store     *storage.Store
	embedding *Worker
	models    *embedders
	search    *finder.Finder
	archive   core.Archive
}

func newKeeping(t *testing.T, m *embedders, model core.Handle) *keeping {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h := &keeping{t: t, store: store, models: m}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.archive = core.Archive{ID: core.NewArchiveID(), Name: "kept", Embedding: model, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	h.ok(store.Archives().Create(t.Context(), &h.archive))
	h.embedding = Start(t.Context(), Config{Store: store, Embedders: m})
	t.Cleanup(h.embedding.Close)
	h.search = finder.New(finder.Config{Store: store, Embed: h.embedding.Query, Stalled: h.embedding.Stalled})
	return h
}

func (h *keeping) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *keeping) insert(texts ...string) []*core.Passage {
	h.t.Helper()
	var ps []*core.Passage
	for _, text := range texts {
		ps = append(ps, &core.Passage{
			ID: core.NewPassageID(), Archive: h.archive.ID, Text: text, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		})
	}
	h.ok(h.store.Passages().Insert(h.t.Context(), ps...))
	return ps
}

// until waits for a state of the list.
func (h *keeping) until(what string, is func(core.VectorProgress) bool) core.VectorProgress {
	h.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	for {
		p, _, err := h.embedding.Status(h.t.Context())
		h.ok(err)
		if is(p) {
			return p
		}
		select {
		case <-tick.C:
		case <-late.C:
			h.t.Fatalf("%s did not happen: %+v", what, p)
		}
	}
}

func (h *keeping) done() core.VectorProgress {
	h.t.Helper()
	return h.until("the end of embedding", func(p core.VectorProgress) bool { return p.Waiting == 0 && p.Moving == 0 })
}

func (h *keeping) count(model core.Handle) (n int) {
	h.t.Helper()
	all, err := h.store.Vectors().Made(h.t.Context())
	h.ok(err)
	for _, have := range all {
		if have.Model == model {
			n += have.Count
		}
	}
	return n
}

func (h *keeping) doneWith(model core.Handle) int {
	h.t.Helper()
	h.done()
	return h.count(model)
}

func texts(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("note %d says something of its own", i))
	}
	return out
}
