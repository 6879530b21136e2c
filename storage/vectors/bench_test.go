package vectors

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

var million = flag.Bool("million", false, "run the benchmarks with a million vectors, too (about 4 GB of memory)")

// BenchmarkNearest reports recall, percentiles and the ratio to brute force over the same floats in the same run.
func BenchmarkNearest(b *testing.B) {
	sizes := []int{100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		for _, c := range []struct {
			name string
			make func(*rand.Rand, int) maker
		}{{"clusters", clusters}, {"sphere", sphere}} {
			b.Run(c.name+"/"+map[bool]string{true: "1M", false: "100k"}[n == 1_000_000], func(b *testing.B) {
				measure(b, n, 768, c.make(rand.New(rand.NewPCG(1, uint64(n))), 768))
			})
		}
	}
}

func measure(b *testing.B, n, dim int, make maker) {
	b.Helper()
	f := fill(make, n)
	began := time.Now()
	x := still(b, f, dim)
	caughtUp(b, x)
	if x.stale() {
		if err := x.renew(context.Background()); err != nil {
			b.Fatal(err)
		}
		caughtUp(b, x)
	}
	built := time.Since(began)
	queries := [][]float32{}
	for range 100 {
		queries = append(queries, make())
	}
	runtime.GC()
	_, _ = x.Nearest(context.Background(), Query{Vector: queries[0], K: 10})
	for _, c := range []struct {
		name   string
		filter Filter
		keep   func(*Row) bool
	}{{name: "all"}, {name: "a third", filter: Filter{Groups: []uint64{2}}, keep: func(r *Row) bool { return r.Group == 2 }}} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			var found, brute float64
			slow := 0
			for i := 0; b.Loop(); i++ {
				q := queries[i%len(queries)]
				at := time.Now()
				got, err := x.Nearest(context.Background(), Query{Vector: q, K: 10, Filter: c.filter})
				took = append(took, time.Since(at))
				if err != nil {
					b.Fatal(err)
				}
				if i < 20 {
					b.StopTimer()
					at = time.Now()
					want := f.nearest(q, 10, c.keep)
					brute += time.Since(at).Seconds()
					found += recall(got, want)
					slow++
					b.StartTimer()
				}
			}
			slices.Sort(took)
			p50 := took[len(took)/2]
			b.ReportMetric(p50.Seconds()*1e3, "p50-ms")
			b.ReportMetric(took[0].Seconds()*1e3, "min-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "p99-ms")
			b.ReportMetric(found/float64(slow), "recall@10")
			b.ReportMetric(brute/float64(slow)/p50.Seconds(), "x-brute")
			b.ReportMetric(built.Seconds(), "build-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
