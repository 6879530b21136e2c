package embedding

import (
	"context"
	"math"
	"unicode/utf8"

	"loci/core"
)

// batch is a group of texts being sent to a model.
type batch struct {
	w        *Worker
	embedder core.Embedder
	info     core.EmbeddingInfo
	probed   bool // the model accepts a plain text, so if it refuses others, a text is at fault
}

// run returns the vectors of the texts that got one. Its error is the model's; a text that fails on its own is delayed
// on its own.
func (b *batch) run(ctx context.Context, texts []core.EmbeddingTask) (done []core.EmbeddingResult, err error) {
	var ask []string
	var rest []core.EmbeddingTask
	at := map[string]int{}
	for _, u := range texts {
		if v, ok := b.w.cached(contentKey(b.info.Handle, u.Text)); ok {
			done = append(done, core.EmbeddingResult{EmbeddingTask: u, Vector: v})
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
	if err := b.w.alike(b.info, vectors); err != nil {
		return done, err
	}
	for _, u := range rest {
		v := vectors[at[u.Text]]
		if v != nil && !sound(v) || v == nil && !b.info.BuiltIn() {
			b.w.fails(u.Ticket, core.E(core.Unavailable, "%s answers with something that is no vector", b.info.Handle))
			continue
		}
		b.w.remember(contentKey(b.info.Handle, u.Text), v)
		done = append(done, core.EmbeddingResult{EmbeddingTask: u, Vector: v})
	}
	return done, nil
}

func (b *batch) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := b.w.ask(ctx, b.info.Handle, b.embedder, texts)
	if err == nil && len(vectors) != len(texts) {
		err = core.E(core.Unavailable, "%s answers %d texts with %d vectors", b.info.Handle, len(texts), len(vectors))
	}
	return vectors, err
}

// apart splits texts that a model refuses together in halves, to find the one it doesn't accept; a text that is too long
// is cut. A model that doesn't accept even a plain text is in trouble itself.
func (b *batch) apart(ctx context.Context, texts []core.EmbeddingTask, refused error) ([]core.EmbeddingResult, error) {
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
			return b.run(ctx, []core.EmbeddingTask{one})
		}
		b.w.fails(texts[0].Ticket, refused)
		return nil, nil
	}
	var done []core.EmbeddingResult
	for _, half := range [][]core.EmbeddingTask{texts[:len(texts)/2], texts[len(texts)/2:]} {
		more, err := b.run(ctx, half)
		done = append(done, more...)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// sound reports whether a vector is usable: finite numbers, not all zero.
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
