// Package run runs tools that people wrote, whatever the language: it hands a call to a program that waits for one.
//
// Promises: each call has a program of its own, in a sandbox, that is used once; a second one waits, started and confined, for
// the next call, and goes when none comes. The call goes in and its result comes out as one frame of JSON each, through a stream
// that no other process has: what a tool prints is never taken for a result, and nothing is ever unpickled. A result counts only if
// the program ended by itself. Time, memory, outputs and results are bounded.
//
// Layer 1, below tools: it imports core.
package run

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"loci/core"
)

// Bounds of a call.
const (
	CallTime    = 180 * time.Second
	AskTime     = 5 * time.Minute // that a call may wait for a person beside that
	idleTime    = time.Minute
	mostRequest = 4 << 20
	mostAnswer  = 16 << 20 // of JSON, in which each of a million characters may be twelve bytes
	mostOutput  = 64 << 10 // of each output
)

// Start says which program waits for a call: its arguments, and what has to be mounted for it. packages is the folder with those that
// the tool asks for; empty: it asks for none.
type Start func(packages string) (argv []string, mounts []core.JobMount, err error)

// Interpreter is a program of this machine that runs sources.
type Interpreter struct {
	Program   string // absolute, through no link
	Mounts    []core.JobMount
	Installer string // of packages: the file that the program runs; empty: there is none, or the program has its own
}

// SystemPath is where programs of the system are, which every sandbox has.
const SystemPath = "/usr/local/bin:/usr/bin:/bin"

// Config is what a Runner needs.
type Config struct {
	Sandbox core.Sandbox
	Start   Start
}

// Runner runs tools. Close it: it has goroutines while programs run.
type Runner struct {
	cfg    Config
	ctx    context.Context // of all programs
	cancel context.CancelFunc
	owned  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	closed  bool
	waiting *worker // the program for the next call; nil: none
}

// New returns a runner. It starts nothing before the first call.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close ends all programs and waits for them.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.owned.Wait()
}

// Call is a call of a tool.
type Call struct {
	Tool       string
	Source     string
	Function   string   // empty: the source is run as a program
	Positional []string // parameters that can't be named in a call
	Self       bool     // the first parameter is for an object that there is none of
	Arguments  map[string]any
	State      *State // of the agent, for a function that takes it
	Env        []string
	Hosts      core.HostRules  // nil: it reaches none
	Time       time.Duration   // 0: CallTime
	Waits      time.Duration   // beside that, where somebody else counts the time without what a person is asked in it
	Mounts     []core.JobMount // of a Program
	Packages   string          // the folder with those that it asks for; empty: it asks for none
	// Ask asks a person for a host, as core.JobNetwork says; nil: nobody is asked.
	Ask func(ctx context.Context, ask core.HostAsk) *core.JobRefusal
}

// State is what a tool is told of its agent.
type State struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	System      string         `json:"system"`
	AgentType   string         `json:"agent_type"`
	Model       string         `json:"model"`
	Timezone    string         `json:"timezone"`
	Tags        []string       `json:"tags"`
	Metadata    map[string]any `json:"metadata"`
	Blocks      []Block        `json:"blocks"`
}

// Block is a memory block of the agent.
type Block struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description"`
	Limit       int    `json:"limit"`
	ReadOnly    bool   `json:"read_only"`
}

// Outcome is what became of a call.
type Outcome struct {
	Text    string
	Note    string            // what has to be said about the text
	Class   string            // of the exception, of which Text is the message; empty: there was none
	Blocks  map[string]string // the values that the tool gave to blocks, by label
	Stdout  string
	Stderr  string
	Refused []core.JobRefusal
	Layers  []string // of the sandbox; empty: nothing confined it
}

// request is what the program reads, and answer what it writes.
type request struct {
	Tool       string            `json:"tool"`
	Source     string            `json:"source"`
	Function   string            `json:"function"`
	Arguments  map[string]any    `json:"arguments"`
	Positional []string          `json:"positional"`
	Self       bool              `json:"self"`
	State      *State            `json:"state"`
	Env        map[string]string `json:"env"`
}

type answer struct {
	Text   string            `json:"text"`
	Note   string            `json:"note"`
	Blocks map[string]string `json:"blocks"`
	Failed *struct {
		Class string `json:"class"`
		Text  string `json:"text"`
	} `json:"failed"`
}

// Run runs a tool. An error means that nothing ran.
func (r *Runner) Run(ctx context.Context, c Call) (Outcome, error) {
	text, err := encode(c)
	if err != nil {
		return Outcome{}, err
	}
	limit := c.Time
	if limit == 0 {
		limit = CallTime
	}
	w, err := r.take(c.Packages)
	if err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit+c.Waits, core.E(core.Timeout, "the call took longer than %s", limit))
	defer cancel()
	defer context.AfterFunc(ctx, func() { w.stop(context.Cause(ctx)) })()
	w.call(text, c)
	<-w.ended
	if ctx.Err() == nil && c.Packages == "" {
		r.ready()
	}
	return w.outcome(limit)
}

