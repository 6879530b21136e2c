package vectors

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestSearchesWhileRowsComeAndGo(t *testing.T) {
	t.Parallel()
	const dim = 32
	one := sphere(rand.New(rand.NewPCG(6, 6)), dim)
	f := fill(one, blockRows-100)
	x := open(t, f, dim)
	caughtUp(t, x)
	queries := [][]float32{one(), one(), one(), one()}
	fresh := make([][]float32, blockRows*3/2)
	for i := range fresh {
		fresh[i] = one()
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		r := rand.New(rand.NewPCG(1, 2))
		for i, v := range fresh {
			f.add(Row{Group: uint64(1 + i%3)}, v)
			if i%2 == 0 {
				f.remove(r.IntN(1000))
			}
			if i%200 == 0 {
				x.Nudge()
			}
		}
	})
	for _, q := range queries {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := x.Apply(t.Context()); err != nil {
					t.Error(err)
					return
				}
				near, err := x.Nearest(t.Context(), Query{Vector: q, K: 5, Filter: Filter{Groups: []uint64{1, 2}}})
				if err != nil || len(near) != 5 {
					t.Errorf("%v %v", near, err)
					return
				}
				if _, err := x.Cosines(t.Context(), q, []int64{near[0].Owner, 5, 7000}, 0); err != nil {
					t.Error(err)
				}
				if s, err := x.Spread(t.Context(), q, []uint64{3}); err != nil || s.SD <= 0 {
					t.Errorf("%+v %v", s, err)
				}
			}
		})
	}
	wg.Go(func() { // codes are rebuilt meanwhile
		for range 3 {
			if err := x.renew(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	caughtUp(t, x)
	if n := x.Stats().Rows; n != len(f.rows) {
		t.Errorf("%d rows are coded, %d stored", n, len(f.rows))
	}
}
