package finder

import (
	"errors"
	"testing"

	"loci/core/search"
)

func TestTheTextsOfDaysAreCountedOnceAndNoMoreThanThereAre(t *testing.T) {
	t.Parallel()
	asked, counted := 0, 0
	c := dayCounter{left: 100, known: map[search.Span]int{}, count: func(s search.Span, most int) (int, error) {
		n := min(40, most)
		asked, counted = asked+1, counted+n
		return n, nil
	}}
	sum := 0
	for i := range 16 { // a query names at most so many times
		day := 20_000 + i/2
		sum += c.on(search.Span{From: day, To: day})
	}
	if asked != 3 || counted != 100 || sum != 200 || c.err != nil {
		t.Errorf("%d counts went through %d texts, their sum is %d: %v", asked, counted, sum, c.err)
	}
	c = dayCounter{left: 100, known: map[search.Span]int{}, count: func(search.Span, int) (int, error) {
		asked++
		return 0, errors.New("no")
	}}
	if c.on(search.Span{}) != 0 || c.on(search.Span{From: 1, To: 1}) != 0 || c.err == nil || asked != 4 {
		t.Errorf("after an error: %d counts, %v", asked, c.err)
	}
}
