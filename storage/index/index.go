// Package index is what search reads: the parsed form of messages and passages and postings of their normalised words,
// in a file of its own. It is derived from the facts and owns nothing: one goroutine follows committed changes in
// batches, and rebuilds the file from scratch when it is missing, damaged, of another version or of another home.
//
// Wait blocks until the index has caught up with a commit, for a bounded time, so that a search reads its own writes. A
// View is what a search reads; it selects and counts but doesn't rank. The package imports core/search and a SQL binder;
// storage opens its files and reads the facts for it.
package index

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// Change is an entry in the facts' change log.
type Change struct {
	Seq  int64  `db:"seq"`
	Kind string `db:"kind"`
	ID   string `db:"id"`
	Op   string `db:"op"`
}

// Doc is a searchable text. Owner is a message's agent or a passage's archive; Thread is a message's conversation.
type Doc struct {
	Seq    int64 // increasing within its kind
	ID     string
	Owner  string
	Thread string
	File   string // the file it is part of; if set, the text isn't a conversation turn
	Role   string
	Name   string // the speaker, if known
	At     int64  // microseconds
	Tags   []string
	Text   string
}

// Source reads the facts.
type Source interface {
	// Bounds returns the first and last seq in the change log, 0 and 0 if it is empty.
	Bounds(ctx context.Context) (first, last int64, err error)
	// Changes returns the changes after a seq, in order; fewer than limit when their documents' texts are long.
	Changes(ctx context.Context, after int64, limit int) ([]Change, error)
	// Docs returns those of the ids that are searchable now.
	Docs(ctx context.Context, kind search.Kind, ids []string) ([]Doc, error)
	// All returns the documents of a kind after a seq, in order (fewer than limit when texts are long), and the seq to
	// continue from; done when there are no more.
	All(ctx context.Context, kind search.Kind, after int64, limit int) (docs []Doc, next int64, done bool, err error)
}

// Config says what an index is for. If Home or Before doesn't match the file, the index is rebuilt; Now is written to
// it.
type Config struct {
	Path   string
	Home   string // uuid of the home
	Before int64  // the epoch before the facts were opened this time
	Now    int64  // the epoch since then
	Open   func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error)
	Source Source
	Logger *slog.Logger
	// Classify converts the errors of views for the package that opened the index; nil leaves them as they are.
	Classify func(error) error
}

// Index is an open index. It is safe for use from many goroutines.
type Index struct {
	cfg    Config
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // buffered, one: something was committed
	broken chan struct{} // buffered, one: a search met a damaged file
	rest   time.Duration // wait between failures

	mu       sync.RWMutex // guards files and replaced; searches hold it for reading
	files    *files
	replaced chan struct{} // closed once new files have replaced these

	stateMu sync.Mutex // guards the rest
	applied int64      // the last change in the index; -1 during a build
	moved   chan struct{}
	damaged chan struct{} // replaced, as of the last files found damaged; nil: none were
}

// files holds the write and read pools of the index file.
type files struct{ w, r *sqlx.DB }

func (f *files) close() {
	if f != nil {
		_ = f.r.Close()
		_ = f.w.Close()
	}
}

const (
	batch      = 4000      // changes applied at once: the more there are, the less each costs
	buildBatch = 2000      // documents that a build writes at once
	dropBytes  = 8 << 20   // bytes of document data removed at once
	firstFlush = 100_000   // postings entries a build gathers before its first flush
	lastFlush  = 3_200_000 // … and before its later ones: about 60 MB
)

// Cache sizes: a build touches pages all over the file.
const (
	buildCache = `PRAGMA cache_size = -65536`
	usualCache = `PRAGMA cache_size = -8192; PRAGMA shrink_memory`
)

// Open opens the index, or starts building it, and starts the indexer. It doesn't wait for the index to catch up.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	x := &Index{
		cfg:      cfg,
		wake:     make(chan struct{}, 1),
		broken:   make(chan struct{}, 1),
		replaced: make(chan struct{}),
		applied:  -1,
		moved:    make(chan struct{}),
		rest:     retryAfter,
	}
	applied, why := x.reuse(ctx)
	if why != "" {
		if err := x.replace(ctx); err != nil {
			return nil, err
		}
		cfg.Logger.InfoContext(ctx, "rebuilding the search index", slog.String("reason", why))
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

// Nudge tells the indexer that something was committed. It never blocks.
func (x *Index) Nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Applied returns the last change in the index, -1 during a build.
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

// Wait returns true once the index has the change seq, false if that takes longer than patience. If the files turned out
// to be damaged, it first waits for their replacement.
func (x *Index) Wait(ctx context.Context, seq int64, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	x.stateMu.Lock()
	replaced := x.damaged
	x.stateMu.Unlock()
	if replaced != nil {
		select {
		case <-replaced:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
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

// reuse opens the existing file and returns how far it got, or why it can't be used.
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

// replace removes the file and creates an empty one for build to fill.
func (x *Index) replace(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files.close()
	x.files = nil
	x.isBroken() // discard reports about the file removed here
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
