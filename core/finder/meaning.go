package finder

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"loci/core"
	"loci/core/search"
)

const nearestTexts = 50 // candidates by meaning, of each model

// embed embeds the query with the models that have made vectors in the scope. It leaves out those that don't answer.
func (f *Finder) embed(ctx context.Context, q core.SearchQuery, s search.Scope, r *ranking) ([]search.Vector, error) {
	models, err := f.cfg.Store.Models(ctx, s)
	if err != nil {
		return nil, err
	}
	r.models = models
	var vectors []search.Vector
	for _, model := range models {
		if values := f.vector(ctx, q, model, r); values != nil {
			vectors = append(vectors, search.Vector{Model: model, Values: values})
		}
	}
	return vectors, nil
}

// vector returns the query's embedding by a model, nil if there is none.
func (f *Finder) vector(ctx context.Context, q core.SearchQuery, model core.Handle, r *ranking) []float32 {
	if v, ok := q.Vectors[model]; ok {
		return v
	}
	if f.cfg.Embed == nil {
		return nil
	}
	if end, ok := ctx.Deadline(); ok { // better to answer in time by words alone than not at all
		const share = 2
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/share)
		defer cancel()
	}
	v, err := f.cfg.Embed(ctx, model, q.Text)
	if err != nil {
		r.noModel = true
		f.cfg.Logger.WarnContext(
			ctx,
			"a search goes by words alone: the embedding did not answer",
			slog.String("model", string(model)),
			slog.Any("error", err),
		)
	}
	return v
}

// vectorSearch is a search by vectors in a view; nil searches by words alone.
type vectorSearch struct {
	in     search.Meaning
	models []comparison
}

// comparison is a query's vector with the distribution of its cosines.
type comparison struct {
	vector search.Vector
	spread search.Spread
}

// meaning prepares a search by vectors; nil if there is nothing to compare with.
func (f *Finder) meaning(ctx context.Context, view search.View, vectors []search.Vector) (*vectorSearch, error) {
	in, ok := view.(search.Meaning)
	if !ok || len(vectors) == 0 {
		return nil, nil
	}
	m := &vectorSearch{in: in}
	for _, v := range vectors {
		spread, ok, err := in.Spread(ctx, v)
		if err != nil {
			return nil, err
		}
		if ok && spread.Rows > 0 && spread.Rows < enough {
			spread = filled(spread, f.ordinary.spread(ctx, f.cfg.Embed, v))
		}
		if ok && spread.SD > 0 {
			m.models = append(m.models, comparison{v, spread})
		}
	}
	if len(m.models) == 0 {
		return nil, nil
	}
	return m, nil
}

// neighbours are the texts found by vectors.
type neighbours struct {
	seqs []int64
	err  error
}

// nearest starts the search by vectors, in parallel with reading by words. The channel delivers the result.
func (m *vectorSearch) nearest(ctx context.Context, wg *sync.WaitGroup) <-chan neighbours {
	out := make(chan neighbours, 1)
	if m == nil {
		out <- neighbours{}
		return out
	}
	wg.Go(func() {
		var found neighbours
		for _, c := range m.models {
			seqs, err := m.in.Nearest(ctx, c.vector, nearestTexts)
			if err != nil {
				found.err = err
				break
			}
			found.seqs = append(found.seqs, seqs...)
		}
		out <- found
	})
	return out
}

// load prepares docs for ranking: their words and, in parallel, how far they stand out by their vectors.
func (m *vectorSearch) load(ctx context.Context, docs []search.Doc) (texts *search.Texts, v search.Vectors, err error) {
	if m == nil {
		return search.Load(docs), v, nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { v, err = m.vectors(ctx, docs) })
	texts = search.Load(docs)
	wg.Wait()
	return texts, v, err
}

// vectors returns how far docs stand out.
func (m *vectorSearch) vectors(ctx context.Context, docs []search.Doc) (search.Vectors, error) {
	seqs := make([]int64, len(docs))
	for i := range docs {
		seqs[i] = docs[i].Seq
	}
	found, err := m.deviations(ctx, seqs)
	v := search.Vectors{SD: 1, Cos: map[string]float64{}, Weight: search.MeaningWeight, Gate: search.MeaningGate, Alone: m.alone()}
	for i := range docs {
		if z, ok := found[docs[i].Seq]; ok && z > search.StandsOut {
			v.Cos[docs[i].ID] = z
		}
	}
	return v, err
}

// wordsAlone is how far a text must stand out to be found by the built-in embedding alone: it knows words, not texts.
const wordsAlone = 4.0

// alone returns how far a text must stand out to be found by its meaning alone.
func (m *vectorSearch) alone() float64 {
	for _, c := range m.models {
		if c.vector.Model != core.WordsHandle {
			return search.StandsOut
		}
	}
	return wordsAlone
}

// deviations returns by how many standard deviations the cosines of texts exceed the mean, for those that stand out:
// only theirs are exact, and only theirs count.
func (m *vectorSearch) deviations(ctx context.Context, seqs []int64) (map[int64]float64, error) {
	out := map[int64]float64{}
	for _, c := range m.models {
		cosines, err := m.in.Cosines(ctx, c.vector, seqs, c.spread.Mean+search.StandsOut*c.spread.SD)
		if err != nil {
			return nil, err
		}
		for seq, cos := range cosines {
			switch z := (cos - c.spread.Mean) / c.spread.SD; {
			case z > search.StandsOut:
				out[seq] = z
			case !math.IsNaN(z):
				delete(out, seq) // the last model counts
			}
		}
	}
	return out, nil
}
