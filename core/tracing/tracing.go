// Package tracing keeps what was sent to models and what came back, for a person who wants to see it.
//
// Promises: nothing is kept unless that is turned on; a trace has no value of a sealed variable; what is kept is bounded in bytes
// and age. A trace that can't be kept fails nobody's run.
//
// Layer 2: it imports core.
package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"loci/core"
)

// The bounds that count unless a Config has others.
const (
	defaultKeep  = 24 * time.Hour
	defaultBytes = 64 << 20
)

// maxBody bounds what is kept of a request or a response, in bytes.
const maxBody = 8 << 20

// expireAfter is how many traces are kept before old ones are looked for.
const expireAfter = 32

// Config joins what a Recorder uses. Store is required.
type Config struct {
	On     bool
	Store  core.TraceStore
	Veil   func(ctx context.Context, agent core.AgentID) (*core.Veil, error) // nil: there are no variables
	Keep   time.Duration                                                     // 0: a day
	Bytes  int64                                                             // of all traces, as they lie on the disk; 0: 64 MB
	Clock  func() time.Time                                                  // nil: time.Now
	Logger *slog.Logger                                                      // nil: discarded
}

// Recorder keeps traces. It is safe for concurrent use.
type Recorder struct {
	cfg  Config
	puts atomic.Int64
}

var _ core.TraceSink = (*Recorder)(nil)

// New returns a recorder.
func New(cfg Config) *Recorder {
	if cfg.Keep <= 0 {
		cfg.Keep = defaultKeep
	}
	if cfg.Bytes <= 0 {
		cfg.Bytes = defaultBytes
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{cfg: cfg}
}

// On reports whether traces are kept.
func (r *Recorder) On() bool { return r.cfg.On }

// Record implements core.TraceSink.
func (r *Recorder) Record(ctx context.Context, t *core.Trace) {
	if !r.cfg.On {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.record(ctx, *t); err != nil {
		r.cfg.Logger.WarnContext(ctx, "a trace is not kept", slog.String("model", string(t.Model)), slog.Any("error", err))
	}
}

func (r *Recorder) record(ctx context.Context, t core.Trace) error {
	if r.cfg.Veil != nil {
		veil, err := r.cfg.Veil(ctx, t.Agent)
		if err != nil {
			return err // whether a value stands in it can't be told
		}
		t.Request.Body, t.Response.Body, t.Error = veil.Text(t.Request.Body), veil.Text(t.Response.Body), veil.Text(t.Error)
	}
	cut(&t.Request)
	cut(&t.Response)
	if err := r.cfg.Store.Put(ctx, &t); err != nil {
		return err
	}
	if r.puts.Add(1)%expireAfter == 0 {
		return r.Expire(ctx)
	}
	return nil
}

// cut bounds a body, and halves no character of it.
func cut(p *core.TracedPart) {
	if n := len(p.Body); n > maxBody {
		end := maxBody
		for end > maxBody-utf8.UTFMax && !utf8.RuneStart(p.Body[end]) {
			end--
		}
		p.Body, p.Cut = p.Body[:end], p.Cut+n-end
	}
}

// List returns the traces of a step or of a run.
func (r *Recorder) List(ctx context.Context, q core.TraceQuery) ([]core.Trace, error) {
	return r.cfg.Store.List(ctx, q)
}

// Expire deletes what is too old, or too much. Without traces to keep, there are none.
func (r *Recorder) Expire(ctx context.Context) error {
	before, most := r.cfg.Clock().Add(-r.cfg.Keep), r.cfg.Bytes
	if !r.cfg.On {
		most = 0
	}
	return r.cfg.Store.Expire(ctx, before, most)
}
