package providers

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/ollama"
	"loci/providers/openai"
)

// Bounds on finding out what a server has.
const (
	listWithin  = 2 * time.Second        // a listing
	probeWithin = 300 * time.Millisecond // whether a local server that nobody named is there at all
	listFresh   = 5 * time.Minute        // how long a listing counts
	runFresh    = 30 * time.Second       // the same where the running window can change
	failFresh   = 10 * time.Second       // how long a failure to list counts
)

// listed is a model as its server lists it, whatever the protocol; zero sizes are unknown.
type listed struct {
	name      string
	window    int
	output    int
	tools     bool
	reasoning bool
}

// server is one endpoint: its client, its bounds, and what it last listed.
type server struct {
	endpoint
	who  wire.Who
	gate *gate
	now  func() time.Time
	log  *slog.Logger
	used time.Time // guarded by Providers.mu

	chat   core.ChatModel
	openai *openai.Client // of the two, the one that the row's protocol needs
	ollama *ollama.Client

	listing chan struct{} // one place: who holds it makes the listing
	mu      sync.Mutex
	list    []listed
	listErr error
	until   time.Time // how long list and listErr count
}

func newServer(p *Providers, e endpoint) *server {
	s := &server{
		endpoint: e, now: p.cfg.Now, log: p.cfg.Log, listing: make(chan struct{}, 1),
		who: wire.Who{Provider: e.row.Name, Endpoint: e.base, Key: e.key},
	}
	most := e.row.Parallel
	if most == 0 {
		most = p.cfg.Parallel
	}
	s.gate = newGate(most)
	idle := p.cfg.Idle
	if idle == 0 {
		idle = e.row.Idle
	}
	if e.row.Protocol == Ollama {
		s.ollama = ollama.New(ollama.Options{Provider: e.row.Name, BaseURL: e.base, Key: e.key, KeyVar: e.row.KeyVars[0], HTTP: p.http, Idle: idle})
		s.chat = s.ollama
		return s
	}
	s.openai = openai.New(openai.Options{
		Provider: e.row.Name, BaseURL: e.base, Key: e.key, KeyVar: e.row.KeyVars[0], Headers: e.headers,
		Quirks: e.quirks, HTTP: p.http, Idle: idle,
	})
	s.chat = s.openai
	return s
}

// all returns what the server lists, chat models only, remembered for a while.
func (s *server) all(ctx context.Context) ([]listed, error) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, s.who.Network(ctx, nil, ctx.Err())
	}
	if list, ok, err := s.remembered(); ok {
		return list, err
	}
	list, err := s.fetch(ctx)
	if ctx.Err() != nil {
		return nil, s.who.Network(ctx, nil, ctx.Err()) // the asker left: that says nothing about the server
	}
	fresh := listFresh
	switch {
	case err != nil:
		fresh = failFresh
		s.log.DebugContext(ctx, "models not listed", slog.String("provider", s.row.Name), slog.String("error", err.Error()))
	case s.ollama != nil || s.quirks.Running != "":
		fresh = runFresh
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.listErr, s.until = list, err, s.now().Add(fresh)
	return list, err
}

// remembered returns the last listing while it counts.
func (s *server) remembered() (list []listed, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list, s.now().Before(s.until), s.listErr
}

