package search

import (
	"math"
	"slices"
)

// weightedTerm is a word or pair of words to score by.
type weightedTerm struct {
	word, next string // next: of a pair
	weight     float64
	value      float64 // weight · idf
}

func (r *ranking) queryTerms() []weightedTerm {
	out := make([]weightedTerm, 0, len(r.q.terms)+len(r.q.pairs))
	for _, t := range r.q.terms {
		w := float64(min(t.times, repeats))
		if len(t.name) > 0 {
			w *= nameWeight
		}
		if worth := t.worth(r); worth > 0 {
			out = append(out, weightedTerm{word: t.word, weight: w, value: w * worth})
		}
	}
	for i, df := range r.pairsFound() {
		if df > 0 {
			out = append(out, weightedTerm{word: r.q.pairs[i][0], next: r.q.pairs[i][1], weight: pairWeight, value: pairWeight * r.idf(df)})
		}
	}
	return out
}

// relative is a word that stands for a term, if less well.
type relative struct {
	word  string
	of    int // the term
	value float64
}

// relatives returns what the query was widened by.
func (r *ranking) relatives(terms []weightedTerm) []relative {
	var out []relative
	for _, t := range r.q.terms {
		of := slices.IndexFunc(terms, func(w weightedTerm) bool { return w.word == t.word && w.next == "" })
		for _, n := range t.near {
			if of >= 0 {
				out = append(out, relative{n.word, of, terms[of].weight * n.value})
			}
		}
	}
	return out
}

// pairsFound counts pairs in the docs, since no index does.
func (r *ranking) pairsFound() []int {
	found := make([]int, len(r.q.pairs))
	if len(found) == 0 {
		return found
	}
	terms := make([]weightedTerm, len(found))
	for i, p := range r.q.pairs {
		terms[i] = weightedTerm{word: p[0], next: p[1]}
	}
	f := r.texts.finder(terms)
	last := make([]int, len(found))
	for i := range r.docs {
		f.each(r.texts.of(i), func(p int32, _ bool) {
			if last[p] != i+1 {
				last[p] = i + 1
				found[p]++
			}
		})
	}
	return found
}

// occurrence is a term in a doc.
type occurrence struct {
	term  int
	value float64 // its BM25 value here
	asked bool    // it occurs in a question
	near  bool    // it is a relative of the term
}

// scorer scores docs by terms.
type scorer struct {
	r         *ranking
	terms     []weightedTerm
	relatives []relative
	possible  float64      // the score of a text that literally contains them all
	matters   []float64    // how much each term counts for what the query is about; nil: not used
	about     float64      // … and their total
	matched   []float64    // … and how much of that each text matches
	literal   []bool       // a text has a term itself
	occ       []occurrence // of all texts, one after the other
	ends      []int        // where a text's occurrences end
	bestShare float64
}

// in returns the terms in a text.
func (s *scorer) in(i int) []occurrence {
	if i == 0 {
		return s.occ[:s.ends[0]]
	}
	return s.occ[s.ends[i-1]:s.ends[i]]
}

func (r *ranking) scorer(terms []weightedTerm, relatives []relative) *scorer {
	n := len(r.docs)
	s := &scorer{
		r: r, terms: terms, relatives: relatives, literal: make([]bool, n), occ: make([]occurrence, 0, 2*n), ends: make([]int, n),
	}
	for _, t := range terms {
		s.possible += t.value
	}
	sought := slices.Clone(terms)
	for _, n := range relatives {
		sought = append(sought, weightedTerm{word: n.word, value: n.value})
	}
	f := r.texts.finder(sought)
	tf, asked := make([]int, len(sought)), make([]bool, len(sought))
	var touched []int32
	for i := range r.docs {
		f.each(r.texts.of(i), func(t int32, q bool) {
			if tf[t] == 0 {
				touched = append(touched, t)
			}
			tf[t]++
			asked[t] = asked[t] || q
		})
		for _, t := range touched {
			v, of := sought[t].value*float64(tf[t])*(r.k1+1)/(float64(tf[t])+r.norm[i]), int(t)
			near := of >= len(terms)
			if near {
				of = relatives[of-len(terms)].of
			} else {
				s.literal[i] = true
			}
			s.occ = append(s.occ, occurrence{of, v, asked[t], near})
			tf[t], asked[t] = 0, false
		}
		s.ends[i] = len(s.occ)
		touched = touched[:0]
	}
	return s
}

// neighbour is a doc that another inherits from.
type neighbour struct {
	doc    int
	share  float64 // of its words
	answer float64 // of its words in questions; 0: the same as share
	scale  float64 // of all of that: a long text inherits little
}

// neighbours returns the docs that a doc inherits from.
func (r *ranking) neighbours(i int, buf []neighbour) []neighbour {
	buf = buf[:0]
	scale := min(1, inheritors/float64(max(r.docs[i].Len, 1)))
	if r.link[i] {
		n := neighbour{doc: i - 1, share: fromBefore, scale: scale}
		if r.docs[i].Who != r.docs[i-1].Who || r.docs[i].Who == "" {
			n.answer = answers
		}
		buf = append(buf, n)
		if r.link[i-1] {
			buf = append(buf, neighbour{doc: i - 2, share: fromNear, scale: scale})
		}
	}
	if i+1 < len(r.docs) && r.link[i+1] {
		buf = append(buf, neighbour{doc: i + 1, share: fromNear, scale: scale})
		if i+2 < len(r.docs) && r.link[i+2] {
			buf = append(buf, neighbour{doc: i + 2, share: fromNear, scale: scale})
		}
	}
	return buf
}

func (s *scorer) inherits(n neighbour, o occurrence) float64 {
	switch {
	case s.terms[o.term].next != "" && n.share == fromBefore:
		return n.scale * fromBefore * o.value
	case o.asked && n.answer > 0:
		return n.scale * n.answer * o.value
	}
	return n.scale * n.share * o.value
}

// all returns each doc's score: the sum over terms, its own and inherited, times the matched share.
func (s *scorer) all() []float64 {
	out := make([]float64, len(s.r.docs))
	s.matched = make([]float64, len(out))
	if s.possible <= 0 {
		return out
	}
	sum := make([]float64, len(s.terms))
	var touched []int
	var buf []neighbour
	add := func(t int, v float64) {
		if sum[t] == 0 {
			touched = append(touched, t)
		}
		sum[t] += v
	}
	for i := range out {
		for _, o := range s.in(i) {
			add(o.term, o.value)
		}
		buf = s.r.neighbours(i, buf)
		for _, n := range buf {
			for _, o := range s.in(n.doc) {
				add(o.term, s.inherits(n, o))
			}
		}
		if len(touched) == 0 {
			continue
		}
		total, share := 0.0, 0.0
		slices.Sort(touched) // always sum in the same order, whatever the order of words
		for _, t := range touched {
			total += sum[t]
			share += min(sum[t], s.terms[t].value)
			if s.matters != nil && s.terms[t].value > 0 {
				s.matched[i] += s.matters[t] * min(1, sum[t]/s.terms[t].value)
			}
			sum[t] = 0
		}
		touched = touched[:0]
		share /= s.possible
		s.bestShare = max(s.bestShare, share)
		out[i] = total * math.Pow(share, shareExp)
	}
	return out
}
