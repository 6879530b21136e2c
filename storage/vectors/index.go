package vectors

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Row is a stored vector and the fields that filters use. A stored vector never changes: an update is a deletion plus a
// row with a higher id.
type Row struct {
	ID     int64
	Owner  int64 // number of the text it belongs to; newer texts have higher numbers
	Group  uint64
	Thread uint64
	Role   uint8 // below 64
	At     int64
	Data   []byte // little-endian, normalised
}

// Bounds says what the facts hold.
type Bounds struct {
	Last   int64 // the highest id ever given
	Gone   int64 // the last deletion
	Pruned int64 // deletions up to here are no longer on record
}

// Source reads the facts.
type Source interface {
	Bounds(ctx context.Context) (Bounds, error)
	// Rows calls yield with the rows after an id, in order, at most limit; their data is valid only during the call.
	Rows(ctx context.Context, after int64, limit int, yield func(Row) error) error
	// Gone returns the ids of rows deleted after a given deletion, in order, and the last of those deletions.
	Gone(ctx context.Context, after int64, limit int) (ids []int64, last int64, err error)
	// Vectors calls yield with the data of those ids that are stored now; data is valid only during the call.
	Vectors(ctx context.Context, ids []int64, yield func(id int64, data []byte)) error
}

// Config says what an index is for.
type Config struct {
	Path   string // of its files, without the extension
	Home   string // uuid of the home
	Set    int64  // which of its vector sets
	Dim    int
	Before int64 // the epoch before the facts were opened this time; a code file from any other isn't trusted
	Now    int64 // the epoch since then
	Source Source
	Logger *slog.Logger
	// Threads bounds the goroutines of a search; 0: two, or as many as there are cores.
	Threads int
}

// Batch sizes, intervals and thresholds of the index's own work.
const (
	batchRows       = 512
	checkpointEvery = 5 * time.Second
	retryAfter      = time.Second
	firstMean       = 256  // rows needed for a mean
	betterMean      = 4096 // rows at which a mean of fewer is recomputed, and again at 16 times as many
	deadShare       = 4    // the codes are rebuilt once one row in this many is deleted
)

// Index is an open index. It is safe for use from many goroutines.
type Index struct {
	cfg    Config
	rot    *rotation
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{}   // buffered, one
	asked  chan chan error // from Purge
	ended  chan struct{}   // closed when the index's goroutine has ended
	broken atomic.Bool     // a search found the file damaged
	saved  atomic.Int64    // the last deletion recorded in the file

	applying chan struct{} // one slot: its holder applies the facts
	encoders []*encoder    // for cur; used by the holder of applying

	mu  sync.RWMutex // guards cur and everything in it; searches hold it for reading while they scan
	cur *state

	samples samples
}

// Open opens the index or starts building it, and starts its goroutine. It doesn't read any vectors.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	if cfg.Dim < 1 || cfg.Dim > MaxDim {
		return nil, errors.New("vectors of this dimension cannot be indexed")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Threads <= 0 {
		cfg.Threads = min(2, runtime.GOMAXPROCS(0))
	}
	x := &Index{cfg: cfg, rot: newRotation(cfg.Dim), wake: make(chan struct{}, 1), applying: make(chan struct{}, 1)}
	x.asked, x.ended = make(chan chan error), make(chan struct{})
	bounds, err := cfg.Source.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	s, why := x.reuse(bounds)
	if s == nil {
		if bounds.Last > 0 {
			cfg.Logger.InfoContext(ctx, "the vector index is built anew", slog.Int64("set", cfg.Set), slog.String("reason", why))
		}
		if s, err = x.fresh(bounds.Gone); err != nil {
			return nil, err
		}
	}
	x.install(s)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x.cancel = cancel
	x.wg.Go(func() {
		defer close(x.ended)
		x.tend(run)
	})
	x.Nudge()
	return x, nil
}

// Close saves what is needed to continue from here and closes the file.
func (x *Index) Close() {
	x.cancel()
	x.wg.Wait()
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	if err := x.checkpoint(); err != nil && !x.broken.Load() {
		x.cfg.Logger.Warn("the vector index was not saved", slog.Any("error", err))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cur.close()
}

// Nudge tells the index that something was committed. It never blocks.
func (x *Index) Nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Saved returns the last deletion recorded in the file: records of older ones are no longer needed.
func (x *Index) Saved() int64 { return x.saved.Load() }

// Stats describes the index's size and state.
type Stats struct {
	Rows, Slots int
	Resident    int  // bytes of heap, without samples
	Building    bool // it hasn't seen everything yet
	Doubted     bool // it hasn't been read completely since the start, or was found damaged
}

// Stats returns the index's size and state.
func (x *Index) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.cur
	heap := len(s.live)*8 + len(s.slots)*pageOwners*4
	for i := range s.blocks {
		if i >= s.full || !mapped {
			heap += s.l.total
		}
	}
	return Stats{Rows: s.alive, Slots: s.rows, Resident: heap, Building: s.missed, Doubted: s.doubted > 0 || x.broken.Load()}
}

