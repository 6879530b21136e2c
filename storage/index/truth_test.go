package index

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core/finder"
	"loci/core/search"
)

func opened(t *testing.T, f Source) *Index {
	t.Helper()
	return openedIn(t, t.TempDir(), f)
}

func openedIn(tb testing.TB, dir string, f Source) *Index {
	tb.Helper()
	x, err := Open(tb.Context(), Config{
		Path: filepath.Join(dir, "index.db"), Home: "h", Open: open, Source: f, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(x.Close)
	return x
}

func caughtUp(t *testing.T, x *Index, f Source) {
	t.Helper()
	_, last, err := f.Bounds(t.Context())
	if err != nil || !x.Wait(t.Context(), last, time.Minute) {
		t.Fatalf("the index does not catch up: %v", err)
	}
}

func ask(t *testing.T, x *Index, query string, f Filter) []search.Hit {
	t.Helper()
	hits, _, err := match(t.Context(), x, search.Analyse(query, 19_500), f, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// match ranks what is in scope by words, and returns which change the index had.
func match(ctx context.Context, x *Index, q search.Query, f Filter, explain int) ([]search.Hit, int64, error) {
	v, err := x.View(ctx, search.Passage, Ask{Filter: f, Zone: time.UTC})
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	hits, err := finder.Rank(ctx, whole{v}, q, explain)
	return hits, v.Applied(), err
}

// wholeScope is the size up to which core/finder ranks all texts of a scope.
const wholeScope = 1000

// whole is a view that misses nothing.
type whole struct{ *View }

func (whole) Partial() bool { return false }

// reference ranks documents of one archive using only core/search.
func reference(query string, docs []Doc) []search.Hit {
	in := make([]search.Doc, len(docs))
	for i, d := range docs {
		at := time.UnixMicro(d.At).UTC()
		r := search.Read(search.Source{Text: d.Text, At: at})
		in[i] = search.Doc{
			ID: d.ID, Seq: d.Seq, Lane: 1, Who: search.Voice(r.Speaker, ""), Minute: r.Minute, Day: search.DayOf(at), Flags: r.Flags,
			Len: len(r.Words), Words: r.Store(), Spans: r.Spans, Allowed: true,
		}
		if r.Flags&search.Dated != 0 {
			in[i].Day = search.DayOfMinute(r.Minute)
		}
	}
	texts := search.Load(in)
	st := texts.Stats()
	return search.Rank(search.Analyse(query, 19_500).Narrow(st.DF).Resolve(st.Speakers, st.DF), st, texts, search.Vectors{}, 1000)
}

var subjects = strings.Fields("lake boat oboe bread oven hill storm garden violin train letter bridge snow river candle 東京タワー")

func said(draw *rand.Rand) string {
	words := make([]string, 2+draw.IntN(5))
	for i := range words {
		words[i] = subjects[draw.IntN(len(subjects))]
	}
	text := strings.Join(words, " ") + []string{".", "?", " yesterday.", " on 5 May 2023."}[draw.IntN(4)]
	if draw.IntN(4) > 0 {
		text = fmt.Sprintf(
			"(%d:%02d pm on %d May, 2023) %s: ",
			1+draw.IntN(2),
			draw.IntN(60),
			1+draw.IntN(3),
			[]string{"Ann", "Bob", "Melanie"}[draw.IntN(3)],
		) + text
	}
	return text
}

// TestAfterAnyHistoryTheRankingIsThatOfWhatIsStored interleaves inserts, updates, deletes and returns with searches.
func TestAfterAnyHistoryTheRankingIsThatOfWhatIsStored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(seed, 1))
			f := &facts{docs: map[string]Doc{}}
			x := opened(t, f)
			var gone []Doc
			made, other := 0, "b"
			for round := range 150 {
				all := f.sorted()
				switch n := draw.IntN(10); {
				case n < 6 || len(all) == 0:
					for range 1 + draw.IntN(5) {
						made++
						owner := []string{"a", "a", "a", other}[draw.IntN(4)]
						f.write(
							search.Passage,
							Doc{
								ID:    fmt.Sprint("p", made),
								Owner: owner,
								At:    int64(made) * 1e6,
								Tags:  []string{subjects[draw.IntN(3)]},
								Text:  said(draw),
							},
						)
					}
				case n == 6:
					d := all[draw.IntN(len(all))]
					d.Text = said(draw)
					f.write(search.Passage, d)
				case n == 7 && len(gone) > 0: // what a rewind removed comes back
					f.write(search.Passage, gone[0])
					gone = gone[1:]
				case n == 8 && draw.IntN(5) == 0:
					f.remove("archive", other)
					gone = slices.DeleteFunc(gone, func(d Doc) bool { return d.Owner == other })
					other += "b" // a deleted archive doesn't come back
				default:
					d := all[draw.IntN(len(all))]
					f.remove("passage", d.ID)
					gone = append(gone, d)
				}
				x.Nudge()
				if round%10 != 9 {
					continue
				}
				caughtUp(t, x, f)
				var own []Doc
				for _, d := range f.sorted() {
					if d.Owner == "a" {
						own = append(own, d)
					}
				}
				for _, query := range []string{
					"lake", "boat on the lake", "What did Mel play yesterday?", "violin letter on 5 May 2023", "Bob", "東京",
					"how many trains?", "nothing",
				} {
					want, got := reference(query, own), ask(t, x, query, Filter{Owners: []string{"a"}})
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("round %d, %q (-want +got):\n%s", round, query, diff)
					}
				}
			}
			counters(t, x, f)
		})
	}
}

