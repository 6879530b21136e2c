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
		if s.terms[o.term].next == "" && !o.near {
			w.Terms = append(w.Terms, s.terms[o.term].word)
		}
	}
	w.Own = s.ownShareOf(i)
	for _, n := range s.relatives {
		if r.texts.holds(i, []string{n.word}) {
			w.Also = append(w.Also, n.word)
		}
	}
	type source struct {
		NeighbourWords
		value float64
	}
	var sources []source
	for _, n := range r.neighbours(i, nil) {
		from := source{NeighbourWords: NeighbourWords{From: r.docs[n.doc].ID}}
		for _, o := range s.in(n.doc) {
			from.value += s.inherits(n, o)
			if word := r.written(s.terms[o.term].word); s.terms[o.term].next == "" && !slices.Contains(from.Words, word) {
				from.Words = append(from.Words, word)
			}
		}
		if len(from.Words) > 0 {
			sources = append(sources, from)
		}
	}
	slices.SortStableFunc(sources, func(a, b source) int { return cmp.Compare(b.value, a.value) })
	for _, from := range sources {
		w.Inherited = append(w.Inherited, from.NeighbourWords)
	}
	return w
}

const (
	// aboutWords is how many words make up what a query is about: a long message is about several things, and a text that
	// covers one of them matches it.
	aboutWords = 8
	// leastDocs is assumed if there are fewer texts: among three notes no word is rare.
	leastDocs = 1000
	// unheard is how much more a name counts that occurs nowhere: what is known of others does not answer a question about it.
	unheard = 2.0
)

// weighMatter determines what the query is about: its weightiest words, even those that occur nowhere.
func (s *scorer) weighMatter() {
	of := func(t *term) float64 {
		df := s.r.st.DF[t.word]
		w := 1 - s.r.q.ordinary(t)
		switch {
		case len(t.name) > 0:
			w *= nameWeight
		case t.proper && df == 0:
			w *= unheard
		}
		return w * idf(max(s.r.st.Docs, leastDocs), df)
	}
	all, words := make([]float64, 0, len(s.r.q.terms)), map[string]float64{}
	for i := range s.r.q.terms {
		t := &s.r.q.terms[i]
		words[t.word] = of(t)
		all = append(all, words[t.word])
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

// ownShareOf returns how much of it is matched by the text's own words.
func (s *scorer) ownShareOf(i int) float64 {
	if s.about <= 0 {
		return 0
	}
	own := 0.0
	for _, o := range s.in(i) {
		if v := s.terms[o.term].value; v > 0 && !o.near {
			own += s.matters[o.term] * min(1, o.value/v)
		}
	}
	return min(1, own/s.about)
}

// answered reports whether any text answers the query: it or what it inherits from has one of its words, it is from a
// person or a time that the query names, or it matches enough by relatives and by meaning together. What is merely the
// nearest to a query that nothing answers is no find.
func (s *scorer) answered(v Vectors) bool {
	r := s.r
	alone := cmp.Or(v.Alone, StandsOut)
	var buf []neighbour
	for i := range r.docs {
		if !r.docs[i].Allowed {
			continue
		}
		if s.literal[i] || r.said[i] || r.dated[i] {
			return true
		}
		match := s.shareOf(i)
		if z := v.z(r.docs[i].ID); z > StandsOut {
			match += leastMatch * z / alone
		}
		buf = r.neighbours(i, buf)
		if match >= leastMatch || slices.ContainsFunc(buf, func(n neighbour) bool { return s.literal[n.doc] }) {
			return true
		}
	}
	return false
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
