// Package index is what search reads: what was read of messages and passages when they were written, and postings of
// their normalised words, in a file of its own. It is derived from the facts and owns nothing: one goroutine follows the facts' changes after their
// commit, in batches, and builds the file anew when it is missing, damaged, of another version or of another home.
//
// A search waits until the index has what was committed before it began, for a bounded time, so it reads its own writes.
// It imports core/search and a SQL binder; storage opens
// its files and reads the facts for it.
package index

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// Kind is what a document is.
type Kind string

// The kinds of documents.
const (
	Message Kind = "message"
	Passage Kind = "passage"
)

// Change is an entry of the facts' list of changes.
type Change struct {
	Seq  int64  `db:"seq"`
	Kind string `db:"kind"`
	ID   string `db:"id"`
	Op   string `db:"op"`
}

// Doc is a text that search may find. Owner is the agent of a message or the archive of a passage, Thread a message's
// conversation.
type Doc struct {
	Seq    int64 // rising within its kind
	ID     string
	Owner  string
	Thread string
	File   string // whose part it is; empty: none. It is no turn of a conversation then
	Role   string
	Name   string // who said it, where the facts know
	At     int64  // microseconds
	Tags   []string
	Text   string
}

// Source reads the facts.
type Source interface {
	// Bounds returns the first and the last seq of the changes, 0 and 0 when there are none.
	Bounds(ctx context.Context) (first, last int64, err error)
	// Changes returns what follows after a seq, in order; fewer than the limit where the texts of the documents are long.
	Changes(ctx context.Context, after int64, limit int) ([]Change, error)
	// Docs returns those of the ids that may be found now.
	Docs(ctx context.Context, kind Kind, ids []string) ([]Doc, error)
	// All returns the documents of a kind after a seq, in order, fewer than the limit where texts are long, and the seq to
	// go on from; done when there are no more.
	All(ctx context.Context, kind Kind, after int64, limit int) (docs []Doc, next int64, done bool, err error)
}

// Config says what an index is of. Home and Before must match what stands in the file, else it is rebuilt; Now is
// written into it.
type Config struct {
	Path   string
	Home   string // uuid of the home
	Before int64  // the epoch before this opening of the facts
	Now    int64  // the epoch from this opening on
	Open   func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error)
	Source Source
	Logger *slog.Logger
}

// Index is an open index. It is safe for use from many goroutines.
type Index struct {
	cfg    Config
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // buffered, one: something was committed
	broken chan struct{} // buffered, one: a search met a damaged file
	rest   time.Duration // between failures

	mu       sync.RWMutex // guards files and replaced; searches hold it for reading
	files    *files
	replaced chan struct{} // closed once other files stand in their place

	stateMu sync.Mutex // guards applied and moved
	applied int64      // the last change that the index has; -1 while it is being built
	moved   chan struct{}
}

// files are the two pools of the index file.
type files struct{ w, r *sqlx.DB }

func (f *files) close() {
	if f != nil {
		_ = f.r.Close()
		_ = f.w.Close()
	}
}

const (
	batch      = 4000      // changes that are taken at once: the more there are, the less each costs
	buildBatch = 2000      // documents that a build writes at once
	dropBytes  = 8 << 20   // of what was read of documents that are removed at once
	firstFlush = 100_000   // entries of postings that a build gathers before it first writes them
	lastFlush  = 3_200_000 // … and at last: about 60 MB
)

// A build touches pages all over the file.
const (
	buildCache = `PRAGMA cache_size = -65536`
	usualCache = `PRAGMA cache_size = -8192; PRAGMA shrink_memory`
)

// Open opens the index, or begins to build it, and starts the indexer. It does not wait until the index has caught up.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	x := &Index{cfg: cfg, wake: make(chan struct{}, 1), broken: make(chan struct{}, 1), replaced: make(chan struct{}), applied: -1, moved: make(chan struct{}), rest: retryAfter}
	applied, why := x.reuse(ctx)
	if why != "" {
		if err := x.replace(ctx); err != nil {
			return nil, err
		}
		cfg.Logger.InfoContext(ctx, "the search index is built anew", slog.String("reason", why))
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x.cancel = cancel
	if why == "" {
		x.reached(applied)
	}
	x.wg.Go(func() { x.follow(run) })
	return x, nil
}

// Close stops the indexer and closes the file.
func (x *Index) Close() {
	x.cancel()
	x.wg.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files.close()
	x.files = nil
}

// Nudge says that something was committed. It never waits.
func (x *Index) Nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Applied returns the last change that the index has, -1 while it is being built.
func (x *Index) Applied() int64 {
	x.stateMu.Lock()
	defer x.stateMu.Unlock()
	return x.applied
}

func (x *Index) reached(seq int64) {
	x.stateMu.Lock()
	defer x.stateMu.Unlock()
	x.applied = seq
	close(x.moved)
	x.moved = make(chan struct{})
}

// Wait returns true once the index has the change seq, false when it does not get there within the patience.
func (x *Index) Wait(ctx context.Context, seq int64, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		x.stateMu.Lock()
		applied, moved := x.applied, x.moved
		x.stateMu.Unlock()
		if applied >= seq {
			return true
		}
		x.Nudge()
		select {
		case <-moved:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// reuse opens the existing file and returns how far it got, or why it cannot be used.
func (x *Index) reuse(ctx context.Context) (applied int64, why string) {
	if _, err := os.Stat(x.cfg.Path); err != nil {
		return 0, "missing"
	}
	f, err := x.pools(ctx)
	if err != nil {
		return 0, "unreadable: " + err.Error()
	}
	applied, why = x.inspect(ctx, f)
	if why != "" {
		f.close()
		return 0, why
	}
	x.files = f
	return applied, ""
}

func (x *Index) inspect(ctx context.Context, f *files) (applied int64, why string) {
	var m marks
	if err := m.read(ctx, f.w); err != nil {
		return 0, "damaged: " + err.Error()
	}
	first, last, err := x.cfg.Source.Bounds(ctx)
	switch {
	case err != nil:
		return 0, "the facts cannot be read: " + err.Error()
	case m.Version != version():
		return 0, "of another version"
	case m.Home != x.cfg.Home:
		return 0, "of another home"
	case m.Epoch != x.cfg.Before:
		return 0, "of another state of the facts"
	case m.Applied < 0:
		return 0, "unfinished"
	case m.Applied > last:
		return 0, "ahead of the facts"
	case first > m.Applied+1:
		return 0, "too far behind"
	}
	if err := probe(ctx, f.w); err != nil {
		return 0, "damaged: " + err.Error()
	}
	if err := setMark(ctx, f.w, "epoch", x.cfg.Now); err != nil {
		return 0, "not writable: " + err.Error()
	}
	return m.Applied, ""
}

func (x *Index) pools(ctx context.Context) (*files, error) {
	w, err := x.cfg.Open(ctx, x.cfg.Path, false)
	if err != nil {
		return nil, err
	}
	r, err := x.cfg.Open(ctx, x.cfg.Path, true)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return &files{w: w, r: r}, nil
}

// replace removes the file and makes an empty one, which build fills.
func (x *Index) replace(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files.close()
	x.files = nil
	x.isBroken() // of the file that is removed here
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(x.cfg.Path + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	f, err := x.pools(ctx)
	if err != nil {
		return err
	}
	if err := create(ctx, f.w, x.cfg.Home, x.cfg.Now); err != nil {
		f.close()
		return err
	}
	if err := os.Chmod(x.cfg.Path, 0o600); err != nil {
		f.close()
		return err
	}
	x.files = f
	close(x.replaced)
	x.replaced = make(chan struct{})
	return nil
}
