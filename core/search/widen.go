package search

import (
	"cmp"
	"slices"
)

// Relative is a word near another one in meaning, both as indexed.
type Relative struct {
	Word string
	Near float64 // from 0 to 1
}

const (
	rareShare    = .01 // of the texts: words that more of them have are found well enough as they are
	commonShare  = .05 // of the texts: relatives that more of them have say too little
	mostNear     = 5   // relatives of a word
	mostWidened  = 8   // words of a query that are widened
	relativeness = .4  // what a relative counts, however near
)

// Relate tells a query where relatives of its words come from.
func (q Query) Relate(related func(word string) []Relative) Query {
	q.related = nil
	if related != nil {
		known := map[string][]Relative{} // it is asked again once some of them are counted
		q.related = func(word string) []Relative {
			list, ok := known[word]
			if !ok {
				list = related(word)
				known[word] = list
			}
			return list
		}
	}
	return q
}

// rare returns the positions of the words to be widened: those that few texts have, and names nobody.
func (q *Query) rare(st Stats) []int {
	var out []int
	for i, t := range q.terms {
		if q.related != nil && len(t.name) == 0 && float64(st.DF[t.word]) <= rareShare*float64(st.Docs) && len(out) < mostWidened {
			out = append(out, i)
		}
	}
	return out
}

// Relatives returns words that Stats must count for Widen to choose from, none once it can choose. Those of a word that are
// nearest are asked for first: where they occur, the others need no counting.
func (q *Query) Relatives(st Stats) []string {
	const atOnce = 2 * mostNear
	asked := q.asked()
	var out []string
	for _, i := range q.rare(st) {
		near, unknown := 0, 0
		for _, r := range q.related(q.terms[i].word) {
			if _, counted := st.DF[r.Word]; !counted {
				out = append(out, r.Word)
				unknown++
			} else if st.mayStand(r, asked) {
				near++
			}
			if near == mostNear || unknown == atOnce {
				break
			}
		}
	}
	return distinct(out)
}

func (q *Query) asked() map[string]bool {
	asked := make(map[string]bool, len(q.terms))
	for i := range q.terms {
		asked[q.terms[i].word] = true
	}
	return asked
}

// mayStand reports whether a relative can stand for what it is one of: it occurs, says enough and isn't asked for itself.
func (st *Stats) mayStand(r Relative, asked map[string]bool) bool {
	df := st.DF[r.Word]
	return df > 0 && !asked[r.Word] && float64(df) <= max(1, commonShare*float64(st.Docs))
}

// Widen lets rare words, and those that occur nowhere, also be matched by their nearest relatives that occur. A relative
// of several words counts for the one that it is worth most for.
func (q Query) Widen(st Stats) Query {
	rare := q.rare(st)
	if len(rare) == 0 {
		return q
	}
	q.terms = slices.Clone(q.terms)
	asked := q.asked()
	best := map[string]float64{}
	for _, i := range rare {
		t := &q.terms[i]
		t.near = nil
		for _, r := range q.related(t.word) {
			if !st.mayStand(r, asked) {
				continue
			}
			n := near{word: r.Word, idf: idf(st.Docs, st.DF[r.Word])}
			if own := st.DF[t.word]; own > 0 {
				n.idf = min(n.idf, idf(st.Docs, own))
			}
			n.value = relativeness * r.Near * n.idf
			best[n.word] = max(best[n.word], n.value)
			if t.near = append(t.near, n); len(t.near) == mostNear {
				break
			}
		}
	}
	for _, i := range rare {
		t := &q.terms[i]
		t.near = slices.DeleteFunc(t.near, func(n near) bool {
			beaten := n.value < best[n.word]
			if !beaten {
				best[n.word] = n.value + 1 // of equals, the first
			}
			return beaten
		})
	}
	return q
}

// near is a relative of a word of the query that occurs.
type near struct {
	word  string
	idf   float64 // the lower one of both words, its own where the word occurs nowhere
	value float64
}

// worth returns the idf of a word of the query; one that occurs nowhere has that of its rarest relative.
func (t *term) worth(r *ranking) float64 {
	if df := r.st.DF[t.word]; df > 0 {
		return r.idf(df)
	}
	rarest := 0.0
	for _, n := range t.near {
		rarest = max(rarest, n.idf)
	}
	return rarest
}

// Lesser is a word that counts less than its rarity says.
type Lesser struct {
	Word   string
	Weight float64
}

// Near returns the relatives that the query was widened by, with what they count beside a word as rare.
func (q *Query) Near(st Stats) []Lesser {
	var out []Lesser
	for _, t := range q.terms {
		for _, n := range t.near {
			out = append(out, Lesser{n.word, n.value / idf(st.Docs, st.DF[n.word])})
		}
	}
	slices.SortFunc(out, func(a, b Lesser) int { return cmp.Compare(a.Word, b.Word) })
	return out
}
