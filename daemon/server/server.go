// Package server is the HTTP edge of the daemon: the Letta V1 contract under /v1 and a few operations of our own under
// /loci/v1. It turns the wire into the domain and back, and does nothing else: a handler converts, calls one service
// method, converts.
//
// Promises: every answer carries the daemon's version; an error is {"detail": …} with its kind in a header; bodies are
// bounded and what is wrong with them is told all at once; all streams are written by one function and come from the
// run log, so that resuming is the normal path; requests of other sites and other hosts are refused.
//
// Layer 4: it imports daemon/api, core, core/service and core/engine.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"loci/core"
	"loci/core/engine"
	"loci/core/service"
	"loci/daemon/api"
)

// Host is what the server needs of the daemon around it.
type Host interface {
	// Status says how the daemon is; the server adds what the engine and the services know once they are there.
	Status(ctx context.Context) api.Status
	// Backup copies the facts to a new file and checks the copy.
	Backup(ctx context.Context, path string) (api.BackupResult, error)
	// Logs returns the level of the log and where it is; SetLogLevel changes the level.
	Logs() api.Logs
	SetLogLevel(level string) error
	// Shutdown begins the end of the daemon and returns; with ifIdle a busy one refuses with core.Busy and goes on.
	Shutdown(ctx context.Context, ifIdle bool) error
}

// Doctor is a Host that can check itself.
type Doctor interface {
	Doctor(ctx context.Context, env core.Env) []api.Check
}

// Parts are what the handlers call.
type Parts struct {
	Services *service.Services
	Engine   *engine.Engine
	Mirrors  Mirrors  // nil: memory cannot be mirrored
	Follower Follower // nil: no folder can follow a directory
}

// Config joins the server's parts.
type Config struct {
	// Parts are there from the beginning, or Open waits for them: it is called by requests until it has succeeded once,
	// and returns when the store is open, or the error that keeps it from opening.
	Parts Parts
	Open  func(ctx context.Context) (Parts, error)

	Host    Host         // nil: the operations that need it are unavailable
	Version string       // sent with every answer
	Logger  *slog.Logger // nil: discarded
	Token   core.Secret  // empty: none is needed
	Hosts   []string     // host names by which TCP clients may call, beside the loopback ones
	Ping    time.Duration
	Clock   func() time.Time // nil: time.Now
}

// pingEvery is the contract's time between pings of a stream that has nothing else to say.
const pingEvery = 20 * time.Second

// Server answers requests. Make it with New.
type Server struct {
	cfg     Config
	handler http.Handler
	uploads chan struct{} // a place for each upload that is held in memory

	mu    sync.RWMutex // guards parts and open
	parts Parts
	open  bool
}

// New returns the handler of all operations.
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

// register lists the operations, one call per noun.
func (s *Server) register(a huma.API) {
	s.registerAgents(a)
	s.registerArchival(a)
	s.registerArchives(a)
	s.registerBlocks(a)
	s.registerConversations(a)
	s.registerFolders(a)
	s.registerFollow(a)
	s.registerForget(a)
	s.registerHealth(a)
	s.registerHistory(a)
	s.registerRecall(a)
	s.registerLoci(a)
	s.registerMessages(a)
	s.registerMirror(a)
	s.registerModels(a)
	s.registerRuns(a)
	s.registerTools(a)
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

// now returns the parts if they are there.
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

// maxBody bounds the body of a request; bodyTimeout is how long it may take to arrive.
const (
	maxBody     = 16 << 20
	bodyTimeout = 60 * time.Second
)

// handle registers one operation. Errors of the handler become answers by the one table of errors.go.
func handle[I, O any](a huma.API, method, path string, fn func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	op := huma.Operation{OperationID: operationID(method, path), Method: method, Path: path, MaxBodyBytes: maxBody, BodyReadTimeout: bodyTimeout}
	for _, m := range more {
		m(&op)
	}
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		// The deadline was for the body alone: left alone it would end a stream that lasts longer.
		if call := callOf(ctx); call.control != nil {
			_ = call.control.SetReadDeadline(time.Time{}) // a writer that has no deadlines needs none lifted
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, answerError(ctx, err)
		}
		return out, nil
	})
}

// documented tells the shape of an answer that the handler writes itself.
func documented[T any](a huma.API, hint string) func(*huma.Operation) {
	schema := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	return func(op *huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {
			Description: hint,
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}, "text/event-stream": {}},
		}}
	}
}
