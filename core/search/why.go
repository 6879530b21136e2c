package search

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// why returns what made a text a hit.
func (s *scorer) why(i int) Why {
	r := s.r
	w := Why{Speaker: r.said[i], Date: r.dated[i], Share: s.shareOf(i)}
	for _, o := range s.in(i) {
		if s.terms[o.term].next == "" {
			w.Terms = append(w.Terms, s.terms[o.term].word)
		}
	}
	type source struct {
		Inherited
		value float64
	}
	var sources []source
	for _, n := range r.neighbours(i, nil) {
		from := source{Inherited: Inherited{From: r.docs[n.doc].ID}}
		for _, o := range s.in(n.doc) {
			from.value += s.inherits(n, o)
			if s.terms[o.term].next == "" {
				from.Words = append(from.Words, r.written(s.terms[o.term].word))
			}
		}
		if len(from.Words) > 0 {
			sources = append(sources, from)
		}
	}
	slices.SortStableFunc(sources, func(a, b source) int { return cmp.Compare(b.value, a.value) })
	for _, from := range sources {
		w.Inherited = append(w.Inherited, from.Inherited)
	}
	return w
}

const (
	// aboutWords is how many words make up what a query is about: a long message is about several things, and a text that
	// covers one of them matches it.
	aboutWords = 8
	// leastDocs is assumed if there are fewer texts: among three notes no word is rare.
	leastDocs = 1000
)

// weighMatter determines what the query is about: its weightiest words, even those that occur nowhere.
func (s *scorer) weighMatter() {
	of := func(t term) float64 {
		w := 1.0
		if len(t.name) > 0 {
			w = nameWeight
		}
		return w * idf(max(s.r.st.Docs, leastDocs), s.r.st.DF[t.word])
	}
	all, words := make([]float64, 0, len(s.r.q.terms)), map[string]float64{}
	for _, t := range s.r.q.terms {
		all, words[t.word] = append(all, of(t)), of(t)
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, v := range all[:min(len(all), aboutWords)] {
		s.about += v
	}
	s.matters = make([]float64, len(s.terms))
	for i, t := range s.terms {
		if t.next == "" {
			s.matters[i] = words[t.word]
		}
	}
}

// shareOf returns how much of what the query is about a text matches.
func (s *scorer) shareOf(i int) float64 {
	if s.about <= 0 {
		return 0
	}
	return min(1, s.matched[i]/s.about)
}

// written returns a word as the query writes it: never in another spelling, which would outlive the query if that is
// forgotten.
func (r *ranking) written(word string) string {
	for _, t := range r.q.terms {
		if t.word == word && utf8.ValidString(t.written) {
			return t.written
		}
	}
	return word
}
