package storage

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"loci/core"
	"loci/storage/index"
	"loci/storage/vectors"
)

var manyVectors = flag.Int("vectors", 20_000, "how many vectors the benchmark of the store keeps")

// BenchmarkNearestInTheStore measures vectors through the store: kept at 768 dimensions, found with their floats fetched.
func BenchmarkNearestInTheStore(b *testing.B) {
	const dim = 768
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	a := core.Archive{ID: core.NewArchiveID(), Name: "a", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	if err := s.Archives().Create(b.Context(), &a); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	centres := make([][]float32, 200)
	for i := range centres {
		centres[i] = make([]float32, dim)
		for k := range dim {
			centres[i][k] = float32(r.NormFloat64())
		}
	}
	one := func() []float32 {
		v := slices.Clone(centres[r.IntN(len(centres))])
		for k := range v {
			v[k] += float32(r.NormFloat64() * .7)
		}
		return v
	}
	var put time.Duration
	for at := 0; at < *manyVectors; at += 1000 {
		var ps []*core.Passage
		for i := range 1000 {
			ps = append(ps, &core.Passage{ID: core.NewPassageID(), Archive: a.ID, Text: fmt.Sprintf("n%d", at+i), CreatedAt: time.Now(), UpdatedAt: time.Now()})
		}
		if err := s.Passages().Insert(b.Context(), ps...); err != nil {
			b.Fatal(err)
		}
		page, err := s.Vectors().Waiting(b.Context(), 0, 1000)
		if err != nil {
			b.Fatal(err)
		}
		done := make([]core.Embedded, len(page))
		for i, u := range page {
			done[i] = core.Embedded{Unembedded: u, Vector: one()}
		}
		began := time.Now()
		if err := s.Vectors().Put(b.Context(), done...); err != nil {
			b.Fatal(err)
		}
		put += time.Since(began)
	}
	x, err := s.near.of(b.Context(), core.VectorPassage, core.WordsHandle, dim)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if ok, err := x.Apply(b.Context()); !ok || err != nil {
		b.Fatal(ok, err)
	}
	coded := time.Since(began)
	queries := make([][]float32, 50)
	for i := range queries {
		queries[i] = one()
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		q := core.SearchQuery{Vectors: map[core.Handle][]float32{core.WordsHandle: queries[i%len(queries)]}}
		at := time.Now()
		m, _, err := s.near.begin(b.Context(), &asked{kind: core.VectorPassage, query: q, filter: index.Filter{Owners: []string{string(a.ID)}}})
		if err != nil || m == nil {
			b.Fatal(m, err)
		}
		near, err := m.models[0].x.Nearest(b.Context(), vectors.Query{Vector: queries[i%len(queries)], K: 10, Filter: m.filter})
		if err != nil || len(near) != 10 {
			b.Fatal(near, err)
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(took[0].Seconds()*1e3, "min-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "p99-ms")
	b.ReportMetric(put.Seconds()*1e6/float64(*manyVectors), "put-µs")
	b.ReportMetric(coded.Seconds()*1e6/float64(*manyVectors), "code-µs")
	b.ReportMetric(float64(x.Stats().Resident)/(1<<20), "heap-MB")
	b.ReportMetric(0, "ns/op")
}
