package embedding

import (
	"context"
	"fmt"
	"testing"
	"time"

	"loci/core"
)

func TestAModelThatChangedItsDimensionIsTakenAgainOnceItsVectorsAreGone(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	h := newKeeping(t, m, "vendor/small")
	h.insert(texts(3)...)
	if n := h.doneWith("vendor/small"); n != 3 {
		t.Fatalf("%d vectors", n)
	}
	m.set(func(model core.Handle, _ []string, out [][]float32) ([][]float32, error) {
		for i := range out {
			if model == "vendor/small" {
				out[i] = append(out[i], 1, 2)
			}
		}
		return out, nil
	})
	h.insert("a text that was not embedded before")
	h.until("the refusal", func(core.VectorProgress) bool {
		_, troubles, err := h.embedding.Status(t.Context())
		h.ok(err)
		return len(troubles) == 1 && core.HintOf(troubles[0].Err) != ""
	})
	for _, model := range []core.Handle{"", "vendor/small"} { // as the hint of the refusal says
		h.archive.Embedding = model
		h.ok(h.store.Archives().Update(t.Context(), &h.archive))
		h.until("the move", func(p core.VectorProgress) bool {
			want := model
			if want == "" {
				want = core.WordsHandle
			}
			return p.Waiting == 0 && p.Moving == 0 && h.count(want) == 4
		})
	}
}

// deaf is a store that cannot say once which vectors there are.
type deaf struct {
	core.Store
	core.VectorStore
	failed bool
}

func (d *deaf) Vectors() core.VectorStore { return d }

func (d *deaf) Made(ctx context.Context) ([]core.VectorCount, error) {
	if !d.failed {
		d.failed = true
		return nil, core.E(core.Unavailable, "not now")
	}
	return d.VectorStore.Made(ctx)
}

func TestADimensionThatCouldNotBeReadIsReadAgain(t *testing.T) {
	t.Parallel()
	h := newKeeping(t, &embedders{}, "vendor/small")
	h.insert(texts(1)...)
	h.doneWith("vendor/small")
	e := newWorker(Config{Store: &deaf{Store: h.store, VectorStore: h.store.Vectors()}, Embedders: h.models})
	if err := e.learn(t.Context(), "vendor/small"); err == nil {
		t.Error("the failure was swallowed")
	}
	h.ok(e.learn(t.Context(), "vendor/small"))
	if err := e.alike(core.EmbeddingInfo{Handle: "vendor/small"}, [][]float32{make([]float32, 9)}); err == nil {
		t.Error("another dimension is taken")
	}
}

func TestWhatEmbeddingKeepsInMemoryIsBounded(t *testing.T) {
	t.Parallel()
	e := newWorker(Config{})
	const dim = 4096
	for i := range 2 * cacheBytes / (4 * dim) {
		e.remember(contentKey("m", fmt.Sprint(i)), make([]float32, dim))
	}
	if e.bytes > cacheBytes || len(e.cache)*4*dim > cacheBytes || len(e.order) != len(e.cache) {
		t.Errorf("%d bytes, %d vectors in %d places", e.bytes, len(e.cache), len(e.order))
	}
	e.fails(1, core.E(core.Invalid, "too strange")) // its text may be gone by the next attempt
	e.settle(e.texts[1].until.Add(time.Second))
	if len(e.texts) > 0 {
		t.Error("the trouble of a text that is gone stays")
	}
}
