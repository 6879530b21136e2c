package vectors

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstimatesErrAsMuchAsTheCascadeAllows(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{96, 100, 384, 768, 1536} {
		r := rand.New(rand.NewPCG(7, uint64(dim)))
		rot := newRotation(dim)
		e := newEncoder(rot, make([]float32, dim))
		one := sphere(r, dim)
		var squares [stageAll + 1]float64
		const queries, rows = 20, 200
		l := layoutOf(rot.padded / 64)
		n := l.words
		for range queries {
			unit := one()
			q := newQuery(e, unit)
			for range rows {
				v := one()
				signs, rest := make([]uint64, n), make([]uint64, n*(codeBits-1))
				f, offset := e.encode(v, signs, rest)
				truth := dot(unit, Bytes(v))
				for stage, d := range []float32{
					f.one * q.scale[stageSign] * product(signs, q.coarse[:1]),
					f.one * q.scale[stagePair] * product(signs, q.coarse[:2]),
					f.one * q.scale[stageQuery] * product(signs, q.coarse[:]),
					f.two * q.scale[stageRow] * (product(signs, q.coarse[:]) + product(rest[:n], q.coarse[:])/2),
					f.all * q.scale[stageAll] * (product(signs, q.fine[:]) + product(rest[:n], q.fine[:])/2 +
						product(rest[n:2*n], q.fine[:])/4 + product(rest[2*n:], q.fine[:])/8),
				} {
					off := float64(d+offset) - truth
					squares[stage] += off * off
				}
			}
		}
		for stage, sum := range squares {
			got := math.Sqrt(sum/queries/rows) * math.Sqrt(float64(rot.padded))
			if want := errorOf(stage); got > want*1.05 || got < want*0.75 {
				t.Errorf("%d dimensions, stage %d: the error is %.3f, the cascade allows for %.3f", dim, stage, got, want)
			}
		}
	}
}

func TestTheNearestAreFoundInAnyDimension(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dim, rows int
		make      func(*rand.Rand, int) maker
	}{
		{3, 3000, sphere},
		{64, 6000, sphere},
		{96, 22_000, clusters},
		{100, 6000, sphere},
		{768, 6000, clusters},
		{768, 6000, sphere},
		{1000, 3000, clusters},
	} {
		t.Run(fmt.Sprint(c.dim), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(c.dim)))
			one := c.make(r, c.dim)
			f := fill(one, c.rows)
			x := still(t, f, c.dim)
			caughtUp(t, x)
			if x.stale() {
				if err := x.renew(t.Context()); err != nil {
					t.Fatal(err)
				}
				caughtUp(t, x)
			}
			check(t, x, f, one, 0.975)
		})
	}
}

// check compares searches with brute force, with and without filters; exact scores always.
func check(t *testing.T, x *Index, f *facts, one maker, least float64) {
	t.Helper()
	evens := &Owners{}
	for owner := int64(0); owner < 60_000; owner += 2 {
		evens.Add(owner)
	}
	for _, c := range []struct { // in a fixed order, so that every run asks the same
		name   string
		filter Filter
		keep   func(*Row) bool
	}{
		{name: "all"},
		{"group", Filter{Groups: []uint64{2}}, func(r *Row) bool { return r.Group == 2 }},
		{"groups", Filter{Groups: []uint64{1, 3, 5, 6, 7}}, func(r *Row) bool { return r.Group != 2 }},
		{"none", Filter{Groups: []uint64{9}}, func(*Row) bool { return false }},
		{"thread", Filter{Thread: 4, Roles: 1<<1 | 1<<2}, func(r *Row) bool { return r.Thread == 4 && (r.Role == 1 || r.Role == 2) }},
		{"days", Filter{From: 100, Until: 140}, func(r *Row) bool { return r.At >= 100 && r.At < 140 }},
		{"owners", Filter{Owners: []*Owners{evens}, From: 50}, func(r *Row) bool { return r.Owner%2 == 0 && r.At >= 50 }},
	} {
		name := c.name
		var sum float64
		const queries = 25 // of ten rows each: a single miss costs 0.004
		for range queries {
			q := one()
			got, err := x.Nearest(t.Context(), Query{Vector: q, K: 10, Filter: c.filter})
			if err != nil {
				t.Fatal(err)
			}
			want := f.nearest(q, 10, c.keep)
			if len(got) != len(want) {
				t.Errorf("%s: %d found, %d are there", name, len(got), len(want))
			}
			for _, g := range got {
				if at := f.owned(g.Owner); at < 0 || c.keep != nil && !c.keep(&f.rows[at]) || dot(mustUnit(q), f.rows[at].Data) != g.Cos {
					t.Fatalf("%s: %+v is not stored so", name, g)
				}
			}
			sum += recall(got, want)
		}
		if sum/queries < least {
			t.Errorf("%s: recall %.3f of %d rows", name, sum/queries, len(f.rows))
		}
	}
}

func mustUnit(v []float32) []float32 {
	u, _ := Unit(v)
	return u
}

