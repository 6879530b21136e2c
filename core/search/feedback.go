package search

import (
	"cmp"
	"slices"
	"strings"
)

// feedback returns the words of the best texts and their neighbours as terms, weighted by how specific they are to them.
func (r *ranking) feedback(scores []float64) []weightedTerm {
	weights := r.examples(scores)
	if len(weights) == 0 {
		return nil
	}
	mass := map[string]float64{}
	var order []string
	for _, i := range sortedKeys(weights) {
		length := float64(max(r.docs[i].Len, 1))
		for _, token := range r.texts.of(i) {
			w := r.texts.words[token>>1]
			if mass[w] == 0 {
				order = append(order, w)
			}
			mass[w] += weights[i] / length
		}
	}
	names := r.names()
	order = slices.DeleteFunc(order, func(w string) bool { return names[w] })
	df := r.st.DF
	if r.st.More != nil {
		df = r.st.More(order)
	}
	out := make([]weightedTerm, 0, len(order))
	for _, w := range order {
		v := r.idf(max(df[w], 1))
		out = append(out, weightedTerm{word: w, weight: v * mass[w], value: v})
	}
	slices.SortStableFunc(out, func(a, b weightedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	out = out[:min(len(out), feedbackTerms)]
	if len(out) == 0 || out[0].weight <= 0 {
		return nil
	}
	top, weigh := out[0].weight, r.feedbackWeight(weights)
	for i := range out {
		out[i].weight = weigh * out[i].weight / top
		out[i].value *= out[i].weight
	}
	return out
}

// feedbackWeight returns how much the words of these examples count.
func (r *ranking) feedbackWeight(examples map[int]float64) float64 {
	for i := range examples {
		if r.sess[i] >= 0 {
			return feedbackWeigh
		}
	}
	return feedbackWeigh + pages(r.st.AvgLen)*(feedbackPages-feedbackWeigh)
}

// examples returns weights for the best docs and, lower, for their neighbours.
func (r *ranking) examples(scores []float64) map[int]float64 {
	order := make([]int, 0, len(scores))
	for i, s := range scores {
		if s > 0 && r.own[i] && r.docs[i].Allowed {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.compare(scores, a, b) })
	order = order[:min(len(order), feedbackDocs)]
	sum := 0.0
	for _, i := range order {
		sum += scores[i]
	}
	weights := map[int]float64{}
	for _, i := range order {
		w := scores[i] / sum
		weights[i] += w
		if r.link[i] {
			weights[i-1] += feedbackNear * w
		}
		if i+1 < len(r.docs) && r.link[i+1] {
			weights[i+1] += feedbackNear * w
		}
	}
	return weights
}

func sortedKeys(m map[int]float64) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// names returns the words that name speakers, or that the query uses for them.
func (r *ranking) names() map[string]bool {
	names := map[string]bool{}
	seen := map[speaker]bool{}
	for i := range r.docs {
		if s := r.docs[i].speaker(); !seen[s] {
			seen[s] = true
			for _, part := range r.speakerParts(i) {
				names[indexed(part)] = true
			}
		}
	}
	for _, t := range r.q.terms {
		if len(t.name) > 0 {
			names[t.word] = true
		}
	}
	return names
}
