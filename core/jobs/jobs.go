// Package jobs keeps the shell lines of agents while they run: those that a run waits for, and those that go on in the
// background after their call has returned. "Job" is the word for both, as the person sees them.
//
// Promises: a job has an owner, this registry, which waits for it; a run that ends takes the jobs it waits for with it; what goes
// on in the background ends when it is stopped or with the daemon. How many go on, and how many that have ended are
// remembered, is bounded. Nothing is stored.
//
// Layer 1, below tools and the daemon: it imports core.
package jobs

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
)

// Bounds of a registry.
const (
	MaxBackground = 16             // jobs that go on in the background at a time
	MaxEnded      = 32             // jobs that have ended and are remembered
	MaxBehind     = 24 * time.Hour // how long one goes on in the background
)

// Output is what a job writes; it is read while it is written.
type Output interface {
	// Text is what a model reads of it: bounded, and clean.
	Text() string
	// Source is where a text in it comes from that is not the person's, one a line; empty: from nowhere else.
	Source() string
	// Tail is the last rows, bounded and clean.
	Tail(rows int) string
}

// Work is a line that is to run.
type Work struct {
	Agent        core.AgentID
	Conversation core.ConversationID
	Run          core.RunID
	Call         string
	Client       core.Client // of the run; without its variables
	Command      string
	Folder       string
	Background   bool          // nobody waits for it
	Stays        bool          // it can't go to the background: what it returns has to be stored with its call
	Time         time.Duration // how long it may take while somebody waits for it
	Output       Output
	// Do runs it and returns when nothing of it is left. It ends soon after its context. An error means that Loci failed.
	Do func(ctx context.Context, l Line) (core.ToolResult, error)
}

// Job is a line that runs, or ran.
type Job struct {
	ID           string
	Agent        core.AgentID
	Conversation core.ConversationID
	Run          core.RunID
	Call         string
	Client       core.Client
	Command      string
	Folder       string
	Background   bool
	BeganAt      time.Time
	EndedAt      time.Time // zero: it runs
	Stopped      bool      // somebody stopped it
	Head         string    // how it ended: the first row of its result
	Failed       bool

	output Output
	result core.ToolResult
	err    error // that of Do
}

// Ended reports whether it has ended.
func (j *Job) Ended() bool { return !j.EndedAt.IsZero() }

// Text is what it wrote, as a model reads it; with how it ended, if it has.
func (j *Job) Text() string {
	if j.Ended() {
		return j.result.Text
	}
	return j.output.Text()
}

// Source is where a text of it comes from that is not the person's, one a line.
func (j *Job) Source() string {
	if j.Ended() {
		return j.result.Source
	}
	return j.output.Source()
}

// Layers are what confined it, once it has ended.
func (j *Job) Layers() []string { return j.result.Layers }

// Tells is what the person is told of it, once it has ended, by whoever is first to see the end.
func (j *Job) Tells() []core.Notice { return j.result.Tells }

// Tail is what it wrote last.
func (j *Job) Tail(rows int) string { return j.output.Tail(rows) }

// Config is what a Registry needs.
type Config struct {
	Clock  func() time.Time
	Logger *slog.Logger
	// Ended is called when a job has ended in the background and nobody has seen it. It may take its time; its context ends with
	// the registry, and when it is not needed any more, since somebody saw the end.
	Ended func(ctx context.Context, j Job)
	// Changed is called when a job begins, asks, goes to the background or ends; it must not block.
	Changed func(core.Change)
	Person  Person // nil: nobody is there to be asked
}

// Registry keeps jobs.
type Registry struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu        sync.Mutex // guards jobs, questions and what they hold
	jobs      map[string]*entry
	questions map[string]*question
}

// entry is a job in the registry.
type entry struct {
	job    Job
	cancel context.CancelCauseFunc
	limit  *time.Timer   // ends it if somebody waits for it too long
	behind chan struct{} // closed when it goes to the background
	done   chan struct{} // closed when it has ended
	seen   bool          // its end was shown to its agent, which need not be told any more
	stays  bool          // it can't go to the background
	quiet  func()        // ends the telling

	until time.Time     // when limit ends it
	left  time.Duration // of its time, while a person is asked
	open  int           // questions that are asked now
	asked int           // questions so far
}

