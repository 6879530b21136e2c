// Package sandbox runs programs that are not trusted. On Linux each job has namespaces and a root of its own in which the
// machine's secrets don't exist, Landlock and a filter of system calls behind that, and limits; how is in sandbox/stage. What
// the kernel lacks is never skipped silently: the job is refused, with the step that failed. It is an adapter: it imports core
// at most.
package sandbox

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"

	"loci/core"
	"loci/sandbox/egress"
)

// Mode is what a person chose in the configuration. No agent can.
type Mode string

// The modes.
const (
	Full    Mode = "full"    // every layer, or nothing runs
	Reduced Mode = "reduced" // the layers that there are, where some can't be had
	Off     Mode = "off"     // programs run as the person would run them
)

// most is how much a job may write to its outputs before it is stopped.
const mostOutput = 64 << 20

// Config is what a Local needs.
type Config struct {
	Mode    Mode
	Scratch string          // a folder for the temporary files of jobs, made when needed; it holds nothing else
	Outside egress.Outside  // the network, as jobs may reach it; nil: the machine's
	Ours    func() []uint16 // ports of this machine that are the daemon's, and that no job reaches; nil: none
}

func (c Config) outside() egress.Outside {
	if c.Outside == nil {
		return egress.Machine{}
	}
	return c.Outside
}

// Local runs jobs on this machine. What it needs is started with the first job.
type Local struct {
	cfg     Config
	backend backend
	without []string // layers that a test leaves out, to see that what they contain gets out then

	mu      sync.Mutex
	running sync.WaitGroup
	closed  bool
	level   Level           // of a machine that has less; empty: nobody has found out yet
	lacks   lacking         // what this machine can't do, as far as it was tried
	ctx     context.Context // of all jobs
	cancel  context.CancelFunc
}

var _ core.Sandbox = (*Local)(nil)

// New returns a sandbox that Close has to close. What a killed daemon left of its jobs is removed.
func New(cfg Config) *Local {
	l := &Local{cfg: cfg}
	_ = os.RemoveAll(cfg.Scratch) // jobs have folders of their own: what can't be removed is only in nobody's way
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Run runs a job as core.Sandbox says.
func (l *Local) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	if err := job.Validate(); err != nil {
		return core.JobResult{}, err
	}
	if !l.enter() {
		return core.JobResult{}, core.E(core.Unavailable, "the daemon is shutting down: no program is started any more")
	}
	defer l.running.Done()
	job.Limits = limits(job)
	began := time.Now()
	// The cause of the end of this context is the daemon's word on why the job was stopped.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(l.ctx, func() { stop(nil) })()
	ctx, cancel := context.WithTimeoutCause(ctx, job.Limits.Wall, stopped(core.JobTimedOut))
	defer cancel()
	c := &call{job: job, out: newOutputs(job.Limits.Output, job.Live, stop), stop: stop}
	var err error
	switch {
	case l.cfg.Mode == Off || job.Uncaged:
		err = c.unconfined(ctx)
	case l.cfg.Mode == Reduced:
		err = c.reduced(ctx, l)
	default:
		err = c.confined(ctx, l)
	}
	c.result.Took = time.Since(began)
	return c.result, err
}

// reducedTo reports whether layers are left out, as far as that is known.
func (l *Local) reducedTo() bool {
	lacks := l.lacking()
	return lacks.namespaces || len(lacks.layers) > 0
}

// Level is how much of the sandbox works, without trying more than has to be tried.
func (l *Local) Level(ctx context.Context) Level {
	if l.cfg.Mode != Reduced {
		return l.cfg.Mode.level()
	}
	l.lacking() // what has to be tried again, is
	l.mu.Lock()
	level := l.level
	l.mu.Unlock()
	if level != "" {
		return level
	}
	level = l.Probe(ctx).Level
	if level != LevelNone { // which may be of this moment: the try was given up, or the daemon has too many files open
		l.mu.Lock()
		l.level = level
		l.mu.Unlock()
	}
	return level
}

func (l *Local) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Add(1)
	}
	return !l.closed
}

// Close stops every job, waits for them, and ends what was started for them.
func (l *Local) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
	l.backend.close()
}

// call is one job while it runs.
type call struct {
	job    core.Job
	out    *outputs
	stop   context.CancelCauseFunc
	result core.JobResult
	leaves []string // layers that this machine can't have
	lacks  string   // the step that this machine can't do, if that is why it was refused
}

// lacking is what a machine can't do of the sandbox.
type lacking struct {
	layers     []string // that are left out
	namespaces bool
	until      time.Time // when it is tried again; zero: never
}

// lackFor is how long it counts that a step could not be done: it may have been for want of memory, or of descriptors.
const lackFor = time.Minute

// lacking is what the machine is taken to be unable to do.
func (l *Local) lacking() lacking {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.lacks.until; !u.IsZero() && time.Now().After(u) {
		l.lacks, l.level = lacking{}, ""
	}
	return l.lacks
}

// stopped is the cause of a context that ends because a job went over a limit.
type stopped core.JobEnd

func (s stopped) Error() string { return "the job was stopped: " + string(s) }

// bared is the cause of a context that ends because a path that was closed to the job no longer is.
type bared string

func (b bared) Error() string { return string(b) + " was replaced outside" }

// why says how a job ended that was stopped through its context, and what was bared.
func why(ctx context.Context) (core.JobEnd, string) {
	switch cause := context.Cause(ctx).(type) { //nolint:errorlint // nobody wraps a cause of ours
	case stopped:
		return core.JobEnd(cause), ""
	case bared:
		return core.JobUncovered, string(cause)
	}
	if core.KindOf(context.Cause(ctx)) == core.Timeout {
		return core.JobTimedOut, ""
	}
	return core.JobCancelled, ""
}

// limits fills in what a job leaves to its profile.
func limits(job core.Job) core.JobLimits {
	l := core.JobLimits{
		Wall: time.Minute, Memory: 512 << 20, Processes: 64, Output: 256 << 10, Files: 256, FileSize: 64 << 20,
		Traffic: 256 << 20,
	}
	if job.Profile == core.JobShell {
		l = core.JobLimits{
			Wall: 2 * time.Minute, Memory: machineMemory() / 2, Processes: 1024 + 64*runtime.NumCPU(), Output: 256 << 10, Files: 4096,
			Traffic: 4 << 30,
		}
	}
	set(&l.Wall, job.Limits.Wall)
	set(&l.Memory, job.Limits.Memory)
	set(&l.Processes, job.Limits.Processes)
	set(&l.Output, job.Limits.Output)
	set(&l.Files, job.Limits.Files)
	set(&l.FileSize, job.Limits.FileSize)
	set(&l.Traffic, job.Limits.Traffic)
	return l
}

func set[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}
