package storage

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/storage/vectors"
)

var (
	manyVectors = flag.Int("vectors", 10_000, "how many vectors BenchmarkNearestInTheStore keeps")
	dumpVectors = flag.String(
		"dump",
		"",
		"a folder into which BenchmarkNearestInTheStore writes its vectors and queries, in PostgreSQL's binary form",
	)
)

// BenchmarkNearestInTheStore measures vectors through the store, kept at 768 dimensions, on two threads, found with their
// floats fetched: lying in clusters as embeddings do, and without any structure; all of them, and one of two archives.
//
//	go test ./storage -run XXX -bench NearestInTheStore -benchtime 300x -timeout 2h -vectors 1000000
func BenchmarkNearestInTheStore(b *testing.B) {
	for _, shape := range []string{"clusters", "sphere"} {
		b.Run(shape, func(b *testing.B) {
			v := keepVectors(b, shape)
			v.restart(b)
			v.dump(b, shape)
			b.Run("all", func(b *testing.B) { v.measure(b, vectors.Filter{}, func(int) bool { return true }) })
			b.Run("half", func(b *testing.B) {
				v.measure(b, vectors.Filter{Groups: []uint64{vectors.Key(string(v.archives[0]))}}, func(i int) bool { return i%2 == 0 })
			})
		})
	}
}

const benchDim = 768

// keptVectors are vectors in a store, and queries.
type keptVectors struct {
	dir      string
	s        *Store
	x        *vectors.Index
	archives [2]core.ArchiveID
	all      [][]float32
	queries  [][]float32
	figures  map[string]float64
}

func keepVectors(b *testing.B, shape string) *keptVectors {
	b.Helper()
	v := &keptVectors{dir: b.TempDir(), figures: map[string]float64{}}
	v.open(b)
	b.Cleanup(func() { _ = v.s.Close() })
	for i := range v.archives {
		a := core.Archive{ID: core.NewArchiveID(), Name: fmt.Sprint(i), CreatedAt: time.Now(), UpdatedAt: time.Now()}
		if err := v.s.Archives().Create(b.Context(), &a); err != nil {
			b.Fatal(err)
		}
		v.archives[i] = a.ID
	}
	one := directions(rand.New(rand.NewPCG(1, 1)), shape)
	var put time.Duration
	for len(v.all) < *manyVectors {
		put += v.add(b, one, min(1000, *manyVectors-len(v.all)))
	}
	for range 100 {
		v.queries = append(v.queries, one())
	}
	v.find(b)
	began := time.Now()
	if ok, err := v.x.Apply(b.Context()); !ok || err != nil {
		b.Fatal(ok, err)
	}
	v.figures["put-µs"] = put.Seconds() * 1e6 / float64(len(v.all))
	v.figures["behind-s"] = time.Since(began).Seconds()
	return v
}

func (v *keptVectors) open(b *testing.B) {
	b.Helper()
	var err error
	if v.s, err = Open(b.Context(), Config{Dir: v.dir}); err != nil {
		b.Fatal(err)
	}
}

