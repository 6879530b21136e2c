package index

import (
	"fmt"
	"maps"
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

// TestAFilterByTimeReachesBehindWhatScoresBetter has more texts outside of the times than a search looks at.
func TestAFilterByTimeReachesBehindWhatScoresBetter(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	const n = 2 * maxCandidates
	for i := range n {
		text := "lake lake lake"
		if i == 0 || i == n-1 {
			text = "the boat on the lake"
		}
		f.write(search.Passage, Doc{ID: fmt.Sprint("p", i), Owner: "a", At: int64(i+1) * 1e6, Text: text})
	}
	x := opened(t, f)
	caughtUp(t, x, f)
	for name, c := range map[string]struct {
		filter Filter
		want   []int64
	}{
		"from":    {Filter{From: n * 1e6}, []int64{n}},
		"until":   {Filter{Until: 2e6}, []int64{1}},
		"between": {Filter{From: 2e6, Until: 4e6}, []int64{2, 3}},
	} {
		v, err := x.View(t.Context(), search.Passage, Ask{Filter: c.filter, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		found, err := v.Candidates(t.Context(), search.Clues{Words: []string{"lake"}})
		if got := slices.Sorted(maps.Keys(found)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: candidates %v, %v", name, got, err)
		}
		v.Close()
	}
}

// TestTextsWithRelativesAloneLeaveRoomForTheWordsOfTheQuery: a relative may be rarer than the word that was asked for.
func TestTextsWithRelativesAloneLeaveRoomForTheWordsOfTheQuery(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	for i := range 4 * maxCandidates {
		text := "the boat on the lake"
		switch {
		case i%3 == 1:
			text = "the boat on the pond"
		case i%12 == 0:
			text = "from the pond to the lake"
		}
		f.write(search.Passage, Doc{ID: fmt.Sprint("p", i), Owner: "a", At: int64(i+1) * 1e6, Text: text})
	}
	x := opened(t, f)
	caughtUp(t, x, f)
	v, err := x.View(t.Context(), search.Passage, Ask{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	found, err := v.Candidates(t.Context(), search.Clues{Words: []string{"lake"}, Near: []search.Lesser{{Word: "pond", Weight: 1}}})
	of := map[string]int{}
	for seq := range found {
		switch i := seq - 1; {
		case i%3 == 1:
			of["pond"]++
		case i%12 == 0:
			of["both"]++
		default:
			of["lake"]++
		}
	}
	want := map[string]int{"both": 4 * maxCandidates / 12, "pond": maxAkin}
	want["both"]++ // the first
	want["lake"] = maxCandidates - want["both"] - want["pond"]
	if diff := cmp.Diff(want, of); diff != "" || err != nil {
		t.Errorf("%v, candidates (-want +got):\n%s", err, diff)
	}
}

// TestTheDayOfATextWithoutADateIsThatOfTheZone: half past eleven in the evening of New York is the next day in UTC.
func TestTheDayOfATextWithoutADateIsThatOfTheZone(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	at := time.Date(2026, 3, 5, 4, 30, 0, 0, time.UTC)
	f.write(search.Passage, Doc{ID: "undated", Owner: "a", At: at.UnixMicro(), Text: "the boat on the lake"})
	f.write(search.Passage, Doc{ID: "dated", Owner: "a", At: at.UnixMicro(), Text: "(11:30 pm on 1 March, 2026) Ingrid: the lake"})
	x := opened(t, f)
	caughtUp(t, x, f)
	noted := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for zone, undated := range map[*time.Location]int{
		time.UTC:                              5,
		time.FixedZone("New York", -5*3600):   4,
		time.FixedZone("Auckland", 13*3600):   5,
		time.FixedZone("Kiritimati", 14*3600): 5,
	} {
		v, err := x.View(t.Context(), search.Passage, Ask{Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		docs, err := v.Near(t.Context(), map[int64]bool{1: true, 2: true})
		got := map[string]int{}
		for _, d := range docs {
			got[d.ID] = d.Day
		}
		want := map[string]int{
			"dated":   search.DayOf(noted),
			"undated": search.DayOf(time.Date(2026, 3, undated, 0, 0, 0, 0, time.UTC)),
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, days (-want +got):\n%s", zone, err, diff)
		}
		v.Close()
	}
}
