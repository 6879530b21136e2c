// Package engine executes runs: it accepts input, owns the one lane of each conversation, asks models, runs tools
// through one gate, saves facts and keeps the run log that watchers follow.
//
// Promises: an accepted run is durable and belongs to the engine, not to the request that brought it; a conversation
// runs one run at a time in the order of acceptance; no watcher sees an event that is not in the log; a whole message is
// announced after the facts that hold it are committed; every run has exactly one terminal event.
//
// The way of a run through this package is told in docs/architecture.md, "The life of a message"; what its goroutines keep
// to in "Rules of concurrency".
//
// Layer 2: it imports core and the pure helpers (core/memory, core/rules); never an adapter.
package engine

import (
	"log/slog"
	"sync"
	"time"

	"loci/core"
	"loci/core/arguments"
	"loci/core/prompt"
	"loci/core/search"
)

// Config joins the engine's parts. Store, Log, Models and Tools are required.
type Config struct {
	Store    core.Store
	Search   core.Searcher
	Log      core.EventLog
	Models   core.Models
	Tools    core.Toolbox
	Contents core.ContentStore // what files of workspaces held
	Pictures core.ImageReader  // nil: tools show no images
	Clock    func() time.Time  // nil: time.Now
	Logger   *slog.Logger      // nil: discarded
	Env      core.Env          // the daemon's own provider variables

	Permissions Permissions // the rules that people wrote; nil: none
	Trust       Trust       // what a person trusts of what folders bring; nil: nothing
	Hooks       Hooks       // the person's own programs; nil: none
	Variables   Variables   // what tools find in their environment; nil: nothing

	// Related is what a search among many tools knows of words that mean nearly the same; nil: nothing.
	Related func(word string) []search.Relative

	DefaultModel core.Handle   // the configured default; empty: none
	MaxSteps     int           // 0: core.DefaultMaxSteps
	Deadline     time.Duration // of a run, 0: one hour
	MaxQueue     int           // runs waiting in one lane, 0: 100
	Grace        time.Duration // what a shutdown leaves to running turns, 0: 2 s
	Patience     time.Duration // how long Quiet waits for runs under way, 0: ten seconds
	KeyWait      time.Duration // how long a resumed run waits for a client with its key, 0: ten minutes
	SummaryWait  time.Duration // how long one model may take for a summary, 0: two minutes
	SummaryQuiet time.Duration // how long a summariser may go without a token, 0: 20 s, and longer for a model known to be slow
	Rest         time.Duration // how long a conversation rests before a summary is made between turns, 0: two seconds
	RecallWait   time.Duration // how long a turn waits for what is recalled, 0: 300 ms
	Silence      time.Duration // after which watchers are told that a model has not answered yet, 0: ten seconds
	AnswerLimit  int           // bytes that one answer of a model may have, 0: 4 MB
}

// Input is one message of a request.
type Input struct {
	Role     core.Role // user or system
	Text     string
	Content  []core.Content // in place of Text, of a user's message with images: these and the texts in order
	Name     string
	OTID     string // the client's; empty: made here
	SenderID string
}

// Request asks for a run.
type Request struct {
	Agent        core.AgentID
	Conversation core.ConversationID // empty: the agent's default one
	Input        []Input
	Answer       *Answer // to the request for approval that waits, before the input
	Client       core.Client
	Config       core.RunConfig
	Background   bool
	Once         bool // a repeat with the same otids answers with the same run (background requests and client sessions)
	Queue        bool // wait behind a running run instead of a Busy error
	Chain        []core.RunID
}

// Engine executes runs. Make it with New, then call Recover before the first request, Shutdown at the end.
type Engine struct {
	cfg     Config
	hub     *hub
	prompts *prompt.Compiler // what conversations are pinned to
	wg      sync.WaitGroup   // lanes, and the ends of runs that were cancelled while they waited
	ends    chan struct{}    // a token: held while the log of a run that is over is completed, which several readers may ask for at once
	wins    *windows         // context rows of the conversations used last
	recall  *recaller        // finds what memory holds on an input
	slow    *pauses          // conversations whose summariser failed lately
	vain    *pauses          // … between turns, where nothing had to leave
	pace    *paces           // how fast models read
	seen    *hashes          // snapshots known to be stored
	schemas *arguments.Schemas
	begun   *begun
	envs    *sessions // provider variables of clients that came since the start, for resumed runs

	mu      sync.Mutex // guards all below, and the fields of lanes
	lanes   map[core.ConversationID]*lane
	active  map[core.RunID]*job
	closed  bool
	silent  chan struct{} // closed when the quiet that somebody asked for is over; nil: nobody did
	emptied chan struct{} // closed when a lane, a run or a copy is over; nil: nobody waits for that
	copies  int           // of agents, under way
	real    bool          // a real model has answered in this home: what meta.real_at says
}

// New returns an engine; it starts nothing.
func New(cfg Config) *Engine {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Env == nil {
		cfg.Env = func(string) (core.Secret, bool) { return "", false }
	}
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = core.DefaultMaxSteps
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = time.Hour
	}
	if cfg.MaxQueue == 0 {
		cfg.MaxQueue = 100
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	if cfg.Patience == 0 {
		cfg.Patience = 10 * time.Second
	}
	if cfg.KeyWait == 0 {
		cfg.KeyWait = 10 * time.Minute
	}
	if cfg.SummaryWait == 0 {
		cfg.SummaryWait = 2 * time.Minute
	}
	if cfg.SummaryQuiet == 0 {
		cfg.SummaryQuiet = defaultQuiet
	}
	if cfg.Rest == 0 {
		cfg.Rest = defaultRest
	}
	if cfg.Silence == 0 {
		cfg.Silence = defaultSilence
	}
	if cfg.AnswerLimit == 0 {
		cfg.AnswerLimit = defaultAnswer
	}
	if cfg.RecallWait == 0 {
		cfg.RecallWait = recallWait
	}
	prompts := prompt.New(cfg.Store, cfg.Tools, trusted(cfg.Trust), cfg.Clock)
	prompts.Related = cfg.Related
	e := &Engine{
		cfg:     cfg,
		hub:     newHub(),
		seen:    newHashes(),
		wins:    newWindows(),
		slow:    newPauses(),
		vain:    newPauses(),
		pace:    newPaces(),
		begun:   &begun{},
		envs:    newSessions(),
		prompts: prompts,
		schemas: arguments.NewSchemas(cfg.Logger),
		lanes:   map[core.ConversationID]*lane{},
		active:  map[core.RunID]*job{},
		ends:    make(chan struct{}, 1),
	}
	e.recall = &recaller{search: cfg.Search, clock: cfg.Clock, wait: cfg.RecallWait, group: &e.wg, logger: cfg.Logger}
	return e
}

// Prompts is what the engine compiles prompts with.
func (e *Engine) Prompts() *prompt.Compiler { return e.prompts }
