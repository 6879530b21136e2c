package finder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"loci/core"
	"loci/core/search"
)

const (
	// wholeScope is the largest number of texts in a scope that is ranked as a whole: then nothing depends on candidates.
	wholeScope = 1000
	// maxEntries is how many texts a query's words may occur in, in total, for candidates to be selected by all of them.
	maxEntries = 3_000_000
)

// ranking is what was found in the index, best first.
type ranking struct {
	hits    []search.Hit
	gap     gap           // what the index may be missing
	partial bool          // … or the vectors
	noModel bool          // an embedding model didn't answer
	models  []core.Handle // that the texts in reach are embedded by
}

// match embeds the query, asks the index and ranks; if a view can't be read to the end, it tries once more.
func (f *Finder) match(ctx context.Context, q core.SearchQuery, query search.Query, s search.Scope, explain int) (ranking, error) {
	var r ranking
	vectors, err := f.embed(ctx, q, s, &r)
	if err != nil {
		return r, err
	}
	for range 2 {
		var view search.View
		if view, err = f.cfg.Store.View(ctx, s, vectors); err == nil {
			r.hits, err = f.inView(ctx, view, query, vectors, explain)
			r.partial, r.gap = view.Partial(), gapOf(view.Reach())
			view.Close()
		}
		if !errors.Is(err, search.ErrUnavailable) {
			break
		}
	}
	if errors.Is(err, search.ErrUnavailable) {
		f.cfg.Logger.WarnContext(ctx, "a search goes without the index", slog.Any("error", err))
		r.gap, r.partial, err = mostOfIt, true, nil
	}
	if len(q.Skip) > 0 {
		r.hits = slices.DeleteFunc(r.hits, func(h search.Hit) bool { return q.Skip[h.ID] })
	}
	return r, err
}

func gapOf(r search.Reach) gap {
	switch {
	case r.Building:
		return mostOfIt
	case r.Behind:
		return recent
	}
	return noGap
}

func (f *Finder) inView(
	ctx context.Context,
	view search.View,
	query search.Query,
	vectors []search.Vector,
	explain int,
) ([]search.Hit, error) {
	m, err := f.meaning(ctx, view, vectors)
	if err != nil {
		return nil, err
	}
	return rank(ctx, view, query, m, explain)
}

// Rank ranks the texts in a view by the words of a query alone.
func Rank(ctx context.Context, view search.View, query search.Query, explain int) ([]search.Hit, error) {
	return rank(ctx, view, query, nil, explain)
}

// rank ranks the texts in a view and gives reasons for the first explain hits.
func rank(ctx context.Context, view search.View, query search.Query, m *vectorSearch, explain int) ([]search.Hit, error) {
	reach := view.Reach()
	switch {
	case reach.Texts == 0:
		return nil, nil
	case reach.Texts <= wholeScope:
		return whole(ctx, view, query, m, explain)
	}
	return sampled(ctx, view, query, m, explain)
}

// whole ranks all texts of a small scope, counting words in the scope only.
func whole(ctx context.Context, view search.View, q search.Query, m *vectorSearch, explain int) ([]search.Hit, error) {
	docs, err := view.All(ctx)
	if err != nil {
		return nil, err
	}
	return counted(ctx, docs, q, m, explain)
}

// counted ranks docs by counts made over the docs themselves.
func counted(ctx context.Context, docs []search.Doc, q search.Query, m *vectorSearch, explain int) ([]search.Hit, error) {
	texts, vectors, err := m.load(ctx, docs)
	if err != nil {
		return nil, err
	}
	st := texts.Stats()
	q = q.Respell(st.DF, func(string) []string { return slices.Collect(maps.Keys(st.DF)) })
	return search.Rank(q.Narrow(st.DF).Resolve(st.Speakers, st.DF).Widen(st), st, texts, vectors, explain), nil
}

