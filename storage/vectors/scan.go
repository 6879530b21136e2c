package vectors

import (
	"cmp"
	"math"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	oneThread  = 20_000 // up to this many rows, a second goroutine isn't worth starting
	readAhead  = 16     // rows whose cache lines are touched before the first is used
	fewRows    = 5      // with fewer than this many of 64 left, rows are examined one by one
	maxRefined = 16_384
	minWaiting = 16_384
)

// candidate is a row with its estimated cosine and that estimate's possible error.
type candidate struct {
	slot      int32
	id, owner int64
	score     float32
	slack     float32
}

// bound is the best score known to be among the k best: the k-th best of the fully refined rows. It only rises, and all
// goroutines of a search share it.
type bound struct {
	value atomic.Uint32 // bits of a float32
	mu    sync.Mutex    // guards best
	best  []float32     // a heap, smallest first
	k     int
}

func newBound(k int) *bound {
	b := &bound{k: k, best: make([]float32, 0, k)}
	b.value.Store(math.Float32bits(float32(math.Inf(-1))))
	return b
}

func (b *bound) get() float32 { return math.Float32frombits(b.value.Load()) }

func (b *bound) add(score float32) {
	if score <= b.get() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.best) < b.k {
		b.best = append(b.best, score)
		if len(b.best) < b.k {
			return
		}
		slices.Sort(b.best) // a sorted list is a heap
	} else if score > b.best[0] {
		b.best[0] = score
		sift(b.best)
	}
	b.value.Store(math.Float32bits(b.best[0]))
}

func sift(heap []float32) {
	for at := 0; ; {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(heap); child++ {
			if heap[child] < heap[least] {
				least = child
			}
		}
		if least == at {
			return
		}
		heap[at], heap[least] = heap[least], heap[at]
		at = least
	}
}

// scan runs the cascade over all rows that pass the filter and returns those that may be among the k best, best first.
func (s *state) scan(q *query, f *Filter, k, threads int) (found []candidate, err error) {
	if s.rows < oneThread {
		threads = 1
	}
	top := newBound(k)
	var next atomic.Int64
	workers := make([]worker, max(threads, 1))
	var wg sync.WaitGroup
	for i := range workers {
		w := &workers[i]
		*w = worker{s: s, q: q, f: f, top: top, maxWaiting: max(minWaiting, s.rows/16)}
		run := func() { w.err = guarded(func() error { w.run(&next); return nil }) }
		if i == len(workers)-1 {
			run()
			break
		}
		wg.Go(run)
	}
	wg.Wait()
	for i := range workers {
		if workers[i].err != nil {
			return nil, workers[i].err
		}
		found = append(found, workers[i].refined...)
	}
	return keep(found, top.get()), nil
}

// keep drops what can no longer be among the best and sorts the rest.
func keep(found []candidate, least float32) []candidate {
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.score+c.slack < least })
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	return found
}

// worker is one goroutine of a scan.
type worker struct {
	s          *state
	q          *query
	f          *Filter
	top        *bound
	waiting    []estimate
	maxWaiting int
	refined    []candidate
	err        error
}

type estimate struct {
	slot  int32
	score float32
}

// guarded reads mapped memory. If a mapped file was truncated or is on a failing disk, the result is an error, not a
// crash.
func guarded(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			if _, fault := v.(interface{ Addr() uintptr }); !fault {
				panic(v)
			}
			err = ErrDamaged
		}
	}()
	return read()
}

// run takes blocks until none are left.
func (w *worker) run(next *atomic.Int64) {
	for {
		at := int(next.Add(1)) - 1
		if at >= len(w.s.blocks) {
			break
		}
		w.block(at)
		if len(w.waiting) > w.maxWaiting {
			w.flush()
		}
	}
	w.flush()
}

// block scans one block, 64 rows at a time.
func (w *worker) block(at int) {
	b := w.s.blocks[at]
	words := (b.n + 63) / 64
	for word := range words {
		mask := w.s.pass(w.f, at*(blockRows/64)+word)
		if mask == 0 {
			continue
		}
		least := w.top.get() - w.q.base
		if bits.OnesCount64(mask) >= fewRows {
			mask &= w.first(b, word*64, least)
		}
		for ; mask != 0; mask &= mask - 1 {
			w.second(b, at, word*64+bits.TrailingZeros64(mask))
		}
	}
}

// first returns which of 64 rows pass by their signs alone.
func (w *worker) first(b *block, from int, least float32) (m uint64) {
	n := w.s.l.words
	one, offsets := (*[64]float32)(b.one[from:]), (*[64]float32)(b.offsets[from:])
	length, scale, slack := float32(64*n), w.q.scale[stageSign], w.q.slack[stageSign]
	plane := w.q.coarse[0]
	signs := b.signs[from*n : (from+64)*n]
	switch n {
	case 2:
		return first2(signs, (*[2]uint64)(plane), one, offsets, scale, slack, least)
	case 12:
		return first12(signs, (*[12]uint64)(plane), one, offsets, scale, slack, least)
	}
	for i := range 64 {
		d := distance(signs[i*n:(i+1)*n], plane)
		m |= bit(one[i]*(scale*(length-2*float32(d))+slack)+offsets[i] >= least) << i
	}
	return m
}