// counters compares the index's running counts with those of an index built from the current facts.
func counters(t *testing.T, x *Index, f *facts) {
	t.Helper()
	fresh := opened(t, f)
	caughtUp(t, fresh, f)
	for _, query := range []string{ // except scopes, which are numbered in order of arrival
		`SELECT s.part || ' ' || o.key || ' ' || s.docs FROM speakers_passage s JOIN scopes_passage o ON o.num = s.owner ORDER BY 1`,
		`SELECT key || ' ' || docs || ' ' || words FROM scopes_passage WHERE docs <> 0 ORDER BY 1`,
		`SELECT key || ' ' || value FROM marks WHERE key LIKE 'docs_%' OR key LIKE 'len_%' ORDER BY 1`,
		`SELECT seq || ' ' || tag FROM tags_passage ORDER BY 1`,
	} {
		var want, got []string
		for _, p := range []struct {
			x    *Index
			rows *[]string
		}{{fresh, &want}, {x, &got}} {
			if err := p.x.files.r.SelectContext(t.Context(), p.rows, query); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-fresh +followed):\n%s", query, diff)
		}
	}
	if diff := cmp.Diff(postingsOf(t, fresh), postingsOf(t, x)); diff != "" {
		t.Errorf("postings (-fresh +followed):\n%s", diff)
	}
}

// TestTheMeanLengthIsThatOfWhatIsSearched: an archive of notes beside one of papers is ranked as notes are, and the
// candidates in both are chosen as the texts there are ranked.
func TestTheMeanLengthIsThatOfWhatIsSearched(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	for i, text := range []string{"lake boat", "lake lake lake", strings.Repeat("lake boat oboe bread ", 50)} {
		f.write(search.Passage, Doc{ID: fmt.Sprint("p", i), Owner: []string{"notes", "notes", "papers"}[i], Text: text})
	}
	x := opened(t, f)
	caughtUp(t, x, f)
	repeated := func(mean float64, owners ...string) float32 {
		v, err := x.View(t.Context(), search.Passage, Ask{Filter: Filter{Owners: owners}})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if got := v.Reach().AvgWords; math.Abs(got-mean) > 1e-9 {
			t.Errorf("%q: a mean length of %v, not %v", owners, got, mean)
		}
		lists, err := v.lists(t.Context(), []string{"lake"})
		if err != nil {
			t.Fatal(err)
		}
		return lists[0].values[5] / lists[0].values[1]
	}
	short, long, both := repeated(2.5, "notes"), repeated(200, "papers"), repeated(205./3)
	if short >= both || both >= long {
		t.Errorf("five of a word count %v times one in notes, %v in papers, %v in both", short, long, both)
	}
	f.remove("passage", "p1")
	x.Nudge()
	caughtUp(t, x, f)
	repeated(2, "notes")
	repeated(0, "none")
}