// sampled ranks candidates and the texts near them.
func sampled(ctx context.Context, view search.View, q search.Query, m *vectorSearch, explain int) ([]search.Hit, error) {
	var wg sync.WaitGroup
	defer wg.Wait() // nothing outlives the search
	nearest := m.nearest(ctx, &wg)
	counter, counts := view.(search.Counter)
	if !counts { // the candidates are all there is to count
		docs, err := around(ctx, view, search.Clues{Words: q.Terms(), Names: q.Surfaces(), Days: q.Days()}, nearest)
		if err != nil || len(docs) == 0 {
			return nil, err
		}
		return counted(ctx, docs, q, m, explain)
	}
	reach := view.Reach()
	st := search.Stats{Docs: reach.Total, AvgLen: reach.AvgWords}
	q, df, err := respelt(ctx, view, counter, q)
	if err != nil {
		return nil, err
	}
	st.DF, q = df, q.Narrow(df)
	if st.Speakers, err = counter.Speakers(ctx, q.Surfaces()); err != nil {
		return nil, err
	}
	if q, err = widened(ctx, counter, q.Resolve(st.Speakers, st.DF), st); err != nil {
		return nil, err
	}
	clues := search.Clues{Words: q.Rarest(st.DF, maxEntries), Near: q.Near(st), Names: q.Names(), Days: q.Days()}
	docs, err := around(ctx, view, clues, nearest)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	texts, vectors, err := m.load(ctx, docs)
	if err != nil {
		return nil, err
	}
	var failed error // the first error of the ranking's lookups
	days := dayCounter{
		left:  reach.Total,
		known: map[search.Span]int{},
		count: func(s search.Span, most int) (int, error) { return counter.OnDays(ctx, s, most) },
	}
	st.OnDays = days.on
	st.More = func(words []string) map[string]int {
		more, err := counter.Frequencies(ctx, words)
		failed = errors.Join(failed, err)
		return more
	}
	hits := search.Rank(q, st, texts, vectors, explain)
	return hits, errors.Join(failed, days.err)
}

// respelt replaces the words of a query that occur nowhere, as far as a view can tell, and counts the texts that have each.
func respelt(ctx context.Context, view search.View, counter search.Counter, q search.Query) (search.Query, map[string]int, error) {
	df, err := counter.Frequencies(ctx, slices.Concat(q.Terms(), q.Spellings()))
	if err != nil {
		return q, nil, err
	}
	var failed error
	meant := q.Respell(df, func(word string) []string {
		lexicon, ok := view.(search.Lexicon)
		if !ok || failed != nil {
			return nil
		}
		words, err := lexicon.Like(ctx, word)
		failed = err
		return words
	})
	if words := meant.Terms(); failed == nil && !slices.Equal(words, q.Terms()) {
		df, failed = counter.Frequencies(ctx, words)
	}
	return meant, df, failed
}

// widened adds relatives to the rare words of a query, and their counts to what is known.
func widened(ctx context.Context, counter search.Counter, q search.Query, st search.Stats) (search.Query, error) {
	for {
		words := q.Relatives(st)
		if len(words) == 0 {
			break
		}
		df, err := counter.Frequencies(ctx, words)
		if err != nil {
			return q, err
		}
		for _, w := range words {
			st.DF[w] = df[w]
		}
	}
	return q.Widen(st), nil
}

// around reads the candidates found by clues and by vectors, with the texts around them.
func around(ctx context.Context, view search.View, c search.Clues, nearest <-chan neighbours) ([]search.Doc, error) {
	candidates, err := view.Candidates(ctx, c)
	if err != nil {
		return nil, err
	}
	n := <-nearest
	if n.err != nil {
		return nil, n.err
	}
	if len(n.seqs) > 0 {
		more, err := view.Candidates(ctx, search.Clues{Nearest: n.seqs})
		if err != nil {
			return nil, err
		}
		for seq := range more {
			candidates[seq] = true
		}
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	return view.Near(ctx, candidates)
}

// dayCounter counts the texts on days for one search: each span once, and in total no more than there are texts, since
// beyond that a time says nothing. A pasted log names the same years over and over.
type dayCounter struct {
	count func(s search.Span, most int) (int, error)
	known map[search.Span]int
	left  int
	err   error // the first
}

func (c *dayCounter) on(s search.Span) int {
	n, known := c.known[s]
	if !known && c.left > 0 && c.err == nil {
		n, c.err = c.count(s, c.left)
		c.known[s] = n
		c.left -= n
	}
	return n
}