func encode(c Call) ([]byte, error) {
	q := request{
		Tool: c.Tool, Source: c.Source, Function: c.Function, Arguments: c.Arguments, Positional: append([]string{}, c.Positional...),
		Self: c.Self, State: c.State, Env: map[string]string{},
	}
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		q.Env[name] = value
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, core.E(core.Invalid, "the call can't be written: %w", err)
	}
	if len(text) > mostRequest {
		return nil, core.E(core.TooLarge, "source and arguments of %s are %d bytes together; at most %d are passed",
			c.Tool, len(text), mostRequest)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// take returns the program that waits, or a new one. None waits with packages.
func (r *Runner) take(packages string) (*worker, error) {
	if packages == "" {
		r.mu.Lock()
		w := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		if w != nil && w.begin() {
			return w, nil
		}
	}
	w, err := r.start(packages)
	if err == nil {
		w.begin()
	}
	return w, err
}

// ready lets a program wait for the next call, if none does.
func (r *Runner) ready() {
	argv, mounts, err := r.cfg.Start("")
	if err != nil {
		return // the next call says what is wrong
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting != nil {
		return
	}
	if w, err := r.launch(argv, mounts); err == nil { // likewise
		r.waiting = w
	}
}

func (r *Runner) start(packages string) (*worker, error) {
	argv, mounts, err := r.cfg.Start(packages)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launch(argv, mounts)
}

// launch starts a program. The caller holds mu.
func (r *Runner) launch(argv []string, mounts []core.JobMount) (*worker, error) {
	if r.closed {
		return nil, core.E(core.Unavailable, "the daemon is shutting down: no tool is started any more")
	}
	w := &worker{calls: make(chan []byte, 1), ended: make(chan struct{})}
	ctx, stop := context.WithCancelCause(r.ctx)
	w.stop = stop
	job := core.Job{
		Profile: core.JobTool, Argv: argv, Mounts: mounts,
		Env:     environment(),
		Channel: w.serve, Network: &core.JobNetwork{Allows: w.allows, Ask: w.ask},
		Limits: core.JobLimits{Wall: idleTime + CallTime + AskTime, Output: mostOutput},
	}
	r.owned.Go(func() {
		defer stop(nil)
		defer close(w.ended)
		w.result, w.fault = r.cfg.Sandbox.Run(ctx, job)
	})
	return w, nil
}

// worker is one program, for one call.
type worker struct {
	calls  chan []byte
	ended  chan struct{}
	stop   context.CancelCauseFunc
	result core.JobResult // once it has ended
	fault  error

	mu     sync.Mutex // guards what follows
	taken  bool       // it has its call, or goes without one
	hosts  core.HostRules
	asks   func(ctx context.Context, ask core.HostAsk) *core.JobRefusal
	said   []byte
	broken error // why what it said is no answer
}

// begin claims the program, unless it has ended or is about to.
func (w *worker) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.ended:
		return false
	default:
	}
	if w.taken {
		return false
	}
	w.taken = true
	return true
}

func (w *worker) call(text []byte, c Call) {
	w.mu.Lock()
	w.hosts, w.asks = c.Hosts, c.Ask
	w.mu.Unlock()
	w.calls <- text
}

// allows reports whether the call may reach a host. It is asked from other goroutines.
func (w *worker) allows(host string, named bool) bool {
	w.mu.Lock()
	hosts := w.hosts
	w.mu.Unlock()
	return hosts != nil && hosts.Allows(host, named)
}

// ask asks a person for a host, if the call has somebody to ask.
func (w *worker) ask(ctx context.Context, a core.HostAsk) *core.JobRefusal {
	w.mu.Lock()
	asks := w.asks
	w.mu.Unlock()
	if asks != nil {
		return asks(ctx, a)
	}
	return &a.Unasked
}

// serve waits for the call, hands it over and reads what became of it.
func (w *worker) serve(ctx context.Context, stream io.ReadWriter) {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	var text []byte
	select {
	case text = <-w.calls:
	case <-ctx.Done():
		return
	case <-idle.C:
		if w.begin() { // nobody has it: it reads the end of the stream, and ends
			return
		}
		select {
		case text = <-w.calls:
		case <-ctx.Done():
			return
		}
	}
	if _, err := stream.Write(text); err != nil {
		return // how it ended says why
	}
	said, err := readFrame(stream)
	w.mu.Lock()
	w.said, w.broken = said, err
	w.mu.Unlock()
}

// readFrame reads the one frame that a program says.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, nil //nolint:nilerr // it said nothing
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > mostAnswer {
		return nil, fmt.Errorf("its result has %d bytes; at most %d are read", size, mostAnswer)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errors.New("its result breaks off")
	}
	if n, err := r.Read(head[:1]); n > 0 || !errors.Is(err, io.EOF) && err != nil && !isReset(err) {
		return nil, errors.New("it said more than one result")
	}
	return text, nil
}
