package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core/search"
)

// TestArchivesOfAlikePassagesGoOneByOne deletes the newer half of what shares its words, which empties the tails of their
// postings while older rows stay.
func TestArchivesOfAlikePassagesGoOneByOne(t *testing.T) {
	t.Parallel()
	f := &facts{docs: map[string]Doc{}}
	x := opened(t, f)
	neverReplaced(t, x)
	fill := func(owner string, n int) {
		for i := range n {
			f.write(
				search.Passage,
				Doc{
					ID:    fmt.Sprint(owner, "-", i),
					Owner: owner,
					At:    int64(i+1) * 1e6,
					Text:  fmt.Sprintf("The boat number %d lies on the lake, by the other boat on the lake.", i),
				},
			)
		}
		x.Nudge()
		caughtUp(t, x, f)
	}
	for _, n := range []int{10, 50, 100, 200, 300, 500} {
		fill(fmt.Sprint("kept", n), n)
		fill(fmt.Sprint("gone", n), n)
		f.remove("archive", fmt.Sprint("gone", n))
		x.Nudge()
		caughtUp(t, x, f)
		if got := len(ask(t, x, "lake boat", Filter{Owners: []string{fmt.Sprint("kept", n)}})); got != n {
			t.Errorf("%d of %d are found", got, n)
		}
	}
	counters(t, x, f)
}

// neverReplaced fails the test if the index was rebuilt: its contents would be right, but a rebuild isn't what is being
// tested.
func neverReplaced(t *testing.T, x *Index) {
	t.Helper()
	x.mu.RLock()
	replaced := x.replaced
	x.mu.RUnlock()
	t.Cleanup(func() {
		select {
		case <-replaced:
			t.Error("the index failed and was built anew")
		default:
		}
	})
}

// TestTheNewestDocumentsOfATermCanAllGo empties a term's tail while its older rows stay.
func TestTheNewestDocumentsOfATermCanAllGo(t *testing.T) {
	t.Parallel()
	db := emptyIndex(t)
	model := map[string]map[int64]int{"word": {}}
	change := func(from, to, by int64) {
		inOneTx(t, db, func(e *edit) {
			for seq := from; seq < to; seq++ {
				if by > 0 {
					model["word"][seq] = 2
				} else {
					delete(model["word"], seq)
				}
				e.post(seq, "word", 2, by)
			}
		})
	}
	change(1, 5*blockSize, 1)
	change(2*blockSize, 5*blockSize, -1)
	compareWithModel(t, db, model)
	change(5*blockSize, 6*blockSize, 1) // the tail starts over
	compareWithModel(t, db, model)
}

// TestBulkInsertsAndDeletionsLeaveWhatAFreshIndexHas fills and empties whole archives and files, hundreds of texts at once.
func TestBulkInsertsAndDeletionsLeaveWhatAFreshIndexHas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := &bulk{t: t, draw: rand.New(rand.NewPCG(seed, 11)), f: &facts{docs: map[string]Doc{}}}
			b.x = opened(t, b.f)
			neverReplaced(t, b.x)
			for round := range 30 {
				b.change()
				if round%10 == 9 || b.draw.IntN(3) == 0 {
					b.x.Nudge()
					caughtUp(t, b.x, b.f)
				}
				if round%10 == 9 {
					counters(t, b.x, b.f)
					b.rank()
				}
			}
		})
	}
}

// bulk changes facts in large pieces.
type bulk struct {
	t      *testing.T
	draw   *rand.Rand
	f      *facts
	x      *Index
	made   int
	owners []string
}

func (b *bulk) change() {
	switch n := b.draw.IntN(10); {
	case n < 5 || len(b.owners) == 0:
		owner := fmt.Sprint("o", b.made)
		if len(b.owners) > 0 && b.draw.IntN(3) == 0 {
			owner = b.owners[b.draw.IntN(len(b.owners))]
		} else {
			b.owners = append(b.owners, owner)
		}
		alike, file := b.draw.IntN(2) == 0, []string{"", fmt.Sprint("file", b.made)}[b.draw.IntN(2)]
		for range []int{10, 50, 100, 200, 300, 500, 1200}[b.draw.IntN(7)] {
			b.made++
			text := "The boat lies on the lake. " + subjects[b.draw.IntN(len(subjects))]
			if !alike {
				text = said(b.draw)
			}
			if b.draw.IntN(50) == 0 {
				text = strings.Repeat(text+" ", 40) // a word that occurs often
			}
			b.f.write(
				search.Passage,
				Doc{
					ID:    fmt.Sprint("p", b.made),
					Owner: owner,
					File:  file,
					At:    int64(b.made) * 1e6,
					Tags:  []string{subjects[b.draw.IntN(3)]},
					Text:  text,
				},
			)
		}
	case n < 7: // an archive
		i := b.draw.IntN(len(b.owners))
		b.f.remove("archive", b.owners[i])
		b.owners = append(b.owners[:i], b.owners[i+1:]...)
	default: // a stretch, like a removed file's, or all of the newest
		all := b.f.sorted()
		if len(all) == 0 {
			return
		}
		from := b.draw.IntN(len(all))
		to := min(len(all), from+1+b.draw.IntN(900))
		if n == 9 {
			to = len(all)
		}
		for _, d := range all[from:to] {
			b.f.remove("passage", d.ID)
		}
	}
}

// rank compares small archives with a ranking over nothing but their contents.
func (b *bulk) rank() {
	for _, owner := range b.owners {
		var own []Doc
		for _, d := range b.f.sorted() {
			if d.Owner == owner && d.File == "" {
				own = append(own, d)
			} else if d.Owner == owner {
				own = nil
				break
			}
		}
		if len(own) == 0 || len(own) > wholeScope {
			continue
		}
		want, got := reference("lake boat", own), ask(b.t, b.x, "lake boat", Filter{Owners: []string{owner}})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			b.t.Fatalf("%s (-want +got):\n%s", owner, diff)
		}
	}
}