// add keeps n vectors and returns how long it took to write them, without their passages.
func (v *keptVectors) add(b *testing.B, one func() []float32, n int) time.Duration {
	b.Helper()
	ps := make([]*core.Passage, n)
	for i := range ps {
		at := len(v.all) + i
		ps[i] = &core.Passage{
			ID:        core.NewPassageID(),
			Archive:   v.archives[at%2],
			Text:      fmt.Sprintf("n%d", at),
			CreatedAt: time.Now(),
			UpdatedAt: time.Now(),
		}
	}
	if err := v.s.Passages().Insert(b.Context(), ps...); err != nil {
		b.Fatal(err)
	}
	page, err := v.s.Vectors().Waiting(b.Context(), 0, n)
	if err != nil {
		b.Fatal(err)
	}
	done := make([]core.EmbeddingResult, len(page))
	for i, u := range page {
		v.all = append(v.all, one())
		done[i] = core.EmbeddingResult{EmbeddingTask: u, Vector: v.all[len(v.all)-1]}
	}
	began := time.Now()
	if err := v.s.Vectors().Put(b.Context(), done...); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

func (v *keptVectors) find(b *testing.B) {
	b.Helper()
	var err error
	if v.x, err = v.s.search.Vectors(b.Context(), core.VectorPassage, core.WordsHandle, benchDim); err != nil || v.x == nil {
		b.Fatal(v.x, err)
	}
}

// restart measures from an open store to the first result.
func (v *keptVectors) restart(b *testing.B) {
	b.Helper()
	coretest.Until(b, "the index is built", func() bool { return !v.x.Stats().Building }) // a mean of more rows is made once there are some
	if err := v.s.Close(); err != nil {
		b.Fatal(err)
	}
	before := heap()
	began := time.Now()
	v.open(b)
	v.search(b, v.queries[0], vectors.Filter{})
	v.figures["ready-ms"] = time.Since(began).Seconds() * 1e3
	v.figures["heap-MB"] = max(0, heap()-before)
	v.find(b)
}

// heap is how much is in use, in MB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

func (v *keptVectors) search(b *testing.B, query []float32, f vectors.Filter) []vectors.Near {
	b.Helper()
	x, err := v.s.search.Vectors(b.Context(), core.VectorPassage, core.WordsHandle, benchDim)
	if err == nil {
		_, err = x.Apply(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	near, err := x.Nearest(b.Context(), vectors.Query{Vector: query, K: 10, Filter: f})
	if err != nil || len(near) != 10 {
		b.Fatal(near, err)
	}
	return near
}

func (v *keptVectors) measure(b *testing.B, f vectors.Filter, within func(i int) bool) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		at := time.Now()
		v.search(b, v.queries[i%len(v.queries)], f)
		took = append(took, time.Since(at))
	}
	var found float64
	const judged = 20
	for _, q := range v.queries[:judged] {
		var truth []float64
		for i, x := range v.all {
			if within(i) {
				truth = append(truth, cosine(q, x))
			}
		}
		slices.Sort(truth)
		for _, n := range v.search(b, q, f) {
			if n.Cos >= truth[len(truth)-10]-1e-6 {
				found++
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(took[0].Seconds()*1e3, "min-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1e3, "p99-ms")
	b.ReportMetric(found/(10*judged), "recall@10")
	for name, value := range v.figures {
		b.ReportMetric(value, name)
	}
	b.ReportMetric(0, "ns/op")
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// dump writes the vectors and the queries in the form of COPY BINARY: rows of a number and a vector of pgvector's.
func (v *keptVectors) dump(b *testing.B, shape string) {
	b.Helper()
	if *dumpVectors == "" {
		return
	}
	for name, list := range map[string][][]float32{"rows": v.all, "queries": v.queries} {
		f, err := os.Create(filepath.Join(*dumpVectors, shape+"."+name))
		if err != nil {
			b.Fatal(err)
		}
		w := bufio.NewWriterSize(f, 1<<20)
		_, _ = w.WriteString("PGCOPY\n\xff\r\n\x00")
		var row []byte
		row = binary.BigEndian.AppendUint64(row, 0) // flags and the length of an extension
		for i, x := range list {
			row = binary.BigEndian.AppendUint16(row, 2)
			row = binary.BigEndian.AppendUint32(row, 4)
			row = binary.BigEndian.AppendUint32(row, uint32(i))
			row = binary.BigEndian.AppendUint32(row, uint32(4+4*len(x)))
			row = binary.BigEndian.AppendUint16(row, uint16(len(x)))
			row = binary.BigEndian.AppendUint16(row, 0)
			for _, value := range x {
				row = binary.BigEndian.AppendUint32(row, math.Float32bits(value))
			}
			_, _ = w.Write(row)
			row = row[:0]
		}
		_, _ = w.Write([]byte{0xff, 0xff})
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// directions makes unit vectors: around 200 centres, spread in a dozen of 64 directions each, or anywhere.
func directions(r *rand.Rand, shape string) func() []float32 {
	free := func() []float32 {
		v := make([]float32, benchDim)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		unit, _ := vectors.Unit(v)
		return unit
	}
	if shape == "sphere" {
		return free
	}
	var axes, centres [][]float32
	for range 64 {
		axes = append(axes, free())
	}
	for range 200 {
		centres = append(centres, free())
	}
	return func() []float32 {
		c := r.IntN(len(centres))
		v := slices.Clone(centres[c])
		for k := range 12 {
			x := float32(r.NormFloat64() * .25)
			for i, a := range axes[(c*7+k*5)%len(axes)] {
				v[i] += x * a
			}
		}
		for i := range v {
			v[i] += float32(r.NormFloat64() * .3 / math.Sqrt(benchDim))
		}
		unit, _ := vectors.Unit(v)
		return unit
	}
}
