package finder_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/search"
)

//go:embed testdata/near.txt
var nearText string

//go:embed testdata/user.txt
var userText string

// nearShare is how many, in percent, of the texts that tell of the same thing as a note find it, of those that tell
// something else of it find any, and of the notes themselves find another one.
type nearShare struct{ same, other, notes int }

// TestWhatIsKeptTwiceIsTold looks, for each text, whether one of the notes that a search finds for it is alike.
func TestWhatIsKeptTwiceIsTold(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]struct {
		text  string // of testdata
		notes string // … where the notes stand
		want  nearShare
	}{
		"notes":    {nearText, notesText, nearShare{95, 2, 0}},
		"one user": {userText, userText, nearShare{100, 4, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNearNotes(t, set.notes)
			type tally struct{ asked, told int }
			counts := map[string]*[2]tally{}
			count := func(kind string, told bool) {
				if counts[kind] == nil {
					counts[kind] = &[2]tally{}
				}
				all, odd := &counts[kind][0], &counts[kind][1]
				for i, c := range []*tally{all, odd} {
					if i == 1 && all.asked%2 == 1 { // this one has an even number, from 0 on
						continue
					}
					c.asked++
					if told {
						c.told++
					}
				}
			}
			for line := range strings.Lines(set.text) {
				fields := strings.Split(strings.TrimSpace(line), " | ")
				if len(fields) != 3 || line[0] == '#' {
					continue
				}
				of := slices.IndexFunc(n.notes, func(p *core.Passage) bool { return strings.HasPrefix(p.Text, fields[1]) })
				if of < 0 {
					t.Fatalf("there is no note %q", fields[1])
				}
				told := n.alike(fields[2])
				right := len(told) > 0
				if fields[0] == "same" {
					right = slices.Contains(told, n.notes[of].Text)
				}
				if right != (fields[0] == "same") {
					t.Logf("%s: %q: %q", fields[0], fields[2], told)
				}
				count(fields[0], right)
			}
			for _, p := range n.notes {
				told := n.alike(p.Text)
				if len(told) > 1 {
					t.Logf("two notes: %q", told)
				}
				count("notes", len(told) > 1)
			}
			percent := func(kind string, half int) int { return 100 * counts[kind][half].told / counts[kind][half].asked }
			got := nearShare{percent("same", 0), percent("else", 0), percent("notes", 0)}
			t.Logf("%+v of %d, %d and %d; odd ones: %+v", got, counts["same"][0].asked, counts["else"][0].asked, counts["notes"][0].asked,
				nearShare{percent("same", 1), percent("else", 1), percent("notes", 1)})
			if got.same < set.want.same || got.other > set.want.other || got.notes > set.want.notes {
				t.Errorf("%+v, it was %+v", got, set.want)
			}
		})
	}
}

// nearNotes are notes that can be searched.
type nearNotes struct {
	t     *testing.T
	notes []*core.Passage
	core.Searcher
}

func newNearNotes(t *testing.T, text string) *nearNotes {
	t.Helper()
	n := &nearNotes{t: t}
	for line := range strings.Lines(text) {
		if day, isNote := strings.CutPrefix(line, "note "); isNote {
			at, err := time.Parse(time.DateOnly, day[:len(time.DateOnly)])
			if err != nil {
				t.Fatal(err)
			}
			n.notes = append(n.notes, &core.Passage{Text: strings.TrimSpace(day[len(time.DateOnly)+len(" | "):]), CreatedAt: at})
		}
	}
	n.Searcher = archived(t, n.notes...)
	return n
}

// alike returns the notes that are told for a text, as archival_memory_insert finds them.
func (n *nearNotes) alike(text string) (told []string) {
	n.t.Helper()
	hits, err := n.Passages(n.t.Context(), core.SearchQuery{
		Text: text, Limit: 10, Bare: true, Today: time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
	}, core.PassageFilter{Archives: []core.ArchiveID{n.notes[0].Archive}})
	if err != nil {
		n.t.Fatal(err)
	}
	found := make([]string, len(hits.Hits))
	for i, h := range hits.Hits {
		found[i] = h.Passage.Text
	}
	for _, i := range search.Alike(text, found) {
		told = append(told, found[i])
	}
	return told
}
