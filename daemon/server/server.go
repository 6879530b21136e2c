// Package server is the HTTP edge of the daemon: the Letta V1 contract under /v1 and a few operations of our own
// under /loci/v1. It translates between the wire and the domain and does nothing else: a handler converts, calls one
// service method, and converts back.
//
// Promises: every response carries the daemon's version; an error is {"detail": …} with its kind in a header; bodies
// are bounded, and everything wrong with one is reported at once; all streams are written by one function and come
// from the run log, so resuming is the normal path; requests from other sites and for other hosts are rejected.
//
// Layer 4: it imports daemon/api, core, and the use cases below core.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"loci/core"
	"loci/core/approval"
	"loci/core/engine"
	"loci/core/jobs"
	"loci/core/mcpservers"
	"loci/core/service"
	"loci/core/spend"
	"loci/core/tracing"
	"loci/core/undo"
	"loci/core/variables"
	"loci/daemon/api"
)

// Host is what the server needs from the daemon around it.
type Host interface {
	// Status reports the daemon's state; the server adds what the engine and the services know once they are there.
	Status(ctx context.Context) api.Status
	// Backup copies the facts to a new file and verifies the copy.
	Backup(ctx context.Context, path string) (api.BackupResult, error)
	// Logs returns the log level and path; SetLogLevel changes the level.
	Logs() api.Logs
	SetLogLevel(level string) error
	// Shutdown starts shutting the daemon down and returns; with ifIdle, a busy daemon refuses with core.Busy and
	// keeps running.
	Shutdown(ctx context.Context, ifIdle bool) error
}

// Doctor is a Host that can check itself.
type Doctor interface {
	Doctor(ctx context.Context, env core.Env) []api.Check
}

// Parts are what the handlers call.
type Parts struct {
	Services  *service.Services
	Engine    *engine.Engine
	Undo      *undo.Passages
	Approvals *approval.Approvals
	Mirrors   Mirrors  // nil: memory cannot be mirrored
	Follower  Follower // nil: no folder can follow a directory

	Permissions Permissions          // nil: none are kept
	Trust       Trust                // nil: none is kept
	Commands    Commands             // nil: there are none
	Closes      Closes               // nil: nobody knows
	Names       Names                // nil: nobody knows
	Jobs        *jobs.Registry       // nil: there are none
	Variables   *variables.Variables // nil: none are kept
	MCP         *mcpservers.Servers  // nil: none are used
	Traces      *tracing.Recorder    // nil: nobody keeps what is sent to models
	Ledger      *spend.Ledger        // nil: nobody keeps what models cost
}

// Config is what the server is built from.
type Config struct {
	// Set either Parts or Open. Requests call Open until it has succeeded once; it returns when the store is open, or
	// the error that keeps it from opening.
	Parts Parts
	Open  func(ctx context.Context) (Parts, error)

	Host    Host         // nil: the operations that need it are unavailable
	Version string       // sent with every response
	Logger  *slog.Logger // nil: discarded
	Token   core.Secret  // empty: none is needed
	Origins []string     // web page origins that may send requests, as browsers write them; all others are refused
	MCP     http.Handler // serves other programs at /mcp; nil: nobody does
	Ping    time.Duration
	Clock   func() time.Time // nil: time.Now
}

// pathMCP is where the Model Context Protocol is served.
const pathMCP = "/mcp"

// pingEvery is the contract's ping interval on an otherwise silent stream.
const pingEvery = 20 * time.Second

// Server answers requests. Create it with New.
type Server struct {
	cfg     Config
	handler http.Handler
	uploads chan struct{} // one slot for each upload held in memory

	mu    sync.RWMutex // guards parts and open
	parts Parts
	open  bool
}

