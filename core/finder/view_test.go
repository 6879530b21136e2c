package finder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/finder"
	"loci/core/search"
	"loci/providers/embed"
)

// plain is a store whose views choose candidates and neither count nor compare vectors: an engine may bring no more.
type plain struct{ finder.Store }

func (p plain) View(ctx context.Context, s search.Scope, vectors []search.Vector) (search.View, error) {
	view, err := p.Store.View(ctx, s, vectors)
	if err != nil {
		return nil, err
	}
	return struct{ search.View }{view}, nil
}

// TestAViewThatOnlyChoosesCandidatesFindsWhatAWholeOneFinds: what is read as a whole is ranked alike to the last digit,
// what is sampled by what is counted among the candidates, which may change who comes last.
func TestAViewThatOnlyChoosesCandidatesFindsWhatAWholeOneFinds(t *testing.T) {
	t.Parallel()
	const few, many, differ = 300, 2500, 2
	for _, n := range []int{few, many} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := small(t, diary(rand.New(rand.NewPCG(3, 3)), n)...)
			archives, err := s.Archives().List(t.Context(), "", "", core.Page{})
			if err != nil || len(archives) != 1 {
				t.Fatalf("%d archives, %v", len(archives), err)
			}
			byWords := finder.New(finder.Config{Store: s.Store, Common: embed.Common})
			bare := newLibrary(s.Store, plain{s.Store}, embed.New()) // it is asked for vectors and has none
			for _, query := range []string{
				"zeppelin2", "Who saw zeppelin1 by the river?", "oboe storm bread", "candle", "Ann", "5 May 2023", "nothing",
				"What did Melanie say of the violin on 7 May 2023?",
			} {
				q, p := core.SearchQuery{Text: query}, core.PassageFilter{Archives: []core.ArchiveID{archives[0].ID}}
				want, err := byWords.Passages(t.Context(), q, p)
				if err != nil {
					t.Fatal(err)
				}
				got, err := bare.Passages(t.Context(), q, p)
				if err != nil || got.Partial {
					t.Fatalf("%s: partial %v, %v", query, got.Partial, err)
				}
				if diff := cmp.Diff(want, got); n == few && diff != "" {
					t.Errorf("%s (-whole view +plain view):\n%s", query, diff)
				}
				wanted, had := texts(want), texts(got)
				missing := slices.DeleteFunc(slices.Clone(wanted), func(text string) bool { return slices.Contains(had, text) })
				if len(had) != len(wanted) || len(had) > 0 && had[0] != wanted[0] || len(missing) > differ ||
					(query == "nothing") != (len(had) == 0) {
					t.Errorf("%s: a plain view gives\n%s\na whole one\n%s", query, strings.Join(had, "\n"), strings.Join(wanted, "\n"))
				}
			}
		})
	}
}

// diary is texts of few words, some with a speaker and a time, and a few with a word that is rare.
func diary(draw *rand.Rand, n int) []string {
	subjects := strings.Fields("lake boat oboe bread oven hill storm garden violin train letter bridge snow river candle")
	texts := make([]string, n)
	for i := range texts {
		var words []string
		for range 3 + draw.IntN(5) {
			words = append(words, subjects[draw.IntN(len(subjects))])
		}
		if i%100 == 0 {
			words = append(words, fmt.Sprintf("zeppelin%d", i/100%5))
		}
		texts[i] = strings.Join(words, " ") + "."
		if draw.IntN(3) > 0 {
			speaker := []string{"Ann", "Bob", "Melanie"}[draw.IntN(3)]
			texts[i] = fmt.Sprintf("(%d:%02d pm on %d May, 2023) %s: %s", 1+draw.IntN(2), draw.IntN(60), 1+draw.IntN(28), speaker, texts[i])
		}
	}
	return texts
}

func texts(r core.Results[core.PassageHit]) []string {
	out := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = h.Passage.Text
	}
	return out
}

// unready is a store whose views say how far the index is, or cannot be read at all.
type unready struct {
	finder.Store
	reach search.Reach
	err   error
}

func (u unready) View(ctx context.Context, s search.Scope, vectors []search.Vector) (search.View, error) {
	if u.err != nil {
		return nil, u.err
	}
	view, err := u.Store.View(ctx, s, vectors)
	return unreadyView{view, u.reach}, err
}

type unreadyView struct {
	search.View
	reach search.Reach
}

func (v unreadyView) Reach() search.Reach { return v.reach }
func (v unreadyView) Partial() bool       { return v.reach.Behind || v.reach.Building }

func TestAPartialSearchSaysWhetherTheIndexIsBeingBuilt(t *testing.T) {
	t.Parallel()
	s := small(t, "I drink tea.", "Tea grows in Assam.", "It rains.")
	for name, tt := range map[string]struct {
		reach    search.Reach
		err      error
		partial  bool
		building bool
	}{
		"whole":   {reach: search.Reach{Texts: 3}},
		"behind":  {search.Reach{Texts: 3, Behind: true}, nil, true, false},
		"built":   {search.Reach{Behind: true, Building: true}, nil, true, true},
		"damaged": {search.Reach{}, search.ErrUnavailable, true, true},
	} {
		f := finder.New(finder.Config{Store: unready{s.Store, tt.reach, tt.err}})
		found, err := f.Passages(t.Context(), core.SearchQuery{Text: "tea"}, core.PassageFilter{})
		if err != nil || found.Partial != tt.partial || found.Building != tt.building || len(found.Hits) != 2 {
			t.Errorf("%s: %d hits, partial %v, building %v: %v", name, len(found.Hits), found.Partial, found.Building, err)
		}
		if newest := "Tea grows in Assam."; tt.building && found.Hits[0].Passage.Text != newest {
			t.Errorf("%s: %q comes first, not the newest", name, found.Hits[0].Passage.Text)
		}
	}
}