// New returns a registry. Close ends it.
func New(cfg Config) *Registry {
	r := &Registry{cfg: cfg, jobs: map[string]*entry{}, questions: map[string]*question{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// Close stops every job and waits for them.
func (r *Registry) Close() {
	r.mu.Lock()
	r.cancel(core.ErrShutdown)
	r.mu.Unlock()
	r.work.Wait()
}

// ErrTooLong is why a job was stopped that somebody waited for.
var ErrTooLong = core.E(core.Timeout, "the line took too long")

// Run begins a job and waits until it has ended or goes on in the background; then background is its id. When ctx ends, it
// ends with it.
func (r *Registry) Run(ctx context.Context, w Work) (result core.ToolResult, background string, err error) {
	e, err := r.begin(w)
	if err != nil {
		return core.ToolResult{}, "", err
	}
	select {
	case <-e.done:
	case <-e.behind:
	case <-ctx.Done():
		e.cancel(context.Cause(ctx))
		<-e.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.job.Background {
		return core.ToolResult{}, e.job.ID, nil
	}
	delete(r.jobs, e.job.ID)
	return e.job.result, "", e.job.err
}

func (r *Registry) begin(w Work) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	if w.Background {
		if err := r.roomLocked(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	e := &entry{
		job: Job{
			ID: "job-" + strings.ToLower(rand.Text()[:6]), Agent: w.Agent, Conversation: w.Conversation, Run: w.Run, Call: w.Call,
			Client: w.Client, Command: w.Command, Folder: w.Folder, Background: w.Background, BeganAt: r.cfg.Clock(), output: w.Output,
		},
		cancel: cancel, behind: make(chan struct{}), done: make(chan struct{}), quiet: func() {}, stays: w.Stays,
	}
	e.job.Client.Env = nil
	limit := w.Time
	if w.Background {
		close(e.behind)
		limit = MaxBehind
	}
	e.limit, e.until = time.AfterFunc(limit, func() { cancel(ErrTooLong) }), time.Now().Add(limit)
	r.jobs[e.job.ID] = e
	r.work.Go(func() { r.follow(ctx, e, w.Do) })
	r.changedLocked(e)
	return e, nil
}

// roomLocked refuses one more job in the background where there are too many.
func (r *Registry) roomLocked() error {
	n := 0
	for _, e := range r.jobs {
		if e.job.Background && !e.job.Ended() {
			n++
		}
	}
	if n >= MaxBackground {
		return core.E(core.Conflict, "%d jobs go on in the background already, and no more are possible", n).WithHint("stop one of them")
	}
	return nil
}

// follow runs a job to its end, and has whoever needs to know told.
func (r *Registry) follow(ctx context.Context, e *entry, do func(context.Context, Line) (core.ToolResult, error)) {
	result, err := r.run(ctx, e, do)
	e.cancel(nil)
	r.mu.Lock()
	e.limit.Stop()
	e.job.EndedAt, e.job.result, e.job.err, e.job.Failed = r.cfg.Clock(), result, err, result.IsError
	e.job.Head, _, _ = strings.Cut(result.Text, "\n")
	close(e.done)
	r.dropOldLocked()
	r.changedLocked(e)
	tell, quiet := context.WithCancel(r.ctx)
	e.quiet = quiet
	job, told := e.job, e.seen || !e.job.Background
	r.mu.Unlock()
	defer quiet()
	if !told && r.cfg.Ended != nil {
		r.cfg.Ended(tell, job)
	}
}

// run is the work itself; no panic of it ends the daemon.
func (r *Registry) run(
	ctx context.Context, e *entry, do func(context.Context, Line) (core.ToolResult, error),
) (result core.ToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.cfg.Logger.ErrorContext(ctx, "a job panicked", slog.String("job", e.job.ID), slog.Any("panic", v),
				slog.String("stack", string(debug.Stack())))
			result, err = core.ToolError("The line failed inside of Loci."), nil
		}
	}()
	result, err = do(ctx, Line{r, e})
	if err != nil {
		result = core.ToolError("The line failed inside of Loci: " + err.Error())
	}
	return result, err
}

// dropOldLocked forgets jobs that ended long ago.
func (r *Registry) dropOldLocked() {
	var ended []*entry
	for _, e := range r.jobs {
		if e.job.Background && e.job.Ended() {
			ended = append(ended, e)
		}
	}
	slices.SortFunc(ended, func(a, b *entry) int { return a.job.EndedAt.Compare(b.job.EndedAt) })
	for _, e := range ended[:max(0, len(ended)-MaxEnded)] {
		delete(r.jobs, e.job.ID)
	}
}

func (r *Registry) changedLocked(e *entry) {
	if r.cfg.Changed != nil {
		r.cfg.Changed(core.Change{Agent: e.job.Agent, Conversation: e.job.Conversation})
	}
}