func TestAnyHistoryOfChangesAndRestartsIsFoundAsItIsStored(t *testing.T) {
	t.Parallel()
	const dim = 70
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			one := clusters(r, dim)
			f := &facts{}
			path := t.TempDir() + "/codes"
			epoch := int64(1)
			reopen := func(x *Index, clean bool) *Index {
				if x != nil && clean {
					x.Close()
				} else if x != nil { // as after a kill
					x.cancel()
					x.wg.Wait()
					x.cur.close()
				}
				epoch++
				x, err := Open(t.Context(), Config{Path: path, Home: "h", Set: 1, Dim: dim, Before: epoch - 1, Now: epoch, Source: f})
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			x := reopen(nil, true)
			for range 60 {
				switch r.IntN(8) {
				case 0, 1, 2:
					for range r.IntN(1500) {
						f.add(Row{Group: uint64(1 + r.IntN(3)), Thread: 1, At: int64(r.IntN(300)), Role: uint8(r.IntN(4))}, one())
					}
				case 3:
					for range min(len(f.rows), r.IntN(400)) {
						f.remove(r.IntN(len(f.rows)))
					}
				case 4: // an update
					for range min(len(f.rows), 30) {
						at := r.IntN(len(f.rows))
						row := f.rows[at]
						f.remove(at)
						f.add(row, one())
					}
				case 5:
					caughtUp(t, x)
				case 6:
					x = reopen(x, r.IntN(2) == 0)
				case 7:
					x.Nudge()
				}
			}
			caughtUp(t, x)
			if n := x.Stats().Rows; n != len(f.rows) {
				t.Errorf("%d rows are coded, %d stored", n, len(f.rows))
			}
			check(t, x, f, one, 0.97)
			x = reopen(x, true)
			caughtUp(t, x)
			check(t, x, f, one, 0.97)
			x.Close()
		})
	}
}