// New returns the handler for all operations.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Ping == 0 {
		cfg.Ping = pingEvery
	}
	s := &Server{cfg: cfg, parts: cfg.Parts, open: cfg.Open == nil, uploads: make(chan struct{}, uploadsAtOnce)}
	router := chi.NewMux()
	s.register(humachi.New(router, s.humaConfig()))
	if cfg.MCP != nil {
		router.Handle(pathMCP, cfg.MCP)
	}
	router.NotFound(s.notFound)
	router.MethodNotAllowed(s.methodNotAllowed)
	s.handler = s.guard(router)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) humaConfig() huma.Config {
	speakDetail()
	cfg := huma.DefaultConfig("Loci", s.cfg.Version)
	cfg.CreateHooks = nil // no $schema keys in answers
	cfg.DocsPath, cfg.SchemasPath = "", ""
	cfg.AllowAdditionalPropertiesByDefault = true
	cfg.FieldsOptionalByDefault = true
	return cfg
}

// register registers the operations, one call per noun.
func (s *Server) register(a huma.API) {
	s.registerAgents(a)
	s.registerApprovals(a)
	s.registerArchival(a)
	s.registerArchives(a)
	s.registerBlocks(a)
	s.registerConversations(a)
	s.registerCosts(a)
	s.registerFolders(a)
	s.registerFollow(a)
	s.registerForget(a)
	s.registerHealth(a)
	s.registerHistory(a)
	s.registerRecall(a)
	s.registerFallback(a)
	s.registerFit(a)
	s.registerJobs(a)
	s.registerQuestions(a)
	s.registerLoci(a)
	s.registerMessages(a)
	s.registerMirror(a)
	s.registerModels(a)
	s.registerPermissions(a)
	s.registerTrust(a)
	s.registerCommands(a)
	s.registerPassageHistory(a)
	s.registerSources(a)
	s.registerRuns(a)
	s.registerTraces(a)
	s.registerTools(a)
	s.registerVariables(a)
	s.registerMCPServers(a)
	s.registerMCPByName(a)
	s.registerProviders(a)
	s.registerWorkspace(a)
}

// ready waits for the parts.
func (s *Server) ready(ctx context.Context) error {
	s.mu.RLock()
	open := s.open
	s.mu.RUnlock()
	if open {
		return nil
	}
	parts, err := s.cfg.Open(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.open = parts, true
	return nil
}

// now returns the parts if they are ready.
func (s *Server) now() (Parts, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.parts, s.open
}

func (s *Server) services() *service.Services {
	parts, _ := s.now()
	return parts.Services
}

func (s *Server) engine() *engine.Engine {
	parts, _ := s.now()
	return parts.Engine
}

// maxBody limits the body of a request; bodyTimeout is how long it may take to arrive.
const (
	maxBody     = 16 << 20
	maxSend     = 32 << 20 // of a request that may hold images
	bodyTimeout = 60 * time.Second
)

// holdsImages marks an operation that may hold images.
func holdsImages(op *huma.Operation) { op.MaxBodyBytes = maxSend }

// takesImages reports whether the path is that of such an operation.
func takesImages(path string) bool {
	_, last, ok := strings.Cut(path, "/messages")
	return ok && (last == "" || last == "/stream" || last == "/async")
}

// handle registers one operation. The table in errors.go turns the handler's errors into responses.
func handle[I, O any](a huma.API, method, path string, fn func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID:     operationID(method, path),
		Method:          method,
		Path:            path,
		MaxBodyBytes:    maxBody,
		BodyReadTimeout: bodyTimeout,
	}
	for _, m := range more {
		m(&op)
	}
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		// The deadline was only for the body: left in place, it would end a stream that lasts longer.
		if call := callOf(ctx); call.control != nil {
			_ = call.control.SetReadDeadline(time.Time{}) // a writer without deadlines needs none lifted
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, answerError(ctx, err)
		}
		return out, nil
	})
}

// documented declares the shape of a response that the handler writes itself.
func documented[T any](a huma.API, hint string) func(*huma.Operation) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	return func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {
			Description: hint,
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}, "text/event-stream": {}},
		}}
	}
}
