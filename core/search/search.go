// Package search ranks what the store found: it turns texts into words, and words of a query and of candidates into
// scores, with a reason for each hit. It is pure: no I/O, no state, no language model. The store restricts candidates to
// scope, tags, dates and roles before they come here, so that ranking never decides what may be seen.
//
// Words are the one vocabulary of index and query: whoever changes Words raises Version, and every index is rebuilt.
package search

import (
	"cmp"
	"math"
	"slices"
)

// Version changes with every change of what Words returns.
const Version = "1"

// The parameters of the ranking, from the recipe's tuning.
const (
	k1         = 0.6
	b          = 0.3
	pairWeight = 0.35 // of two query words that follow each other
	shareExp   = 0.8  // how strongly the matched share of the query counts
)

// MaxTerms bounds the words of a query that are looked up: of a pasted file the rarest count.
const MaxTerms = 64

// Query is what is looked for: distinct words in their order, and which of them followed each other.
type Query struct {
	Terms []string
	pairs [][2]string
}

// Analyse reads a query. One without words finds nothing by words: the caller falls back to the newest.
func Analyse(text string) Query {
	var q Query
	seen := map[string]bool{}
	seenPair := map[[2]string]bool{}
	words := Words(text)
	for i, w := range words {
		if !seen[w] {
			seen[w] = true
			q.Terms = append(q.Terms, w)
		}
		if i == 0 {
			continue
		}
		if p := [2]string{words[i-1], w}; !seenPair[p] {
			seenPair[p] = true
			q.pairs = append(q.pairs, p)
		}
	}
	return q
}

// Narrow keeps the rarest terms: those that stand in some text, at most MaxTerms, and beyond the first eight only while
// the texts they stand in are at most budget. It bounds what a long query costs.
func (q Query) Narrow(df map[string]int, budget int) Query {
	known := make([]string, 0, len(q.Terms))
	for _, t := range q.Terms {
		if df[t] > 0 {
			known = append(known, t)
		}
	}
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(df[a], df[b]) })
	keep, sum := map[string]bool{}, 0
	for i, t := range known {
		sum += df[t]
		if i == MaxTerms || i >= 8 && sum > budget {
			break
		}
		keep[t] = true
	}
	var out Query
	for _, t := range q.Terms {
		if keep[t] {
			out.Terms = append(out.Terms, t)
		}
	}
	for _, p := range q.pairs {
		if keep[p[0]] && keep[p[1]] {
			out.pairs = append(out.pairs, p)
		}
	}
	return out
}

// Stats are what the index knows of all texts of a kind.
type Stats struct {
	Docs   int            // how many texts
	AvgLen float64        // their average number of words
	DF     map[string]int // in how many of them a term stands
}

// Candidate is a text that shares a word with the query.
type Candidate struct {
	ID    string
	Words []string // of the text, in order
}

// Hit is a candidate with its score and the terms that matched, in the query's order.
type Hit struct {
	ID    string
	Score float64
	Terms []string
}

// Rank scores the candidates, best first; equal scores keep the order in which they came. Candidates without any term
// of the query are left out.
func Rank(q Query, st Stats, candidates []Candidate) []Hit {
	r := newRanking(q, st, candidates)
	hits := make([]Hit, 0, len(candidates))
	for i, c := range candidates {
		if h := r.score(i, c); h.Score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// ranking holds what all candidates share.
type ranking struct {
	q        Query
	st       Stats
	idf      []float64 // of q.Terms
	pairIDF  []float64 // of q.pairs, weighted
	counts   []counts
	possible float64 // what a text that says the whole query literally has
}

// counts are how often the query's terms and pairs stand in a candidate.
type counts struct {
	terms []int
	pairs []int
	len   int
}

func newRanking(q Query, st Stats, candidates []Candidate) *ranking {
	if st.AvgLen <= 0 {
		st.AvgLen = 1
	}
	r := &ranking{q: q, st: st}
	pairDF := make([]int, len(q.pairs))
	for _, c := range candidates {
		n := count(q, c.Words)
		for i, k := range n.pairs {
			if k > 0 {
				pairDF[i]++
			}
		}
		r.counts = append(r.counts, n)
	}
	for _, t := range q.Terms {
		v := idf(max(st.Docs, len(candidates)), max(st.DF[t], 1))
		r.idf = append(r.idf, v)
		r.possible += v
	}
	for _, df := range pairDF {
		v := 0.0
		if df > 0 {
			v = pairWeight * idf(max(st.Docs, len(candidates)), df)
		}
		r.pairIDF = append(r.pairIDF, v)
		r.possible += v
	}
	return r
}

func count(q Query, words []string) counts {
	at := make(map[string]int, len(q.Terms))
	for i, t := range q.Terms {
		at[t] = i
	}
	pairAt := make(map[[2]string]int, len(q.pairs))
	for i, p := range q.pairs {
		pairAt[p] = i
	}
	n := counts{terms: make([]int, len(q.Terms)), pairs: make([]int, len(q.pairs)), len: len(words)}
	for i, w := range words {
		if t, ok := at[w]; ok {
			n.terms[t]++
		}
		if i == 0 {
			continue
		}
		if p, ok := pairAt[[2]string{words[i-1], w}]; ok {
			n.pairs[p]++
		}
	}
	return n
}

func idf(docs, df int) float64 {
	return math.Log(1 + (float64(docs-min(df, docs))+.5)/(float64(df)+.5))
}

// score is BM25 times the matched share of the query: a text that says much of the query beats one that says one word often.
func (r *ranking) score(i int, c Candidate) Hit {
	n := r.counts[i]
	norm := k1 * (1 - b + b*float64(n.len)/r.st.AvgLen)
	hit := Hit{ID: c.ID}
	sum, share := 0.0, 0.0
	add := func(weight float64, tf int) {
		if tf == 0 {
			return
		}
		v := weight * float64(tf) * (k1 + 1) / (float64(tf) + norm)
		sum += v
		share += min(v, weight)
	}
	for t, tf := range n.terms {
		add(r.idf[t], tf)
		if tf > 0 {
			hit.Terms = append(hit.Terms, r.q.Terms[t])
		}
	}
	for p, tf := range n.pairs {
		add(r.pairIDF[p], tf)
	}
	if r.possible > 0 {
		hit.Score = sum * math.Pow(share/r.possible, shareExp)
	}
	return hit
}
