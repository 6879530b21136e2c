package providers

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/internal/machine"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
)

// Limits on querying a server's models.
const (
	listWithin  = 2 * time.Second        // for a listing
	probeWithin = 300 * time.Millisecond // to see whether a local server that nobody configured is running
	listFresh   = 5 * time.Minute        // how long a listing is valid
	runFresh    = 30 * time.Second       // the same if the running window can change
	failFresh   = 10 * time.Second       // how long a failed listing is remembered
	missFresh   = 10 * time.Second       // the same that a listing lacks a model or its window
	mostMissed  = 100                    // models of which that is remembered
)

// server is one endpoint: its wire, its limits, and its last listing.
type server struct {
	endpoint
	who    wire.Who
	gate   *limiter
	now    func() time.Time
	log    *slog.Logger
	wire   protocol.Server
	signer protocol.Signer

	learned refusalMemory // what its models don't accept

	used    time.Time // this and the next two are guarded by Providers.mu
	users   int       // calls that hold it
	retired bool      // close it when the last of them releases it

	listing chan struct{} // one slot: its holder fetches the listing
	mu      sync.Mutex
	list    []protocol.Model
	listErr error
	listed  time.Time            // when list and listErr came
	until   time.Time            // when they expire
	missed  map[string]time.Time // when a model was looked for whose window isn't known
}

func (p *Providers) newServer(e endpoint) (*server, error) {
	s := &server{
		endpoint: e, now: p.cfg.Now, log: p.cfg.Log, listing: make(chan struct{}, 1),
		who:    wire.Who{Provider: e.row.Name, Endpoint: e.base, Secrets: e.values.Secrets()},
		signer: protocol.Bearer(e.values[e.keyVar]),
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
	if e.row.Sign != nil {
		var err error
		if s.signer, err = e.row.Sign(e.values, p.http); err != nil {
			return nil, err
		}
	}
	opts := protocol.Options{
		Provider: e.row.Name, BaseURL: e.base, Values: e.values, KeyVar: e.hintVar(), Idle: idle, Comments: p.cfg.Comments,
		HTTP: protocol.Signed(p.http, e.base, e.headers, s.signer),
	}
	if p.cfg.Traces != nil {
		opts.HTTP = &tracer{base: opts.HTTP, sink: p.cfg.Traces, now: time.Now, secrets: e.values.Secrets()}
	}
	if loopback(e.base) {
		opts.Memory, opts.Unified = max(p.cfg.Memory, 0), machine.Unified
	}
	var err error
	s.wire, err = e.protocol.Open(opts)
	return s, err
}

// close closes what the wire and the signer keep between calls.
func (s *server) close() {
	for _, part := range []any{s.wire, s.signer} {
		if c, ok := part.(io.Closer); ok {
			if err := c.Close(); err != nil {
				s.log.LogAttrs(
					context.Background(),
					slog.LevelDebug,
					"provider closed badly",
					slog.String("provider", s.row.Name),
					slog.String("error", err.Error()),
				)
			}
		}
	}
}

// all returns what the server lists, cached for a while, but for no longer than an age where one is given.
func (s *server) all(ctx context.Context, age time.Duration) ([]protocol.Model, error) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, s.who.Network(ctx, nil, ctx.Err())
	}
	if list, ok, err := s.remembered(age); ok {
		return list, err
	}
	listing, err := s.fetch(ctx)
	if kind := core.KindOf(err); err != nil && len(s.row.declared()) > 0 &&
		(errors.Is(err, wire.ErrListing) || kind == core.NotFound || kind == core.Invalid) {
		err = nil // it lists nothing, and the settings say what it has
	}
	list := unique(append(listing.Models, s.row.declared()...))
	if ctx.Err() != nil {
		return nil, s.who.Network(ctx, nil, ctx.Err()) // the caller gave up: that says nothing about the server
	}
	fresh := listFresh
	switch {
	case err != nil:
		fresh = failFresh
		s.log.DebugContext(ctx, "models not listed", slog.String("provider", s.row.Name), slog.String("error", err.Error()))
	case listing.Live:
		fresh = runFresh
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.listErr, s.listed = list, err, s.now()
	s.until = s.listed.Add(fresh)
	return list, err
}

// unique drops the models that a listing repeats.
func unique(list []protocol.Model) []protocol.Model {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(m protocol.Model) bool {
		again := seen[m.Name]
		seen[m.Name] = true
		return again
	})
}

// remembered returns the last listing while it is valid, and no older than an age where one is given.
func (s *server) remembered(age time.Duration) (list []protocol.Model, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	return s.list, now.Before(s.until) && (age == 0 || now.Sub(s.listed) < age), s.listErr
}

