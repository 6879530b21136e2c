package vectors

import (
	"container/heap"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

const (
	sampleRows  = 1024     // up to this many rows, the sample is all of them and each is compared
	spreadRows  = 256      // with more rows, how many measure the distribution of cosines
	sampleBytes = 12 << 20 // for all cached samples
)

// sample is up to sampleRows rows of some groups with their floats: those whose owners have the lowest hashes, so that
// it depends only on which rows exist. If there are no more rows than that, it is all of them.
type sample struct {
	of    *state
	rows  int // slots examined
	gone  int // rows deleted at that time
	whole bool
	at    []member // by hash
	used  int64
}

type member struct {
	hash  uint64
	owner int64
	id    int64
	slot  int
	data  []byte
}

// samples caches the most recently used samples.
type samples struct {
	mu    sync.Mutex // guards the rest
	of    map[string]*sample
	clock int64
}

func (s *samples) get(key string) *sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	found := s.of[key]
	if found != nil {
		found.used = s.clock
	}
	return found
}

func (s *samples) put(key string, one *sample, dim int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*sample{}
	}
	s.clock++
	one.used = s.clock
	s.of[key] = one
	for total := 0; ; total = 0 {
		oldest := key
		for k, v := range s.of {
			total += len(v.at) * (4*dim + 64)
			if v.used < s.of[oldest].used {
				oldest = k
			}
		}
		if total <= sampleBytes || oldest == key {
			return
		}
		delete(s.of, oldest)
	}
}

// highest is a heap of members, highest hash first.
type highest []member

func (h highest) Len() int           { return len(h) }
func (h highest) Less(i, j int) bool { return h[i].hash > h[j].hash }
func (h highest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *highest) Push(v any)        { *h = append(*h, v.(member)) } //nolint:forcetypeassert // only members are pushed
func (h *highest) Pop() any          { v := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return v }

// sampleOf returns the groups' sample, brought up to date.
func (x *Index) sampleOf(ctx context.Context, groups []uint64) (*sample, error) {
	key := make([]byte, 0, 8*len(groups))
	for _, g := range groups {
		key = binary.LittleEndian.AppendUint64(key, g)
	}
	old := x.samples.get(string(key))
	var one *sample
	err := x.read(func(s *state) error { one = s.draw(old, groups); return nil })
	if err != nil || one == old {
		return one, err
	}
	if err := x.fill(ctx, one, old); err != nil {
		return nil, err
	}
	x.samples.put(string(key), one, x.cfg.Dim)
	return one, nil
}

// draw returns the old sample if it is still valid, one that extends it, or a new one.
func (s *state) draw(old *sample, groups []uint64) *sample {
	dead := s.rows - s.alive
	one := &sample{of: s, rows: s.rows, gone: dead, whole: true}
	from := 0
	if old != nil && old.of == s {
		if old.rows == s.rows && old.gone == dead {
			return old
		}
		intact := old.gone == dead || !slices.ContainsFunc(old.at, func(m member) bool { return !s.isLive(m.slot) })
		if intact {
			one.at, one.whole, from = slices.Clone(old.at), old.whole, old.rows
		}
	}
	h := highest(one.at)
	heap.Init(&h)
	f := Filter{Groups: groups}
	for word := from / 64; word*64 < s.rows; word++ {
		mask := s.pass(&f, word)
		if word*64 < from {
			mask &= ^uint64(0) << (from % 64)
		}
		if mask == 0 {
			continue
		}
		b, at := s.at(word * 64)
		for i := range 64 {
			if mask>>i&1 == 0 {
				continue
			}
			hash := scramble(uint64(b.owners[at+i]))
			if len(h) == sampleRows {
				one.whole = false
				if hash >= h[0].hash {
					continue
				}
				heap.Pop(&h)
			}
			heap.Push(&h, member{hash: hash, owner: b.owners[at+i], id: b.id(at + i), slot: word*64 + i})
		}
	}
	slices.SortFunc(h, func(a, b member) int {
		switch {
		case a.hash < b.hash:
			return -1
		case a.hash > b.hash:
			return 1
		}
		return 0
	})
	one.at = h
	return one
}

// fill reads the floats that the older sample didn't have.
func (x *Index) fill(ctx context.Context, one, old *sample) error {
	known := map[int64][]byte{}
	if old != nil {
		for _, m := range old.at {
			known[m.id] = m.data
		}
	}
	var ids []int64
	for _, m := range one.at {
		if m.data == nil && known[m.id] == nil {
			ids = append(ids, m.id)
		}
	}
	err := x.cfg.Source.Vectors(ctx, ids, func(id int64, data []byte) {
		if len(data) == 4*x.cfg.Dim {
			known[id] = slices.Clone(data)
		}
	})
	if err != nil {
		return err
	}
	at := one.at[:0]
	for _, m := range one.at {
		if m.data = known[m.id]; m.data != nil { // nil: deleted a moment ago
			at = append(at, m)
		}
	}
	one.at = at
	return nil
}

// Spread is the distribution of a query's cosines over all rows of some groups.
type Spread struct {
	Mean, SD float64
	Rows     int // rows examined
}

// Spread measures the cosines of a query over the groups (no groups means all): exactly if there are few rows, else over
// a sample that depends only on which rows exist.
func (x *Index) Spread(ctx context.Context, vector []float32, groups []uint64) (Spread, error) {
	unit, ok := Unit(vector)
	if !ok || len(unit) != x.cfg.Dim {
		return Spread{}, ErrQuery
	}
	groups = slices.Clone(groups)
	slices.Sort(groups)
	one, err := x.sampleOf(ctx, groups)
	if err != nil || len(one.at) == 0 {
		return Spread{}, err
	}
	var sum, squares float64
	at := one.at
	if !one.whole {
		at = at[:min(spreadRows, len(at))]
	}
	for _, m := range at {
		c := dot(unit, m.data)
		sum += c
		squares += c * c
	}
	n := float64(len(at))
	mean := sum / n
	return Spread{Mean: mean, SD: math.Sqrt(max(0, squares/n-mean*mean)), Rows: len(at)}, nil
}

// nearestOfFew answers from the sample if the sample is all there is; if not, ok is false.
func (x *Index) nearestOfFew(ctx context.Context, unit []float32, in Query) (near []Near, ok bool, err error) {
	one, err := x.sampleOf(ctx, in.Filter.Groups)
	if err != nil || !one.whole {
		return nil, false, err
	}
	var within []member
	err = x.read(func(s *state) error {
		ok = s == one.of
		for i := 0; ok && i < len(one.at); i++ {
			if m := one.at[i]; s.pass(&in.Filter, m.slot/64)>>(m.slot%64)&1 == 1 {
				within = append(within, m)
			}
		}
		return nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	for _, m := range within {
		near = append(near, Near{Owner: m.owner, Cos: dot(unit, m.data)})
	}
	return top(near, in.K), true, nil
}
