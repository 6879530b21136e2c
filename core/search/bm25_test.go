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
