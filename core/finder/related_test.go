package finder_test

import (
	"fmt"
	"slices"
	"testing"

	"loci/core"
	"loci/core/finder"
	"loci/providers/embed"
)

// TestRelativesAreFoundAmongFewTextsAndAmongThousands: where not all texts are ranked, relatives select candidates too.
func TestRelativesAreFoundAmongFewTextsAndAmongThousands(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 1500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			notes := make([]string, n)
			for i := range notes {
				notes[i] = fmt.Sprintf("note%d on the shelf", i)
			}
			notes[n/2] = "The car failed its inspection."
			s := small(t, notes...)
			f := finder.New(finder.Config{Store: s.Store, Related: embed.Related})
			got, err := f.Passages(t.Context(), core.SearchQuery{Text: "automobile"}, core.PassageFilter{})
			if err != nil || len(got.Hits) == 0 || got.Hits[0].Passage.Text != notes[n/2] {
				t.Fatalf("%+v, %v", got, err)
			}
			if h := got.Hits[0]; len(h.Words) != 0 || !slices.Equal(h.Why.Also, []string{"car"}) {
				t.Errorf("it was found by %q, also %q", h.Words, h.Why.Also)
			}
			got, err = f.Passages(t.Context(), core.SearchQuery{Text: "kombucha"}, core.PassageFilter{})
			if err != nil || len(got.Hits) != 0 {
				t.Errorf("what nothing answers finds %+v, %v", got.Hits, err)
			}
		})
	}
}
