package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core/search"
)

// TestNeighboursAreThoseOfTheLane compares what is read around candidates with the actual lanes: consecutive,
// interleaved with others, and with gaps.
func TestNeighboursAreThoseOfTheLane(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(4, 4))
	f := &facts{docs: map[string]Doc{}}
	for i := range 1200 {
		owner := "a"
		if i > 400 && draw.IntN(3) == 0 || i > 1000 {
			owner = "b"
		}
		f.write(search.Passage, Doc{ID: fmt.Sprint("p", i), Owner: owner, At: int64(i) * 1e6, Text: said(draw)})
	}
	for range 60 {
		f.remove("passage", fmt.Sprint("p", 200+draw.IntN(900)))
	}
	x := opened(t, f)
	caughtUp(t, x, f)
	lanes := map[string][]Doc{}
	for _, d := range f.sorted() {
		lanes[d.Owner] = append(lanes[d.Owner], d)
	}
	for round := range 40 {
		candidates, want := map[int64]bool{}, map[string]bool{} // to whether it may be returned
		for range 1 + draw.IntN(30) {
			lane := lanes[[]string{"a", "b"}[draw.IntN(2)]]
			at := draw.IntN(len(lane))
			candidates[lane[at].Seq] = true
			for i := max(0, at-around); i <= min(len(lane)-1, at+around); i++ {
				want[lane[i].ID] = want[lane[i].ID] || max(at-i, i-at) <= returned
			}
		}
		m, err := x.View(t.Context(), search.Passage, Ask{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		docs, err := m.Near(t.Context(), candidates)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, d := range docs {
			got[d.ID] = d.Allowed
		}
		if diff := cmp.Diff(want, got); diff != "" || len(docs) != len(got) || !slices.IsSortedFunc(docs, byKey) {
			t.Fatalf("round %d, %d docs (-want +got):\n%s", round, len(docs), diff)
		}
		m.Close()
	}
}
