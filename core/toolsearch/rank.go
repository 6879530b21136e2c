// Package toolsearch stands one constant tool in place of many: with it a model finds those that people and servers bring, and calls
// them.
//
// Promises: it is the same however many tools there are and whatever they are; what is called through it is a call of the tool itself to
// everybody but the model; which tools are found follows from their own words alone.
//
// Layer 1: it imports core and core/search.
package toolsearch

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"loci/core"
	"loci/core/search"
)

// What a word of a tool counts, by where it stands, and a relative of a word that is searched for.
const (
	inName      = 3
	inParameter = 1
	inNote      = .5 // the description of a parameter
	asRelative  = .4
	asBeginning = .5   // a word that a word of a tool begins with, as those of products do
	leastPrefix = 4    // letters
	mostKin     = 12   // relatives of a word
	mostRead    = 2000 // bytes of one text of a tool
	mostNames   = 50   // parameters of a tool
)

// card is what is searched of a tool.
type card struct {
	weights map[string]float64 // of its words
	length  float64
}

func cardOf(spec core.ToolSpec) card {
	c := card{weights: map[string]float64{}}
	add := func(text string, weight float64) {
		for _, w := range search.Words(text) {
			c.weights[w] += weight
			c.length += weight
		}
	}
	add(spec.Name, inName)
	add(start(spec.Description), 1)
	notes := parameters(spec.Parameters)
	names := slices.Sorted(maps.Keys(notes))
	for _, name := range names[:min(len(names), mostNames)] {
		add(start(name), inParameter)
		add(start(notes[name]), inNote)
	}
	return c
}

// start is as much of a text as is searched.
func start(text string) string { return text[:min(len(text), mostRead)] }

// parameters are the names of a schema's parameters, with what is said of each.
func parameters(schema json.RawMessage) map[string]string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	out := map[string]string{}
	for name, text := range s.Properties {
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(text, &p) // a parameter can be described by a truth, which says nothing
		out[name] = p.Description
	}
	return out
}

// Rank returns the positions of the tools that fit best what is searched for, the best first, at most so many; none of which no word
// fits. Related returns words that mean nearly the same as another; nil: none is known.
func Rank(specs []core.ToolSpec, query string, most int, related func(word string) []search.Relative) []int {
	cards, in, mean := make([]card, len(specs)), map[string]int{}, 0.0
	for i := range specs {
		cards[i] = cardOf(specs[i])
		mean += cards[i].length / float64(len(specs))
		for w := range cards[i].weights {
			in[w]++
		}
	}
	scores := make([]float64, len(specs))
	k1, b := search.BM25(mean)
	score := func(i int, word string, worth float64) float64 {
		f := cards[i].weights[word]
		if f == 0 {
			return 0
		}
		n, df := float64(len(specs)), float64(in[word])
		idf := math.Log(1 + (n-df+.5)/(df+.5))
		return worth * idf * f * (k1 + 1) / (f + k1*(1-b+b*cards[i].length/mean))
	}
	words := search.Words(query)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		kin := []search.Relative{}
		if related != nil {
			kin = related(w)
			kin = slices.Clip(kin[:min(len(kin), mostKin)])
		}
		for longer := range in {
			if len(w) >= leastPrefix && len(longer) > len(w) && strings.HasPrefix(longer, w) {
				kin = append(kin, search.Relative{Word: longer, Near: asBeginning / asRelative})
			}
		}
		for i := range specs {
			best := score(i, w, 1)
			for _, r := range kin {
				best = max(best, score(i, r.Word, asRelative*r.Near))
			}
			scores[i] += best
		}
	}
	var found []int
	for i, s := range scores {
		if s > 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found[:min(len(found), most)]
}