// fetch fetches the listing. A local server that nobody configured gets less time to show that it is running.
func (s *server) fetch(ctx context.Context) (protocol.Listing, error) {
	within := listWithin
	if !s.asked {
		within = probeWithin
	}
	if up, ok := s.wire.(protocol.Prober); ok {
		probe, stop := context.WithTimeout(ctx, within)
		err := up.Up(probe)
		stop()
		if err != nil {
			return protocol.Listing{}, err
		}
		within = listWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.wire.List(ctx)
}

// models returns what the server lists: preferred models first, then those with tools, and those that can't chat last.
func (s *server) models(ctx context.Context, age time.Duration) ([]core.ModelInfo, error) {
	list, err := s.all(ctx, age)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b protocol.Model) int { return s.rank(a) - s.rank(b) })
	out := make([]core.ModelInfo, 0, len(list))
	for _, m := range list {
		out = append(out, s.info(m))
	}
	return out, nil
}

// rank orders models: preferred ones first, exact names before prefixes, then others with tools. A guard model can
// answer, but isn't one to chat with.
func (s *server) rank(m protocol.Model) int {
	others := 2 * len(s.row.Prefer)
	if m.Hidden != "" {
		return others + 2
	}
	if at := slices.Index(s.row.Prefer, m.Name); at >= 0 {
		return 2 * at
	}
	for at, prefix := range s.row.Prefer {
		if strings.HasPrefix(m.Name, prefix) {
			return 2*at + 1
		}
	}
	if m.Tools &&
		!slices.Contains(
			strings.FieldsFunc(strings.ToLower(m.Name), func(r rune) bool { return strings.ContainsRune("-_/.:", r) }),
			"guard",
		) {
		return others
	}
	return others + 1
}

// describe returns what is known of one model. It asks the server if the server knows more than the catalogue; without
// an answer, assumptions are returned. A model that the server says it doesn't have is not_found.
func (s *server) describe(ctx context.Context, model string) (core.ModelInfo, error) {
	if list, ok, err := s.remembered(0); ok && err == nil {
		if m, sized := s.among(list, model); sized {
			return s.info(m), nil
		}
	}
	within, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	m, err := s.wire.Describe(within, model)
	if core.KindOf(err) == core.NotFound {
		return core.ModelInfo{}, err
	}
	m.Name = model
	if m.Guess && (!s.row.NoSizes || s.foreign || s.known(protocol.Model{Name: model}).Window == 0) {
		if listed := s.listedNow(ctx, model); listed.Name != "" {
			m = listed
		}
	}
	return s.info(m), nil
}

// listedNow returns what the listing says of a model; nothing if it lacks it. If it can't tell the window, it is fetched once
// more: the model may have been loaded since.
func (s *server) listedNow(ctx context.Context, model string) protocol.Model {
	list, err := s.all(ctx, 0)
	m, sized := s.among(list, model)
	if err != nil || sized || !s.miss(model) {
		return m
	}
	if list, err = s.all(ctx, core.ListedNow); err == nil {
		m, _ = s.among(list, model)
	}
	return m
}

// among finds a model in a listing, and says whether its window is known.
func (s *server) among(list []protocol.Model, model string) (m protocol.Model, sized bool) {
	if at := slices.IndexFunc(list, func(m protocol.Model) bool { return m.Name == model }); at >= 0 {
		return list[at], s.window(list[at]) > 0
	}
	return m, false
}

// miss remembers that a model is looked for, and reports whether that is due.
func (s *server) miss(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if at, before := s.missed[model]; before && now.Sub(at) < missFresh {
		return false
	}
	if s.missed == nil || len(s.missed) >= mostMissed {
		s.missed = map[string]time.Time{}
	}
	s.missed[model] = now
	return true
}

// info merges what the server says with the table. The window is the server's, else the table's, else a cautious default.
func (e endpoint) info(m protocol.Model) core.ModelInfo {
	known := e.known(m)
	info := core.ModelInfo{
		Handle: core.Handle(e.row.Name + "/" + m.Name), Name: m.Name, Provider: e.row.Name, Protocol: e.protocol.Name(),
		Endpoint: e.base, ContextWindow: e.window(m), MaxOutput: m.MaxOutput, Tools: m.Tools, ForcedTools: m.Forced, Reasoning: m.Reasoning,
		Images: cmp.Or(m.Images, known.Images()), BindsPrefix: m.Binds || known.Binds, CacheTTL: e.row.CacheTTL, Hidden: m.Hidden,
		Own: m.Own, Efforts: known.Efforts, NoTemperature: known.Known && !known.Sampling, Price: e.price(m.Name, known.Price),
		TextCalls: e.textForm(m.Name),
	}
	if base := e.of(m); base != m.Name {
		info.Base = base
	}
	if m.ToolsGuess && known.Known && !known.Tools {
		info.Tools, info.ForcedTools = false, false
	}
	if q, ok := e.protocol.(openai.Quirks); ok {
		info.Tokens = q.GivesTokens(m.Name)
	}
	if info.ContextWindow <= 0 {
		info.ContextWindow = unknownCloud
		if e.local() {
			info.ContextWindow = unknownLocal
		}
	}
	if info.MaxOutput == 0 {
		info.MaxOutput = known.MaxOutput
	}
	if info.CacheTTL == 0 {
		info.CacheTTL = defaultCacheTTL
	}
	e.row.overrule(&info)
	return info
}
