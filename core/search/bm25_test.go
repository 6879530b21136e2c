package search

import (
	"math"
	"strings"
	"testing"
)

func TestRepetitionAndLengthCountMoreAmongLongTexts(t *testing.T) {
	t.Parallel()
	for mean, want := range map[float64][2]float64{
		0: {.6, .3}, 10: {.6, .3}, 30: {.6, .3}, 55: {.9, .525}, 80: {1.2, .75}, 500: {1.2, .75},
	} {
		if k1, b := BM25(mean); math.Abs(k1-want[0]) > 1e-9 || math.Abs(b-want[1]) > 1e-9 {
			t.Errorf("a mean of %v words: %v, %v", mean, k1, b)
		}
	}
	spread := func(length int) float64 {
		long := strings.Repeat("stone ", 3*length)
		hits := searched("lake", NoDay, corpus("lake "+strings.Repeat("stone ", length-1), "lake "+long, strings.Repeat("hill ", length)))
		return hits[0].Score / hits[1].Score
	}
	if short, long := spread(5), spread(60); long < 1.3*short {
		t.Errorf("a text three times as long counts %v less among notes, %v among pages", short, long)
	}
}

// TestTheWordsOfTheBestPagesCountMore: of turns, however long, and of short notes they count as before.
func TestTheWordsOfTheBestPagesCountMore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		texts []string
		want  float64
	}{
		"notes": {[]string{"A heron stood here.", "The heron flew away."}, feedbackWeigh},
		"pages": {[]string{long(90), long(120)}, feedbackPages},
		"turns": {[]string{
			"(1:56 pm on 8 May, 2023) Ann: " + long(90), "(1:57 pm on 8 May, 2023) Bob: " + long(90),
		}, feedbackWeigh},
	} {
		texts := Load(corpus(tt.texts...))
		r := newRanking(Analyse("heron", NoDay), texts.Stats(), texts)
		if got := r.feedbackWeight(map[int]float64{0: .5, 1: .5}); got != tt.want {
			t.Errorf("%s: %g, not %g", name, got, tt.want)
		}
	}
}