// install makes s the current state. The caller holds applying or has the index to itself.
func (x *Index) install(s *state) {
	encoders := make([]*encoder, x.cfg.Threads)
	for i := range encoders {
		encoders[i] = newEncoder(x.rot, s.mean)
	}
	x.mu.Lock()
	old := x.cur
	x.cur, x.encoders = s, encoders
	x.mu.Unlock()
	if old != nil {
		old.close()
		_ = removeFile(old.path)
	}
}

// Apply takes in what the facts have and the index doesn't: rows first, then deletions, so that a row deleted before it
// was read never shows up. It reports whether the index has everything committed before the call.
func (x *Index) Apply(ctx context.Context) (bool, error) {
	bounds, err := x.cfg.Source.Bounds(ctx)
	if err != nil || x.upTo(bounds) {
		return err == nil, err
	}
	for {
		select {
		case x.applying <- struct{}{}:
		case <-ctx.Done():
			return false, nil
		}
		more, err := x.step(ctx, x.cur, x.encoders)
		if err == nil && !more {
			x.mu.Lock()
			x.cur.known = bounds
			x.mu.Unlock()
		}
		<-x.applying
		if err != nil {
			if ctx.Err() != nil {
				return false, nil //nolint:nilerr // a caller that gives up learns that the index is incomplete
			}
			return false, err
		}
		if !more || x.upTo(bounds) {
			return true, nil
		}
	}
}

// upTo reports whether the index has everything within the bounds.
func (x *Index) upTo(b Bounds) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.cur
	return max(s.last, s.known.Last) >= b.Last && max(s.gone, s.known.Gone) >= b.Gone
}

// step applies one batch to a state. The caller holds applying.
func (x *Index) step(ctx context.Context, s *state, encoders []*encoder) (more bool, err error) {
	n, err := x.takeRows(ctx, s, encoders)
	if err != nil {
		return false, err
	}
	ids, last, err := x.cfg.Source.Gone(ctx, s.gone, 8*batchRows)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	err = guarded(func() (err error) {
		for i := 0; i < len(ids) && err == nil; i++ {
			err = s.drop(ids[i])
		}
		return err
	})
	if err != nil {
		x.spoiled(err)
		return false, err
	}
	s.gone = max(s.gone, last)
	more = n == batchRows || len(ids) == 8*batchRows
	s.missed = s.missed && more
	return more, nil
}

