package search

import (
	"cmp"
	"math"
	"slices"
)

// When texts are alike. Chosen on the even-numbered texts of testdata/near.txt and user.txt of core/finder: there they tell
// 98 % of those that say again, or correct, what a note says, and 4 % of those that tell something else of the same thing.
const (
	alike   = 0.38 // from how much of their words on
	guessed = 0.5  // of a word that they do not share, so that two short texts need more in common
)

// Alike returns which of the texts that were found for a text say much the same, or tell something of the same thing that
// can hardly be true as well: their indices, the nearest first. A word counts the less the more of the found ones have it:
// where everything is about one person, that it is about this one tells nothing.
func Alike(text string, found []string) []int {
	df := map[string]float64{}
	in := make([][]string, len(found))
	for i, t := range found {
		in[i] = wordsOnce(t)
		for _, w := range in[i] {
			df[w]++
		}
	}
	weigh := func(words []string) (sum float64) {
		for _, w := range words {
			sum += 1 / max(df[w], 1)
		}
		return sum
	}
	type near struct {
		at    int
		share float64
	}
	var list []near
	words := wordsOnce(text)
	of := weigh(words)
	for i, other := range in {
		both := slices.DeleteFunc(slices.Clone(other), func(w string) bool { _, ok := slices.BinarySearch(words, w); return !ok })
		if share := weigh(both) / (math.Sqrt(of*weigh(other)) + guessed); share >= alike {
			list = append(list, near{i, share})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(b.share, a.share) })
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = n.at
	}
	return out
}

// wordsOnce returns the words of a text, each once, sorted.
func wordsOnce(text string) []string {
	words := Words(text)
	slices.Sort(words)
	return slices.Compact(words)
}
