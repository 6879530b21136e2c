package search

import (
	"strings"
	"testing"
)

// share is how much of a query the best of some texts matches, where these words are common.
func share(query string, common string, texts ...string) float64 {
	docs := Load(corpus(texts...))
	st := docs.Stats()
	q := Analyse(query, NoDay).Weigh(func(word string) float64 {
		if strings.Contains(" "+common+" ", " "+word+" ") {
			return 0.5
		}
		return 0
	})
	best := 0.0
	for _, h := range Rank(q.Narrow(st.DF).Resolve(st.Speakers, st.DF), st, docs, Vectors{}, len(texts)) {
		best = max(best, h.Why.Own)
	}
	return best
}

func TestAnOrdinaryWordIsLittleOfWhatAQueryIsAbout(t *testing.T) {
	t.Parallel()
	texts := []string{"We took some pictures.", "The harbour is closed.", "Soup again."}
	chance, rare := share("pictures of the gondola", "pictures", texts...), share("pictures of the gondola", "", texts...)
	if chance >= rare {
		t.Errorf("an ordinary word counts %g, a rare one %g", chance, rare)
	}
	if all := share("harbour", "harbour", texts...); all < 0.95 {
		t.Errorf("a text with all words of a query matches %g of it", all)
	}
}

func TestAnUnknownNameIsMuchOfWhatAQueryIsAbout(t *testing.T) {
	t.Parallel()
	texts := []string{"Bob went sailing on the lake.", "The harbour is closed.", "Soup again."}
	word := share("where did the crew go sailing?", "", texts...)
	for query, want := range map[string]bool{
		"Where did Zoe go sailing?":                    true, // less than with any other unknown word
		"where did zoe go sailing?":                    false,
		"Zoe? She went sailing.":                       false, // how a sentence begins tells nothing
		"So: where did the crew go sailing?":           false,
		"It was: Crew. And where did they go sailing?": false,
		"Where did “Zoe” go sailing?":                  true,
		"Where did Bob and the crew go sailing":        false,
	} {
		if got := share(query, "", texts...); (got < word-0.01) != want {
			t.Errorf("%s: %g of it is matched, of an unknown word %g", query, got, word)
		}
	}
}