func TestATitleIsNotCountedAsASpeaker(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	f.write(search.Passage, Doc{ID: "title", Owner: "a", Text: "Information: on the needs of libraries"})
	f.write(search.Passage, Doc{ID: "turn", Owner: "a", Text: "(8 May 2023) Ingrid: the lake"})
	f.write(search.Passage, Doc{ID: "gone", Owner: "a", Text: "Inquiry: of the lake"})
	x := opened(t, f)
	caughtUp(t, x, f)
	f.remove("passage", "gone")
	x.Nudge()
	caughtUp(t, x, f)
	v, err := x.View(t.Context(), search.Passage, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	got, err := v.Speakers(t.Context(), []string{"in"})
	if diff := cmp.Diff(map[string]int{"ingrid": 1}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTyposAreReadAsWordsOfALargeArchive: where candidates are counted, as in a small one, which is ranked as a whole.
func TestTyposAreReadAsWordsOfALargeArchive(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	for i := range wholeScope + 10 {
		f.write(search.Passage, Doc{ID: fmt.Sprint("p", i), Owner: "a", Text: fmt.Sprint("lake v", i)})
	}
	f.write(search.Passage, Doc{ID: "soup", Owner: "a", Text: "Goulash with Müller"})
	x := opened(t, f)
	caughtUp(t, x, f)
	for _, query := range []string{"golash", "goulahs", "Mueller"} {
		hits, _, err := match(t.Context(), x, search.Analyse(query, search.NoDay).Check(func(string) bool { return false }), Filter{}, 3)
		if err != nil || len(hits) != 1 || hits[0].ID != "soup" {
			t.Errorf("%s finds %+v, %v", query, hits, err)
		}
	}
}

// postingsOf reads the postings of all terms except scopes: it doesn't matter where blocks are stored, but each must
// exist once.
func postingsOf(t *testing.T, x *Index) map[string]string {
	t.Helper()
	m, err := x.View(t.Context(), search.Passage, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var terms []string
	if err := m.tx.SelectContext(t.Context(), &terms, `SELECT term FROM terms_passage WHERE term > char(2)`); err != nil {
		t.Fatal(err)
	}
	lists, err := m.lists(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	df, err := m.Frequencies(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, l := range lists {
		n, before := 0, int64(-1)
		for _, b := range l.blocks {
			if b.number <= before {
				t.Errorf("%q: block %d after %d", terms[i], b.number, before)
			}
			before = b.number
			n += b.size()
			out[terms[i]] += fmt.Sprint(b.number, b.unpacked(), " ")
		}
		if n != df[terms[i]] || n == 0 {
			t.Errorf("%q stands in %d, counted %d", terms[i], n, df[terms[i]])
		}
	}
	return out
}

// TestALargeArchiveIsSearchedThroughCandidates compares the result with a ranking over all of the archive.
func TestALargeArchiveIsSearchedThroughCandidates(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(9, 9))
	f := &facts{docs: map[string]Doc{}}
	const many = 3 * wholeScope
	for i := range many {
		text := said(draw) + fmt.Sprintf(" w%d v%d", draw.IntN(300), draw.IntN(300))
		f.write(
			search.Passage,
			Doc{ID: fmt.Sprint("p", i), Owner: "a", At: int64(i) * 1e6, Tags: []string{subjects[draw.IntN(3)]}, Text: text},
		)
	}
	x := opened(t, f)
	caughtUp(t, x, f)
	docs := f.sorted()
	same := 0
	for i := range 30 {
		query := fmt.Sprintf("%s w%d v%d", subjects[i%5], i, i*7%300)
		if i%3 == 0 {
			query += " Melanie"
		}
		want, got := reference(query, docs), ask(t, x, query, Filter{Owners: []string{"a"}})
		if len(got) == 0 || got[0].ID != want[0].ID {
			t.Errorf("%q: the best is not found", query)
			continue
		}
		ids := map[string]bool{}
		for _, h := range want[:10] {
			ids[h.ID] = true
		}
		for _, h := range got[:min(10, len(got))] {
			if ids[h.ID] {
				same++
			}
		}
	}
	if same < 270 {
		t.Errorf("only %d of the 300 best are found", same)
	}
	for _, h := range ask(t, x, "lake w1", Filter{Owners: []string{"a"}, Tags: []string{"lake"}}) {
		if d := f.docs[h.ID]; d.Tags[0] != "lake" {
			t.Errorf("%s passes the filter", h.ID)
		}
	}
	for query, filter := range map[string]Filter{
		"5 May 2023":      {Owners: []string{"a"}},
		"Melanie":         {},
		"lake":            {Until: 100e6},
		"lake oboe Bob":   {Owners: []string{"a", "none"}, From: 100e6},
		`"lake"`:          {Tags: []string{"lake", "boat"}, AllTags: false},
		"what when where": {Owners: []string{"none"}},
	} {
		hits := ask(t, x, query, filter)
		if len(hits) == 0 && query != "what when where" {
			t.Errorf("%q finds nothing", query)
		}
		for _, h := range hits {
			if d := f.docs[h.ID]; filter.Until != 0 && d.At >= filter.Until || d.At < filter.From {
				t.Errorf("%q: %s passes the filter", query, h.ID)
			}
		}
	}
}

func TestSearchesRunWhileTheIndexChanges(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	x := opened(t, f)
	var wg sync.WaitGroup
	wg.Go(func() {
		draw := rand.New(rand.NewPCG(3, 3))
		for i := range 300 {
			f.write(search.Passage, Doc{ID: fmt.Sprint("p", i%200), Owner: "a", Text: said(draw), Seq: int64(i%200 + 1)})
			if i%7 == 0 {
				f.remove("passage", fmt.Sprint("p", i/2))
			}
			x.Nudge()
		}
	})
	for n := range 4 {
		wg.Go(func() {
			for range 25 {
				if _, _, err := match(t.Context(), x, search.Analyse(subjects[n]+" Ann", search.NoDay), Filter{}, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	caughtUp(t, x, f)
	if got, want := len(ask(t, x, "lake", Filter{})), len(reference("lake", f.sorted())); got != want {
		t.Errorf("%d hits, want %d", got, want)
	}
}
