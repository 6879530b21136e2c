package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"loci/providers/embed/internal/table"
)

// vocabulary is the stems that get a row, and where their glosses use them.
type vocabulary struct {
	exceptions [][2]string // sorted by form
	stems      []string    // sorted
	row        map[string]int
	freq       []int   // of each stem, in glosses and tagged texts
	glosses    [][]int // of each synset: the rows its gloss uses, each once, in order
	candidates int     // stems before the cut
	total      int     // of freq over all candidates
}

func newVocabulary(net *wordNet, size int) *vocabulary {
	v := &vocabulary{exceptions: exceptions(net), row: map[string]int{}}
	base := map[string]string{}
	for _, e := range v.exceptions {
		base[e[0]] = e[1]
	}
	key := keys(base)
	glosses := make([][]string, len(net.synsets))
	used := map[string]int{}
	for i, s := range net.synsets {
		for _, word := range letters(s.gloss) {
			if k := key(word); k != "" {
				glosses[i] = append(glosses[i], k)
				used[k]++
			}
		}
	}
	freq := stems(net, used)
	v.candidates = len(freq)
	for stem, n := range freq {
		v.stems = append(v.stems, stem)
		v.total += n
	}
	slices.SortFunc(v.stems, func(a, b string) int { // of equally frequent stems, keep the shorter: fewer of them are technical
		return cmp.Or(cmp.Compare(freq[b], freq[a]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	v.stems = v.stems[:min(size, len(v.stems))]
	slices.Sort(v.stems)
	for i, stem := range v.stems {
		v.row[stem] = i
		v.freq = append(v.freq, freq[stem])
	}
	for _, gloss := range glosses {
		v.glosses = append(v.glosses, v.distinct(gloss))
	}
	return v
}

// stems returns how often each stem of a lemma is used. Lemmas are base forms and are only stemmed. So the verb "found"
// keeps its own row, which "founded" reaches, while "found" is read as a form of "find".
func stems(net *wordNet, used map[string]int) map[string]int {
	freq := map[string]int{}
	for _, lemma := range net.lemmas {
		stem := lemmaStem(lemma)
		if stem == "" {
			continue
		}
		if _, ok := freq[stem]; !ok {
			freq[stem] = used[stem]
		}
		freq[stem] += net.tags[lemma]
	}
	return freq
}

func lemmaStem(lemma string) string {
	return table.Key(lemma, func(word string) string { return word })
}

// distinct returns the rows of words, each once.
func (v *vocabulary) distinct(words []string) []int {
	var rows []int
	for _, w := range words {
		if row, ok := v.row[w]; ok {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// rarity is the self-information of each stem in eighths of a bit.
func (v *vocabulary) rarity() []byte {
	out := make([]byte, len(v.freq))
	for i, n := range v.freq {
		bits := math.Log2(float64(v.total) / float64(max(n, 1)))
		out[i] = byte(min(max(math.Round(8*bits), 0), 255))
	}
	return out
}

// exceptions returns the irregular forms that the stemmer doesn't lead to their base form. A form used more often as its
// own word than its base form is ("number", "data") stays as it is.
func exceptions(net *wordNet) [][2]string {
	seen := map[string]bool{}
	var out [][2]string
	for _, f := range net.forms {
		form, base := f[0], f[1]
		if seen[form] || form == base || !table.Plain(form) || !table.Plain(base) {
			continue
		}
		seen[form] = true
		if table.StopWord(form) || table.StopWord(base) || english.Stem(form, true) == english.Stem(base, true) ||
			net.tags[form] > net.tags[base] {
			continue
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// keys returns a cached function from a word to its stem.
func keys(base map[string]string) func(word string) string {
	known := map[string]string{}
	lookup := func(word string) string { return cmp.Or(base[word], word) }
	return func(word string) string {
		k, ok := known[word]
		if !ok {
			k = table.Key(word, lookup)
			known[word] = k
		}
		return k
	}
}

// letters splits a gloss into lower-case runs of letters and digits.
func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	})
}
