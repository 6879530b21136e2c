package vectors

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
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
	rows := make([]encodedRow, 0, batchRows)
	var floats [][]float32
	err := x.cfg.Source.Rows(ctx, s.last, batchRows, func(r Row) error {
		v := Floats(r.Data, x.cfg.Dim)
		if v == nil {
			v = make([]float32, x.cfg.Dim) // can't be a vector checked on storing; a zero vector is near nothing
		}
		r.Data = nil
		rows, floats = append(rows, encodedRow{row: r}), append(floats, v)
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

func encode(rows []encodedRow, floats [][]float32, encoders []*encoder, l layout) {
	part := func(e *encoder, rows []encodedRow, floats [][]float32) {
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
