package search

import (
	"slices"
	"strings"
	"unicode"
)

// How far a word that occurs nowhere may be from the one that was meant.
const (
	shortestTypo = 5 // letters: shorter words have too many neighbours
	longTypo     = 8 // letters from which two mistakes are allowed, and names are corrected: Marta is not Maria
	maxTypos     = 4 // words of a query that are looked up among all words
)

// Spellings returns the other spellings of the query's words, as the index has them: with ue for ü and ö for oe.
func (q *Query) Spellings() []string {
	var out []string
	for i := range q.terms {
		out = append(out, q.terms[i].spellings()...)
	}
	return out
}

var umlauts, digraphs = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue"), strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

func (t *term) spellings() []string {
	var out []string
	for _, r := range []*strings.Replacer{umlauts, digraphs} {
		if other := r.Replace(t.surface); other != t.surface {
			if w := indexed(other); w != "" && w != t.word {
				out = append(out, w)
			}
		}
	}
	return out
}

// Check tells a query which words in lower case are known to be correct. Others of enough letters may be typos.
func (q Query) Check(known func(word string) bool) Query {
	q.known = known
	return q
}

// doubtful reports whether a word may be a typo.
func (q *Query) doubtful(t *term) bool { return q.known != nil && t.mayBeTypo() && !q.known(t.surface) }

// Respell replaces words that occur nowhere by what was probably meant: another spelling, or for a doubtful word the
// nearest of those that like returns, in any order.
func (q Query) Respell(df map[string]int, like func(word string) []string) Query {
	meant := map[string]string{}
	typos := 0
	for i := range q.terms {
		t := &q.terms[i]
		if df[t.word] > 0 {
			continue
		}
		if at := slices.IndexFunc(t.spellings(), func(w string) bool { return df[w] > 0 }); at >= 0 {
			meant[t.word] = t.spellings()[at]
			continue
		}
		if typos == maxTypos || !q.doubtful(t) {
			continue
		}
		typos++
		if w := nearest(t.word, like(t.word)); w != "" {
			meant[t.word] = w
		}
	}
	if len(meant) == 0 {
		return q
	}
	return q.with(meant)
}

// mayBeTypo reports words of letters that are long enough to say what was meant.
func (t *term) mayBeTypo() bool {
	letters := 0
	for _, r := range t.surface {
		if !unicode.IsLetter(r) {
			return false
		}
		letters++
	}
	return letters >= longTypo || letters >= shortestTypo && !t.capital
}

// with replaces words of the query.
func (q Query) with(meant map[string]string) Query {
	old := q.terms
	q.terms = nil
	for _, t := range old {
		if w := meant[t.word]; w != "" {
			t.word = w
		}
		if i := slices.IndexFunc(q.terms, func(o term) bool { return o.word == t.word }); i >= 0 {
			q.terms[i].times += t.times
			continue
		}
		q.terms = append(q.terms, t)
	}
	q.pairs = slices.Clone(q.pairs)
	for i := range q.pairs {
		for j, w := range q.pairs[i] {
			if m := meant[w]; m != "" {
				q.pairs[i][j] = m
			}
		}
	}
	return q
}

// nearest returns the word that the fewest mistakes separate from another; of several, the first in order.
func nearest(word string, among []string) string {
	of := []rune(word)
	most := 1
	if len(of) >= longTypo {
		most = 2
	}
	best := ""
	for _, w := range among {
		if w == "" || w[0] != word[0] { // people seldom mistake the first letter
			continue
		}
		n := mistakes(of, []rune(w), most)
		if n < most || n == most && (best == "" || w < best) {
			best, most = w, n
		}
	}
	return best
}

// mistakes counts the letters that were left out, added, exchanged with the next one or mistaken between two words, and
// returns more than most once there are more.
func mistakes(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	row := func() []int { return make([]int, len(b)+1) }
	before, last, now := row(), row(), row()
	for j := range last {
		last[j] = j
	}
	for i := range a {
		now[0] = i + 1
		least := now[0]
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
			least = min(least, now[j+1])
		}
		if least > most {
			return least
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
