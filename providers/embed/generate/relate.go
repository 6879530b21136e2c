package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"loci/providers/embed/internal/table"
)

// How near a word is to another one: as the vectors have it, the less so the looser WordNet relates the two.
const (
	mostSenses   = 3   // of a word in each part of speech
	mostRelated  = 64  // relatives of a word
	relatedFrom  = .2  // the cosine from which words that WordNet relates are relatives
	unknownFrom  = .6  // … and words that it doesn't
	leastNear    = .28 // what is less near is no relative
	relatedFloor = .3  // how near two words of one meaning are whose vectors have nothing in common
	loose        = .5  // of a relation other than meaning the same or being a kind of it
)

// kinship is what WordNet says of two words.
type kinship int

const (
	none kinship = iota
	loosely
	closely
)

// relating finds the relatives of words.
type relating struct {
	net    *wordNet
	m      *meanings
	stems  [][]string       // of each synset
	senses map[string][]int // the synsets of each stem
	proper map[string]bool  // stems that are only written with a capital
}

func newRelating(net *wordNet) *relating {
	r := &relating{net: net, stems: make([][]string, len(net.synsets)), senses: map[string][]int{}, proper: map[string]bool{}}
	common := map[string]bool{}
	for i, s := range net.synsets {
		for _, word := range s.words {
			lower := strings.ToLower(word)
			stem := indexed(lower)
			if stem == "" {
				continue
			}
			r.stems[i] = append(r.stems[i], stem)
			common[stem] = common[stem] || word == lower
		}
	}
	for _, lemma := range net.lemmas {
		stem := indexed(lemma)
		if stem == "" {
			continue
		}
		r.proper[stem] = !common[stem]
		for _, s := range net.senses[lemma] {
			if s.rank <= mostSenses {
				r.senses[stem] = append(r.senses[stem], s.synset)
			}
		}
	}
	return r
}

// kin returns the stems that WordNet relates to one. Opposites are no kin; names of people, places, days and months are
// kin only of what means the same.
func (r *relating) kin(stem string) map[string]kinship {
	out := map[string]kinship{}
	mark := func(k kinship, stems ...string) {
		for _, s := range stems {
			if k == closely || !r.proper[s] && !r.proper[stem] {
				out[s] = max(out[s], k)
			}
		}
	}
	var opposites []string
	for _, sense := range r.senses[stem] {
		mark(closely, r.stems[sense]...)
		for _, word := range letters(r.net.synsets[sense].gloss) {
			if s := indexed(word); s != "" {
				mark(loosely, s)
			}
		}
		for _, p := range r.net.synsets[sense].pointers {
			switch p.symbol {
			case "&", "+", `\`, "<", "$", "^", "=": // similar, derived, pertains to, participle, verb group, also, attribute
				mark(closely, r.stems[p.to]...)
			case "%p", "#p", "%s", "#s", "%m", "#m", "*", ">": // part, substance, member, entails, causes
				mark(loosely, r.stems[p.to]...)
			case "!":
				opposites = append(opposites, r.stems[p.to]...)
			case "@": // its sisters
				r.walk(p.to, "~", 1, func(s int) { mark(loosely, r.stems[s]...) })
			}
		}
		r.walk(sense, "@", 2, func(s int) { mark(loosely, r.stems[s]...) })
		r.walk(sense, "~", 3, func(s int) {
			if !r.proper[stem] {
				mark(closely, r.commons(s)...)
			}
		})
	}
	for _, s := range opposites {
		if out[s] != closely {
			out[s] = none
		}
	}
	return out
}

// commons returns the stems of a synset that are no names.
func (r *relating) commons(synset int) []string {
	return slices.DeleteFunc(slices.Clone(r.stems[synset]), func(s string) bool { return r.proper[s] })
}

// walk visits what relations of one kind lead to, so many steps away.
func (r *relating) walk(from int, symbol string, steps int, visit func(synset int)) {
	for _, p := range r.net.synsets[from].pointers {
		if p.symbol != symbol {
			continue
		}
		visit(p.to)
		if steps > 1 {
			r.walk(p.to, symbol, steps-1, visit)
		}
	}
}

// relatives returns the words that have relatives or are some, sorted, with the relatives of each, the nearest first.
func (r *relating) relatives() ([]string, [][]table.Relative) {
	of := make([][]table.Relative, len(r.m.stems))
	var wg sync.WaitGroup
	const workers = 2
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(of); i += workers {
				of[i] = r.relativesOf(i)
			}
		})
	}
	wg.Wait()
	used := map[string]int{}
	for i, relatives := range of {
		if len(relatives) > 0 {
			used[r.m.stems[i]] = 0
		}
		for _, one := range relatives {
			used[r.m.stems[one.Word]] = 0
		}
	}
	words := slices.Sorted(maps.Keys(used))
	for i, w := range words {
		used[w] = i
	}
	sorted := make([][]table.Relative, len(words))
	for i, w := range words {
		sorted[i] = of[r.m.row[w]]
		for j := range sorted[i] {
			sorted[i][j].Word = used[r.m.stems[sorted[i][j].Word]]
		}
	}
	return words, sorted
}

func (r *relating) relativesOf(row int) []table.Relative {
	known := make([]kinship, len(r.m.stems))
	excluded := map[int]bool{row: true}
	for stem, k := range r.kin(r.m.stems[row]) {
		if at, ok := r.m.row[stem]; ok {
			known[at] = k
			excluded[at] = excluded[at] || k == none
		}
	}
	name := r.proper[r.m.stems[row]]
	var out []table.Relative
	for i, v := range r.m.vectors {
		if known[i] == none && name {
			continue
		}
		cosine := float64(dot(r.m.vectors[row], v))
		if cosine < relatedFrom || known[i] == none && cosine < unknownFrom {
			continue
		}
		near := relatedFloor + (1-relatedFloor)*cosine
		if known[i] != closely {
			near *= loose
		}
		if near < leastNear || excluded[i] || known[i] == none && r.proper[r.m.stems[i]] {
			continue
		}
		out = append(out, table.Relative{Word: i, Near: byte(math.Round(table.MostNear * min(near, 1)))})
	}
	slices.SortFunc(out, func(a, b table.Relative) int { return cmp.Or(cmp.Compare(b.Near, a.Near), cmp.Compare(a.Word, b.Word)) })
	return out[:min(len(out), mostRelated)]
}
