package search

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEveryHitHasAReason(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(7, 1))
	words := strings.Fields("Ann Bob lake paint cello soup the when how many 3 May 2023 yesterday rain? tea. boat " +
		"cat. dog? 🎉 naïve Zoë")
	some := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = words[draw.IntN(len(words))]
		}
		return strings.Join(out, " ")
	}
	hits := 0
	for range 300 {
		texts := make([]string, 1+draw.IntN(8))
		for i := range texts {
			texts[i] = some(1 + draw.IntN(5))
			if draw.IntN(2) == 0 {
				texts[i] = "(8 May, 2023) " + words[draw.IntN(2)] + ": " + texts[i]
			}
		}
		query := some(1 + draw.IntN(4))
		for _, h := range searched(query, 19_500, corpus(texts...)) {
			hits++
			if w := h.Why; len(w.Terms)+len(w.Inherited) == 0 && !w.Speaker && !w.Date && w.Vector == 0 {
				t.Fatalf("%q finds %s of %q for no reason", query, h.ID, texts)
			}
		}
	}
	if hits == 0 {
		t.Fatal("nothing was found")
	}
}