func TestAFileThatCannotBeTrustedIsMadeAnew(t *testing.T) {
	t.Parallel()
	const dim, rows = 64, 4500
	r := rand.New(rand.NewPCG(5, 5))
	one := sphere(r, dim)
	f := fill(one, rows)
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, path string)
		change func(*Config)
		facts  func(*facts)
		kept   bool
	}{
		"sound":        {kept: true},
		"missing":      {spoil: func(t *testing.T, path string) { t.Helper(); must(t, os.Remove(path)) }},
		"cut short":    {spoil: func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, blocksAt+100)) }},
		"empty":        {spoil: func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 0)) }},
		"flipped code": {spoil: func(t *testing.T, path string) { t.Helper(); flip(t, path, blocksAt+blockRows*50) }},
		"flipped mean": {spoil: func(t *testing.T, path string) { t.Helper(); flip(t, path, meanAt+5) }},
		"flipped head": {spoil: func(t *testing.T, path string) { t.Helper(); flip(t, path, 90); flip(t, path, slotSize+90) }},
		"other home":   {change: func(c *Config) { c.Home = "elsewhere" }},
		"other set":    {change: func(c *Config) { c.Set = 2 }},
		"stale":        {change: func(c *Config) { c.Before = 7 }},
		"a backup":     {facts: func(f *facts) { f.rows, f.last = f.rows[:4000], 4000 }},
		"too old":      {facts: func(f *facts) { f.remove(0); f.remove(0); f.pruned = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := &facts{rows: slices.Clone(f.rows), last: f.last}
			path := t.TempDir() + "/codes"
			cfg := Config{Path: path, Home: "home", Set: 1, Dim: dim, Now: 1, Source: own}
			x, err := Open(t.Context(), cfg)
			must(t, err)
			caughtUp(t, x)
			x.Close()
			files := x.files()
			if len(files) != 1 {
				t.Fatalf("there are %d files", len(files))
			}
			if c.spoil != nil {
				c.spoil(t, x.name(files[0]))
			}
			if c.facts != nil {
				c.facts(own)
			}
			cfg.Before, cfg.Now = 1, 2
			if c.change != nil {
				c.change(&cfg)
			}
			bounds, err := own.Bounds(t.Context())
			must(t, err)
			s, why := (&Index{cfg: cfg, rot: x.rot}).reuse(bounds)
			if kept := s != nil; kept != c.kept {
				t.Errorf("kept %v: %s", kept, why)
			}
			if s != nil {
				s.close()
				cfg.Before, cfg.Now = cfg.Now, cfg.Now+1
			}
			x, err = Open(t.Context(), cfg)
			must(t, err)
			defer x.Close()
			caughtUp(t, x)
			check(t, x, own, sphere(rand.New(rand.NewPCG(6, 6)), dim), 0.97)
			if n := x.Stats().Rows; n != len(own.rows) {
				t.Errorf("%d rows are coded, %d stored", n, len(own.rows))
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { must(t, file.Close()) }()
	var b [1]byte
	_, err = file.ReadAt(b[:], at)
	must(t, err)
	b[0] ^= 0x10
	_, err = file.WriteAt(b[:], at)
	must(t, err)
}

func TestAStartReadsNoVectorsThatAreCoded(t *testing.T) {
	t.Parallel()
	f := fill(sphere(rand.New(rand.NewPCG(1, 1)), 64), 3*blockRows+10)
	path := t.TempDir() + "/codes"
	cfg := Config{Path: path, Home: "home", Set: 1, Dim: 64, Now: 1, Source: f}
	x, err := Open(t.Context(), cfg)
	must(t, err)
	caughtUp(t, x)
	x.Close()
	cfg.Before, cfg.Now = 1, 2
	x, err = Open(t.Context(), cfg)
	must(t, err)
	defer x.Close()
	if x.cur.file.head.Last != 3*blockRows {
		t.Errorf("the file knows rows up to %d", x.cur.file.head.Last)
	}
}

func TestScoresDependOnlyOnWhichRowsThereAre(t *testing.T) {
	t.Parallel()
	const dim = 96
	one := clusters(rand.New(rand.NewPCG(2, 2)), dim)
	f := fill(one, 3200)
	a := still(t, f, dim)
	caughtUp(t, a)
	q := one()
	first, err := a.Spread(t.Context(), q, []uint64{2})
	must(t, err)
	for range 300 { // added and deleted again
		f.add(Row{Group: 2}, one())
	}
	caughtUp(t, a)
	for range 300 {
		f.remove(len(f.rows) - 1)
	}
	caughtUp(t, a)
	again, err := a.Spread(t.Context(), q, []uint64{2})
	must(t, err)
	b := still(t, f, dim)
	caughtUp(t, b)
	other, err := b.Spread(t.Context(), q, []uint64{2})
	must(t, err)
	if first != again || first != other || first.Rows != spreadRows {
		t.Errorf("%+v, then %+v, elsewhere %+v", first, again, other)
	}
	small := fill(one, 300)
	c := still(t, small, dim)
	caughtUp(t, c)
	all := small.nearest(q, 300, nil)
	got, err := c.Spread(t.Context(), q, nil)
	must(t, err)
	var sum float64
	for _, n := range all {
		sum += n.Cos
	}
	if got.Rows != 300 || math.Abs(got.Mean-sum/300) > 1e-9 {
		t.Errorf("%+v, the mean is %v", got, sum/300)
	}
	near, err := c.Nearest(t.Context(), Query{Vector: q, K: 20})
	must(t, err)
	if diff := cmp.Diff(all[:20], near); diff != "" {
		t.Error(diff)
	}
}

func TestCosinesAreExactFromTheFloorOn(t *testing.T) {
	t.Parallel()
	const dim = 96
	one := clusters(rand.New(rand.NewPCG(4, 2)), dim)
	f := fill(one, 5000)
	x := still(t, f, dim)
	caughtUp(t, x)
	q := one()
	all := f.nearest(q, 5000, nil)
	owners := []int64{999_999}
	for _, n := range all {
		owners = append(owners, n.Owner)
	}
	floor := all[250].Cos
	got, err := x.Cosines(t.Context(), q, owners, floor)
	must(t, err)
	if len(got) != 5000 {
		t.Errorf("%d cosines", len(got))
	}
	lost := 0
	for _, n := range all {
		if c := got[n.Owner]; n.Cos >= floor && c != n.Cos {
			lost++
		} else if n.Cos < floor && c >= floor {
			t.Errorf("%v became %v", n.Cos, c)
		}
	}
	if lost > 3 {
		t.Errorf("%d of 250 are not exact", lost)
	}
}

func TestUselessQueriesAreRefused(t *testing.T) {
	t.Parallel()
	x := open(t, fill(sphere(rand.New(rand.NewPCG(1, 1)), 8), 10), 8)
	for _, v := range [][]float32{
		nil, make([]float32, 8), make([]float32, 9),
		{1, 2, 3, 4, 5, 6, 7, float32(math.NaN())},
		{1, 2, 3, 4, 5, 6, 7, float32(math.Inf(1))},
	} {
		if _, err := x.Nearest(t.Context(), Query{Vector: v, K: 3}); err == nil {
			t.Errorf("%v was searched for", v)
		}
	}
	if near, err := x.Nearest(t.Context(), Query{Vector: normal(rand.New(rand.NewPCG(1, 2)), 8)}); err != nil || len(near) != 0 {
		t.Errorf("none were asked for: %v %v", near, err)
	}
}

func TestEqualVectorsAreAllFound(t *testing.T) {
	t.Parallel()
	const dim = 128
	one := sphere(rand.New(rand.NewPCG(8, 8)), dim)
	same := one()
	f := &facts{}
	for i := range 9000 {
		v := same
		if i%2 == 1 {
			v = one()
		}
		f.add(Row{Group: 1}, v)
	}
	x := still(t, f, dim)
	caughtUp(t, x)
	near, err := x.Nearest(context.Background(), Query{Vector: same, K: 10})
	must(t, err)
	for _, n := range near {
		if n.Cos < 0.9999 {
			t.Errorf("%+v", n)
		}
	}
}