// takeRows reads, encodes and adds one batch.
func (x *Index) takeRows(ctx context.Context, s *state, encoders []*encoder) (int, error) {
	rows := make([]coded, 0, batchRows)
	var floats [][]float32
	err := x.cfg.Source.Rows(ctx, s.last, batchRows, func(r Row) error {
		v := Floats(r.Data, x.cfg.Dim)
		if v == nil {
			v = make([]float32, x.cfg.Dim) // can't be a vector checked on storing; a zero vector is near nothing
		}
		r.Data = nil
		rows, floats = append(rows, coded{row: r}), append(floats, v)
		return nil
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	encode(rows, floats, encoders, s.l)
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range rows {
		if rows[i].row.ID <= s.last {
			return 0, errors.New("rows came out of order")
		}
		s.push(&rows[i])
		if s.rows%blockRows == 0 {
			if err := s.seal(); err != nil {
				return 0, err
			}
		}
	}
	return len(rows), nil
}

func encode(rows []coded, floats [][]float32, encoders []*encoder, l layout) {
	part := func(e *encoder, rows []coded, floats [][]float32) {
		planes := make([]uint64, len(rows)*l.words*codeBits)
		for i := range rows {
			c := &rows[i]
			c.signs, planes = planes[:l.words], planes[l.words:]
			c.rest, planes = planes[:l.words*(codeBits-1)], planes[l.words*(codeBits-1):]
			c.f, c.offset = e.encode(floats[i], c.signs, c.rest)
		}
	}
	if len(rows) < 64 {
		part(encoders[0], rows, floats)
		return
	}
	var wg sync.WaitGroup
	size := (len(rows) + len(encoders) - 1) / len(encoders)
	for i, e := range encoders {
		from, to := min(i*size, len(rows)), min((i+1)*size, len(rows))
		wg.Go(func() { part(e, rows[from:to], floats[from:to]) })
	}
	wg.Wait()
}

// tend is the index's goroutine: it follows the facts, saves its progress, and rebuilds the codes when that pays off.
func (x *Index) tend(ctx context.Context) {
	save := time.NewTicker(checkpointEvery)
	defer save.Stop()
	for ctx.Err() == nil {
		err := x.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.cfg.Logger.WarnContext(ctx, "the vector index failed and is built anew", slog.Int64("set", x.cfg.Set), slog.Any("error", err))
			if !rest(ctx, retryAfter) {
				return
			}
			if err := x.restart(ctx); err != nil {
				x.cfg.Logger.WarnContext(ctx, "the vector index cannot be made", slog.Any("error", err))
			}
			continue
		}
		select {
		case <-x.wake:
		case <-save.C:
		case done := <-x.asked:
			done <- x.purge(ctx)
		case <-ctx.Done():
		}
	}
}

// Purge rebuilds the codes if rows were deleted, so that nothing of them is left in the file.
func (x *Index) Purge(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case x.asked <- done:
	case <-x.ended:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errClosed = errors.New("the index is closed")

func (x *Index) purge(ctx context.Context) error {
	err := x.renewWithout(ctx)
	if errors.Is(err, ErrDamaged) {
		return x.restart(ctx) // a new file contains nothing of them either
	}
	return err
}

// renewWithout rebuilds the codes if rows were deleted.
func (x *Index) renewWithout(ctx context.Context) error {
	if _, err := x.Apply(ctx); err != nil {
		return err
	}
	x.mu.RLock()
	clean := x.cur.rows == x.cur.alive
	x.mu.RUnlock()
	if clean {
		return nil
	}
	return x.renew(ctx)
}

func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (x *Index) round(ctx context.Context) error {
	if x.broken.Load() {
		return ErrDamaged
	}
	if err := x.verify(ctx); err != nil {
		return err
	}
	if _, err := x.Apply(ctx); err != nil {
		return err
	}
	if x.stale() {
		if err := x.renew(ctx); err != nil {
			return err
		}
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	return x.checkpoint()
}

// read runs do on the current state. If the codes turn out to be damaged, they are rebuilt.
func (x *Index) read(do func(s *state) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	err := guarded(func() error { return do(x.cur) })
	x.spoiled(err)
	return err
}

// spoiled has the codes rebuilt if an error says that they are damaged.
func (x *Index) spoiled(err error) {
	if errors.Is(err, ErrDamaged) {
		x.broken.Store(true)
		x.Nudge()
	}
}

// verify reads what startup skipped: the parts of blocks from which a search reads only a few rows.
func (x *Index) verify(ctx context.Context) error {
	for doubted := true; doubted; {
		err := x.read(func(s *state) error {
			if doubted = s.doubted > 0; !doubted {
				return nil
			}
			if b := s.blocks[s.doubted-1]; b.coldSum(s.l) != b.sums[1] {
				return ErrDamaged
			}
			return ctx.Err()
		})
		if err != nil || !doubted {
			return err
		}
		x.mu.Lock()
		x.cur.doubted = max(0, x.cur.doubted-1)
		x.mu.Unlock()
	}
	return nil
}

// restart starts over with an empty state, which can be searched while it fills.
func (x *Index) restart(ctx context.Context) error {
	bounds, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	s, err := x.fresh(bounds.Gone)
	if err != nil {
		return err
	}
	x.install(s)
	x.broken.Store(false)
	return nil
}

// stale reports whether the codes should be rebuilt: with a mean over more rows, or without deleted rows.
func (x *Index) stale() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.cur
	dead := s.rows - s.alive
	return s.rows >= betterMean && s.meanRows < firstMean ||
		s.rows >= 16*betterMean && s.meanRows < betterMean ||
		dead > blockRows && dead*deadShare > s.rows
}

// renew builds a second state beside the current one and swaps it in once it has everything.
func (x *Index) renew(ctx context.Context) error {
	bounds, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	s, err := x.fresh(bounds.Gone)
	if err != nil {
		return err
	}
	if s.mean, s.meanRows, err = x.meanOf(ctx); err == nil {
		s.file, err = s.file.remade(s.mean)
	}
	encoders := make([]*encoder, x.cfg.Threads)
	for i := range encoders {
		encoders[i] = newEncoder(x.rot, s.mean)
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = x.step(ctx, s, encoders)
		}
	}
	if err != nil {
		s.close()
		_ = removeFile(s.path)
		return err
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	x.install(s) // what was committed meanwhile is applied next, as always
	return nil
}

// meanOf returns the mean of rows sampled evenly from all of them.
func (x *Index) meanOf(ctx context.Context) ([]float32, int, error) {
	var ids []int64
	err := x.read(func(s *state) error {
		for slot, stride := 0, max(1, s.rows/betterMean); slot < s.rows; slot += stride {
			b, row := s.at(slot)
			ids = append(ids, b.id(row))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	sum, n := make([]float64, x.cfg.Dim), 0
	for part := range slices.Chunk(ids, batchRows) {
		err := x.cfg.Source.Vectors(ctx, part, func(_ int64, data []byte) {
			for i, v := range Floats(data, x.cfg.Dim) {
				sum[i] += float64(v)
			}
			n++
		})
		if err != nil {
			return nil, 0, err
		}
	}
	mean := make([]float32, x.cfg.Dim)
	for i, v := range sum {
		mean[i] = float32(v / float64(max(n, 1)))
	}
	return mean, n, nil
}

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
func (x *Index) scan(unit []float32, in *Query) ([]scored, error) {
	var found []scored
	err := x.read(func(s *state) (err error) {
		found, err = s.scan(newQuery(newEncoder(x.rot, s.mean), unit), &in.Filter, in.K, x.cfg.Threads)
		return err
	})
	return found, err
}

// settle reads the floats of the best rows in batches until no other row can be among them.
//
// The result is not whole if rows that belong in it are no longer stored.
func (x *Index) settle(ctx context.Context, unit []float32, found []scored, k int) (best []Near, whole bool, err error) {
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
