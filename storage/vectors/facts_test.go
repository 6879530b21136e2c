package vectors

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
)

// facts is a Source in memory, with a brute-force search to compare with.
type facts struct {
	mu     sync.Mutex
	rows   []Row // by id
	gone   []int64
	last   int64
	pruned int64
	fail   error
}

func (f *facts) Bounds(context.Context) (Bounds, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Bounds{Last: f.last, Gone: int64(len(f.gone)), Pruned: f.pruned}, f.fail
}

func (f *facts) Rows(_ context.Context, after int64, limit int, yield func(Row) error) error {
	f.mu.Lock()
	at := sort.Search(len(f.rows), func(i int) bool { return f.rows[i].ID > after })
	rows := f.rows[at:min(at+limit, len(f.rows))]
	if len(f.gone) > 0 {
		rows = slices.Clone(rows)
	}
	f.mu.Unlock()
	for _, r := range rows {
		if err := yield(r); err != nil {
			return err
		}
	}
	return f.fail
}

func (f *facts) Gone(_ context.Context, after int64, limit int) ([]int64, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.pruned {
		return nil, after, errors.New("pruned")
	}
	to := min(after+int64(limit), int64(len(f.gone)))
	return slices.Clone(f.gone[after:to]), to, f.fail
}

func (f *facts) Vectors(_ context.Context, ids []int64, yield func(int64, []byte)) error {
	for _, id := range ids {
		f.mu.Lock()
		at := sort.Search(len(f.rows), func(i int) bool { return f.rows[i].ID >= id })
		var data []byte
		if at < len(f.rows) && f.rows[at].ID == id {
			data = f.rows[at].Data
		}
		f.mu.Unlock()
		if data != nil {
			yield(id, data)
		}
	}
	return f.fail
}

func (f *facts) add(r Row, v []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	r.ID, r.Data = f.last, Bytes(v)
	if r.Owner == 0 {
		r.Owner = r.ID
	}
	f.rows = append(f.rows, r)
}

func (f *facts) remove(at int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = append(f.gone, f.rows[at].ID)
	f.rows = slices.Delete(slices.Clone(f.rows), at, at+1)
}

func (f *facts) owned(owner int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.IndexFunc(f.rows, func(r Row) bool { return r.Owner == owner })
}

// nearest is the brute-force search.
func (f *facts) nearest(q []float32, k int, keep func(*Row) bool) []Near {
	f.mu.Lock()
	defer f.mu.Unlock()
	unit, _ := Unit(q)
	var all []Near
	for i := range f.rows {
		if keep == nil || keep(&f.rows[i]) {
			all = append(all, Near{Owner: f.rows[i].Owner, Cos: dot(unit, f.rows[i].Data)})
		}
	}
	return top(all, k)
}

// maker generates vectors with some structure.
type maker func() []float32

func normal(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// sphere has no structure: the tenth neighbour is hardly closer than the ten-thousandth.
func sphere(r *rand.Rand, dim int) maker {
	return func() []float32 {
		v, _ := Unit(normal(r, dim))
		return v
	}
}

// clusters lie around 200 centres, in few dimensions each, as embeddings do.
func clusters(r *rand.Rand, dim int) maker {
	const centres, inner = 200, 12
	axes := make([][]float32, 64)
	for i := range axes {
		axes[i], _ = Unit(normal(r, dim))
	}
	centre := make([][]float32, centres)
	for i := range centre {
		centre[i], _ = Unit(normal(r, dim))
	}
	return func() []float32 {
		c := r.IntN(centres)
		v := slices.Clone(centre[c])
		for k := range inner {
			x := float32(r.NormFloat64() * 0.25)
			for i, a := range axes[(c*7+k*5)%len(axes)] {
				v[i] += x * a
			}
		}
		for i := range v {
			v[i] += float32(r.NormFloat64() * 0.3 / math.Sqrt(float64(dim)))
		}
		v, _ = Unit(v)
		return v
	}
}

// fill generates rows of a few groups, roles and days.
func fill(make maker, n int) *facts {
	f := &facts{}
	for i := range n {
		f.add(Row{Group: uint64(1 + i%3), Thread: uint64(1 + i%7), Role: uint8(i % 4), At: int64(i)}, make())
	}
	return f
}

func open(tb testing.TB, f *facts, dim int, change ...func(*Config)) *Index {
	tb.Helper()
	cfg := Config{Path: tb.TempDir() + "/codes", Home: "home", Set: 1, Dim: dim, Now: 1, Source: f}
	for _, c := range change {
		c(&cfg)
	}
	x, err := Open(context.Background(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(x.Close)
	return x
}

// still is an index without its goroutine, for tests that take its steps themselves.
func still(tb testing.TB, f *facts, dim int, change ...func(*Config)) *Index {
	tb.Helper()
	x := open(tb, f, dim, change...)
	x.cancel()
	x.wg.Wait()
	return x
}

func caughtUp(tb testing.TB, x *Index) {
	tb.Helper()
	if ok, err := x.Apply(context.Background()); err != nil || !ok {
		tb.Fatalf("the index is not up to date: %v %v", ok, err)
	}
}

// recall is the fraction of the nearest that were found, by score: equal vectors are interchangeable.
func recall(got, want []Near) float64 {
	if len(want) == 0 {
		return 1
	}
	least, n := want[len(want)-1].Cos, 0
	for _, g := range got {
		if g.Cos >= least {
			n++
		}
	}
	return float64(n) / float64(len(want))
}
