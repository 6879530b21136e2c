//go:build unix

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"loci/core/search"
)

// BenchmarkFollow measures the cost of adding documents one at a time, and many at once after a while, to an index that
// already holds some.
func BenchmarkFollow(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := &growing{made: made{n: 20_000}}
			x := openedIn(b, b.TempDir(), f)
			if !x.Wait(b.Context(), 0, time.Minute) {
				b.Fatal("not built")
			}
			used := cpu()
			for b.Loop() {
				x.Nudge()
				if last := f.grow(n); !x.Wait(b.Context(), last, time.Minute) {
					b.Fatal("not taken in")
				}
			}
			used = cpu() - used
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/doc")
			b.ReportMetric(float64(used.Microseconds())/float64(b.N*n), "cpu-µs/doc")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// growing is generated documents, and changes that add more.
type growing struct {
	made
	mu   sync.Mutex
	last int64
}

func (g *growing) grow(n int) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last += int64(n)
	return g.last
}

func (g *growing) Changes(_ context.Context, after int64, limit int) ([]Change, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Change
	for seq := after + 1; seq <= g.last && len(out) < limit; seq++ {
		out = append(out, Change{Seq: seq, Kind: string(search.Passage), ID: strconv.FormatInt(seq, 10), Op: "write"})
	}
	return out, nil
}

func (g *growing) Docs(_ context.Context, _ search.Kind, ids []string) ([]Doc, error) {
	out := make([]Doc, len(ids))
	for i, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		out[i] = g.doc(g.n + n - 1)
		out[i].ID = id
	}
	return out, nil
}

// BenchmarkMatch measures conversational queries by words alone over generated passages: 20,000, or as many as -scale
// says.
func BenchmarkMatch(b *testing.B) {
	source := made{n: max(*scale, 20_000)}
	x := openedIn(b, b.TempDir(), source)
	if !x.Wait(b.Context(), 0, time.Hour) {
		b.Fatal("not built")
	}
	draw := rand.New(rand.NewPCG(1, 1))
	used := cpu()
	n := 0
	for b.Loop() {
		q := search.Analyse(source.talk(draw), 18_000)
		if _, _, err := match(b.Context(), x, q, Filter{}, 10); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64((cpu()-used).Microseconds())/1000/float64(n), "cpu-ms/op")
}
