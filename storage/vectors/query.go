package vectors

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// Query asks for the nearest rows.
type Query struct {
	Vector []float32
	K      int
	Filter Filter
}

// Near is a row found, with the exact cosine.
type Near struct {
	Owner int64
	Cos   float64
}

const (
	maxFetch     = 128 // rows whose floats one search reads
	mostAttempts = 4   // of one search, if rows are deleted during it
)

// ErrQuery says that a query's vector can't be used: wrong dimension, length 0, NaN or infinity.
var ErrQuery = errors.New("the query's vector does not fit the index")

// Nearest returns the k nearest rows within the filter, best first.
func (x *Index) Nearest(ctx context.Context, in Query) ([]Near, error) {
	unit, ok := Unit(in.Vector)
	if !ok || len(unit) != x.cfg.Dim {
		return nil, ErrQuery
	}
	if in.K <= 0 {
		return nil, nil
	}
	slices.Sort(in.Filter.Groups)
	if near, ok, err := x.nearestOfFew(ctx, unit, in); ok || err != nil {
		return near, err
	}
	for attempt := 1; ; attempt++ {
		found, err := x.scan(unit, &in)
		if err != nil {
			return nil, err
		}
		near, whole, err := x.settle(ctx, unit, found, in.K)
		if whole || err != nil || attempt == mostAttempts {
			return near, err
		}
		if _, err := x.Apply(ctx); err != nil { // rows were deleted meanwhile
			return nil, err
		}
	}
}

// scan returns the rows that may be among the nearest.
func (x *Index) scan(unit []float32, in *Query) ([]candidate, error) {
	var found []candidate
	err := x.read(func(s *state) (err error) {
		found, err = s.scan(newQuery(newEncoder(x.rot, s.mean), unit), &in.Filter, in.K, x.cfg.Threads)
		return err
	})
	return found, err
}

// settle reads the floats of the best rows in batches until no other row can be among them.
//
// The result is not whole if rows that belong in it are no longer stored.
func (x *Index) settle(ctx context.Context, unit []float32, found []candidate, k int) (best []Near, whole bool, err error) {
	got, fetched, limit := 0, 0, max(maxFetch, 4*k)
	for len(found) > 0 && fetched < limit {
		if len(best) == k && float64(found[0].score+found[0].slack) < best[k-1].Cos {
			break
		}
		part := found[:min(readAhead, len(found))]
		if fetched == 0 {
			part = found[:min(max(readAhead, k), len(found))]
		}
		found, fetched = found[len(part):], fetched+len(part)
		ids, owners := make([]int64, len(part)), make(map[int64]int64, len(part))
		for i, c := range part {
			ids[i] = c.id
			owners[c.id] = c.owner
		}
		err := x.cfg.Source.Vectors(ctx, ids, func(id int64, data []byte) {
			if got++; len(data) == 4*len(unit) {
				best = append(best, Near{Owner: owners[id], Cos: dot(unit, data)})
			}
		})
		if err != nil {
			return nil, false, err
		}
		best = top(best, k)
	}
	return best, len(best) == k || got == fetched, nil
}

// top sorts and keeps the k best; equal ones stay in order of arrival.
func top(found []Near, k int) []Near {
	slices.SortFunc(found, func(a, b Near) int { return cmp.Or(cmp.Compare(b.Cos, a.Cos), cmp.Compare(a.Owner, b.Owner)) })
	return found[:min(k, len(found))]
}

// Cosines returns the cosines of those owners that have a vector. From the floor up they are exact; below it they may be
// estimates, which also stay below it.
func (x *Index) Cosines(ctx context.Context, vector []float32, owners []int64, floor float64) (map[int64]float64, error) {
	unit, ok := Unit(vector)
	if !ok || len(unit) != x.cfg.Dim {
		return nil, ErrQuery
	}
	out := make(map[int64]float64, len(owners))
	exact := map[int64]int64{} // id to owner
	err := x.read(func(s *state) error {
		q := newQuery(newEncoder(x.rot, s.mean), unit)
		for _, owner := range owners {
			slot, ok := s.slots.get(owner)
			if !ok || !s.isLive(slot) {
				continue
			}
			c := s.full6(q, slot)
			if math.IsInf(floor, -1) || float64(c.score+c.slack) >= floor {
				exact[c.id] = owner
				continue
			}
			out[owner] = float64(c.score)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(exact))
	for id := range exact {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, batchRows) {
		err := x.cfg.Source.Vectors(ctx, part, func(id int64, data []byte) {
			if len(data) == 4*len(unit) {
				out[exact[id]] = dot(unit, data)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