// first2 is first for the built-in embedding.
func first2(signs []uint64, q *[2]uint64, one, offsets *[64]float32, scale, slack, least float32) (m uint64) {
	for i := range 64 {
		d := distance2((*[2]uint64)(signs[i*2:]), q)
		m |= bit(one[i]*(scale*(128-2*float32(d))+slack)+offsets[i] >= least) << i
	}
	return m
}

// first12 is first for the most common length of other embeddings, unrolled, since most of a search's time goes here.
func first12(signs []uint64, q *[12]uint64, one, offsets *[64]float32, scale, slack, least float32) (m uint64) {
	top, twice := scale*768+slack, 2*scale
	for i := range 64 {
		p := (*[12]uint64)(signs[i*12:])
		d := bits.OnesCount64(p[0]^q[0]) + bits.OnesCount64(p[1]^q[1]) + bits.OnesCount64(p[2]^q[2]) + bits.OnesCount64(p[3]^q[3]) +
			bits.OnesCount64(p[4]^q[4]) + bits.OnesCount64(p[5]^q[5]) + bits.OnesCount64(p[6]^q[6]) + bits.OnesCount64(p[7]^q[7]) +
			bits.OnesCount64(p[8]^q[8]) + bits.OnesCount64(p[9]^q[9]) + bits.OnesCount64(p[10]^q[10]) + bits.OnesCount64(p[11]^q[11])
		m |= bit(one[i]*(top-twice*float32(d))+offsets[i] >= least) << i
	}
	return m
}

// second adds the query's other planes. A row that beats the bound is refined at once, which raises the bound early; one
// that only might waits until the pass is over.
func (w *worker) second(b *block, at, row int) {
	n, q := w.s.l.words, w.q
	least := w.top.get() - q.base
	signs := b.signs[row*n : (row+1)*n]
	one, offset := b.one[row], b.offsets[row]
	length := float32(64 * n)
	p0, p1 := distances(signs, q.coarse[0], q.coarse[1])
	d := length - 2*float32(p0) + (length-2*float32(p1))/2
	if one*(q.scale[stagePair]*d+q.slack[stagePair])+offset < least {
		return
	}
	p2, p3 := distances(signs, q.coarse[2], q.coarse[3])
	d += (length-2*float32(p2))/4 + (length-2*float32(p3))/8
	score := one*q.scale[stageQuery]*d + offset
	if score+one*q.slack[stageQuery] < least {
		return
	}
	slot := at*blockRows + row
	if score >= least {
		w.refine(slot, score)
		return
	}
	w.waiting = append(w.waiting, estimate{slot: int32(slot), score: score})
}

// flush refines the waiting rows. It touches their cache lines first, a few rows at a time, so that cache misses
// overlap.
func (w *worker) flush() {
	n := w.s.l.words * (codeBits - 1)
	for chunk := range slices.Chunk(w.waiting, readAhead) {
		var touched uint64
		for _, c := range chunk {
			b, row := w.s.at(int(c.slot))
			touched |= b.rest[row*n] | uint64(math.Float32bits(b.two[row]))
		}
		sink.Store(touched)
		for _, c := range chunk {
			w.refine(int(c.slot), c.score)
		}
	}
	w.waiting = w.waiting[:0]
}

// sink keeps the compiler from dropping reads that only prefetch.
var sink atomic.Uint64

// refine adds the row's other planes.
func (w *worker) refine(slot int, score float32) {
	q := w.q
	b, row := w.s.at(slot)
	one, offset := b.one[row], b.offsets[row]
	least := w.top.get() - q.base
	if score+one*q.slack[stageQuery] < least {
		return
	}
	n := w.s.l.words
	signs, rest := b.signs[row*n:(row+1)*n], b.rest[row*n*(codeBits-1):(row+1)*n*(codeBits-1)]
	d := product(signs, q.coarse[:]) + product(rest[:n], q.coarse[:])/2
	if b.two[row]*q.scale[stageRow]*d+offset+one*q.slack[stageRow] < least {
		return
	}
	c := w.s.full6(q, slot)
	if c.score+c.slack < w.top.get() {
		return
	}
	w.top.add(c.score)
	w.refined = append(w.refined, c)
	if len(w.refined) >= 2*maxRefined {
		w.refined = keep(w.refined, w.top.get())
		w.refined = w.refined[:min(len(w.refined), maxRefined)]
	}
}

// full6 returns the best estimate that the codes allow.
func (s *state) full6(q *query, slot int) candidate {
	b, row := s.at(slot)
	n := s.l.words
	rest := b.rest[row*n*(codeBits-1) : (row+1)*n*(codeBits-1)]
	d := product(b.signs[row*n:(row+1)*n], q.fine[:])
	d += product(rest[:n], q.fine[:])/2 + product(rest[n:2*n], q.fine[:])/4 + product(rest[2*n:], q.fine[:])/8
	return candidate{
		slot: int32(slot), id: b.id(row), owner: b.owners[row],
		score: b.all[row]*q.scale[stageAll]*d + b.offsets[row] + q.base,
		slack: b.one[row] * q.slack[stageAll],
	}
}