func (s *server) fetch(ctx context.Context) ([]listed, error) {
	if s.ollama != nil {
		return s.fetchOllama(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	models, err := s.openai.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, m := range models {
		if m.Chat {
			out = append(out, listed{name: m.ID, window: m.Window, output: m.MaxOutput, tools: m.Tools == nil || *m.Tools, reasoning: m.Reasoning || openai.Reasons(m.ID)})
		}
	}
	return out, nil
}

func (s *server) fetchOllama(ctx context.Context) ([]listed, error) {
	within := probeWithin
	if s.asked { // somebody says that it is there
		within = listWithin
	}
	probe, stop := context.WithTimeout(ctx, within)
	defer stop()
	if err := s.ollama.Up(probe); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	models, err := s.ollama.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, m := range models {
		if m.Chat {
			out = append(out, ofOllama(m))
		}
	}
	return out, nil
}

func ofOllama(m ollama.Listed) listed {
	return listed{name: m.Name, window: m.Window, tools: m.Tools, reasoning: m.Thinking}
}

// models returns what can be asked, preferred ones first, then those with tools.
func (s *server) models(ctx context.Context) ([]core.ModelInfo, error) {
	list, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b listed) int { return s.rank(a) - s.rank(b) })
	out := make([]core.ModelInfo, 0, len(list))
	for _, m := range list {
		out = append(out, s.describe(m))
	}
	return out, nil
}

// rank orders models: the preferred ones, by name before those whose name goes on, then others with tools.
func (s *server) rank(m listed) int {
	if at := slices.Index(s.row.Prefer, m.name); at >= 0 {
		return 2 * at
	}
	for at, prefix := range s.row.Prefer {
		if strings.HasPrefix(m.name, prefix) {
			return 2*at + 1
		}
	}
	if m.tools {
		return 2 * len(s.row.Prefer)
	}
	return 2*len(s.row.Prefer) + 1
}

// info returns what is known of one model. It asks the server where the server knows more than the catalogue; an
// answer that does not come leaves the catalogue's. A model that the server says it has not is not_found.
func (s *server) info(ctx context.Context, model string) (core.ModelInfo, error) {
	known := catalogued(model)
	m := listed{name: model, tools: true, reasoning: openai.Reasons(model)}
	if s.ollama != nil {
		m, err := s.ollamaModel(ctx, model)
		return s.describe(m), err
	}
	if s.row.NoSizes && !s.moved && known.window > 0 {
		return s.describe(m), nil
	}
	list, err := s.all(ctx)
	if err == nil {
		if at := slices.IndexFunc(list, func(l listed) bool { return l.name == model }); at >= 0 {
			m = list[at]
		}
	}
	return s.describe(m), nil
}

func (s *server) ollamaModel(ctx context.Context, model string) (listed, error) {
	if list, ok, err := s.remembered(); ok && err == nil {
		if at := slices.IndexFunc(list, func(l listed) bool { return l.name == model }); at >= 0 {
			return list[at], nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	m, err := s.ollama.Show(ctx, model)
	if core.KindOf(err) == core.NotFound {
		return listed{}, err
	}
	if err != nil {
		return listed{name: model, window: ollama.DefaultWindow, tools: true}, nil
	}
	return ofOllama(m), nil
}

// describe joins what the server says with what the catalogue knows. A window is what the server says, else the
// catalogue's, else a cautious default.
func (s *server) describe(m listed) core.ModelInfo {
	known := catalogued(m.name)
	info := core.ModelInfo{
		Handle: core.Handle(s.row.Name + "/" + m.name), Name: m.name, Provider: s.row.Name, Protocol: string(s.row.Protocol),
		Endpoint: s.base, ContextWindow: m.window, MaxOutput: m.output, Tools: m.tools, Reasoning: m.reasoning, CacheTTL: s.row.CacheTTL, BindsPrefix: s.row.BindsPrefix,
		ForcedTools: s.ollama == nil && s.quirks.Force != openai.ForceNot && m.tools,
	}
	if info.ContextWindow <= 0 && (!s.local() || !known.open) { // a server of one's own runs open models with any window
		info.ContextWindow = known.window
	}
	if info.ContextWindow <= 0 {
		info.ContextWindow = unknownCloud
		if s.local() {
			info.ContextWindow = unknownLocal
		}
	}
	if info.MaxOutput == 0 {
		info.MaxOutput = known.output
	}
	if info.CacheTTL == 0 {
		info.CacheTTL = defaultCacheTTL
	}
	return info
}
