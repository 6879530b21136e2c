package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loci/core"
	"loci/providers/embed"
	"loci/providers/internal/machine"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// Config is what the resolver needs. Every field is optional.
type Config struct {
	Rows        []Row          // the catalogue; nil: Rows()
	Offline     core.ChatModel // the built-in model; without it offline handles are not found
	OfflineInfo core.ModelInfo // what it can do; a default without a handle
	// Dial opens connections, for tests and connection traces.
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	HTTP     http.RoundTripper // replaces the transport with Dial
	Log      *slog.Logger
	Now      func() time.Time // used to expire listings
	Idle     time.Duration    // how long a server may be silent in the middle of an answer; 0: the row's, or five minutes
	Comments time.Duration    // how long a server may send nothing but comments; 0: fifteen minutes
	Parallel int              // concurrent requests per key if the row has no limit; 0: 64
	Traces   core.TraceSink   // keeps what is sent to models and what comes back; nil: nobody does
	Listings string           // the file that keeps what providers listed; empty: none does
	Memory   int64            // of this machine, in bytes; 0: what it has; below: unknown
}

// Providers finds the model for a handle. It is safe for concurrent use. What a wire keeps between calls is closed by
// Close, or when its server hasn't been used for long and makes room for another.
type Providers struct {
	cfg   Config
	base  []Row                 // as the catalogue and the configuration have them
	rows  atomic.Pointer[[]Row] // with what is stored
	http  http.RoundTripper
	words *embed.Model // the built-in embedding
	shelf *shelf

	life  context.Context //nolint:containedctx // of what runs in the background; Close ends it
	die   context.CancelFunc
	owned sync.WaitGroup

	stored []core.Provider // as Keep was last told; guarded by mu

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
}

var _ core.Models = (*Providers)(nil)

// New returns a resolver.
func New(cfg Config) *Providers {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OfflineInfo.Handle == "" {
		cfg.OfflineInfo = core.ModelInfo{
			Handle: core.OfflineHandle, Name: "loci", Provider: "offline", Protocol: "offline",
			ContextWindow: unknownLocal, Tools: true, ForcedTools: true, Offline: true, Images: core.ImagesRefused,
		}
	}
	if cfg.Rows == nil {
		cfg.Rows = Rows()
	}
	if cfg.Memory == 0 {
		cfg.Memory = machine.Memory()
	}
	p := &Providers{cfg: cfg, base: cfg.Rows, http: cfg.HTTP, words: embed.New(), servers: map[string]*server{}}
	p.shelf = &shelf{path: cfg.Listings, log: cfg.Log, now: cfg.Now}
	p.life, p.die = context.WithCancel(context.Background())
	p.rows.Store(&p.base)
	if p.http == nil {
		p.http = wire.NewTransport(cfg.Dial)
	}
	return p
}

// Close closes every server (those in use once their last call has returned) and idle connections. Nothing can be asked
// afterwards.
func (p *Providers) Close() {
	p.mu.Lock()
	p.closed = true
	var idle []*server
	for id := range p.servers {
		if s := p.retire(id); s != nil {
			idle = append(idle, s)
		}
	}
	p.mu.Unlock()
	p.die()
	p.owned.Wait()
	for _, s := range idle {
		s.close()
	}
	if t, ok := p.http.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Chat implements core.Models.
func (p *Providers) Chat(ctx context.Context, handle core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	if err := handle.Validate(); err != nil {
		return nil, core.ModelInfo{}, err
	}
	name, model, _ := handle.Split()
	row, ok := p.find(name)
	switch {
	case !ok:
		return nil, core.ModelInfo{}, unknown(p.known(), name)
	case !row.Built():
		return nil, core.ModelInfo{}, core.E(core.Unsupported, "%s is not supported yet", row.Title).
			WithHint("models of %s can be reached through openrouter", row.Title)
	case row.Offline:
		if p.cfg.Offline == nil || handle != p.cfg.OfflineInfo.Handle {
			return nil, core.ModelInfo{}, core.E(core.NotFound, "there is no built-in model %q", model).
				WithHint("the built-in model is %s", core.OfflineHandle)
		}
		return p.cfg.Offline, p.cfg.OfflineInfo, nil
	}
	e, err := p.endpoint(row, env)
	unasked := e.info(protocol.Model{Name: model, Tools: true}) // as far as the catalogue goes
	if err != nil {
		return nil, unasked, err
	}
	if e.keyVar == "" && !e.keyless() {
		return nil, unasked, e.noKey()
	}
	s, err := p.hold(e)
	if err != nil {
		return nil, unasked, err
	}
	defer p.release(s)
	info, err := s.describe(ctx, model)
	if err != nil {
		return nil, core.ModelInfo{}, err
	}
	if s.learned.imageless(model, s.now()) {
		info.Images = core.ImagesRefused
	}
	return &chatModel{providers: p, endpoint: e, info: info}, info, nil
}

// List implements core.Models.
func (p *Providers) List(ctx context.Context, env core.Env, q core.ModelQuery) ([]core.ModelInfo, error) {
	endpoints, _ := p.reachable(env, q.Provider)
	lists := p.listed(ctx, endpoints, q.MaxAge)
	if err := ctx.Err(); err != nil {
		return nil, core.E(core.KindOf(err), "list the models: %w", context.Cause(ctx))
	}
	var out []core.ModelInfo
	for _, l := range lists {
		out = append(out, l...) // of an unreachable endpoint, what it listed before
	}
	if p.cfg.Offline != nil && (q.Provider == "" || q.Provider == p.cfg.OfflineInfo.Provider) {
		out = append(out, p.cfg.OfflineInfo)
	}
	return out, nil
}

// Silence is a provider that is set up and offers no model.
type Silence struct{ Provider, Why, Hint string }

// Silent implements core.Models.
func (p *Providers) Silent(ctx context.Context, env core.Env) (out []string) {
	for _, s := range p.Silences(ctx, env) {
		why := s.Why
		if s.Hint != "" {
			why += " (" + s.Hint + ")"
		}
		out = append(out, why)
	}
	return out
}

// Silences says of each provider that is set up and offers no model why, as a sentence without a full stop.
func (p *Providers) Silences(ctx context.Context, env core.Env) []Silence {
	endpoints, out := p.reachable(env, "")
	for i, l := range p.listings(ctx, endpoints, 0) {
		if why := endpoints[i].failure(l.err, l.models); why != "" && ctx.Err() == nil {
			out = append(out, Silence{Provider: endpoints[i].row.Name, Why: why})
		}
	}
	return out
}

// listing is what one endpoint lists, or why it lists nothing.
type listing struct {
	models []core.ModelInfo
	err    error
}

// listings asks endpoints for their models, all at once; see core.ModelQuery.MaxAge.
func (p *Providers) listings(ctx context.Context, endpoints []endpoint, age time.Duration) []listing {
	lists := make([]listing, len(endpoints))
	var wg sync.WaitGroup
	for i, e := range endpoints {
		wg.Go(func() { lists[i].models, lists[i].err = p.models(ctx, e, age) })
	}
	wg.Wait()
	return lists
}

// models returns what one endpoint lists.
func (p *Providers) models(ctx context.Context, e endpoint, age time.Duration) ([]core.ModelInfo, error) {
	s, err := p.hold(e)
	if err != nil {
		return nil, err
	}
	defer p.release(s)
	return s.models(ctx, age)
}

// First implements core.Models. It asks all providers at once; the first in catalogue order that has a model wins,
// without waiting for those after it.
func (p *Providers) First(ctx context.Context, env core.Env) core.Reach {
	var found core.Reach
	ctx, cancel := context.WithCancel(ctx)
	endpoints, wrongs := p.reachable(env, "")
	var wrong []string
	for _, w := range wrongs {
		wrong = append(wrong, w.Why)
	}
	endpoints = slices.DeleteFunc(endpoints, func(e endpoint) bool { return e.row.NotFirst })
	found.Failed = wrong
	lists := make([]chan listing, len(endpoints))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, e := range endpoints {
		lists[i] = make(chan listing, 1)
		wg.Go(func() {
			models, err := p.models(ctx, e, 0)
			lists[i] <- listing{models, err}
		})
	}
	for i, list := range lists {
		l := <-list
		if why := endpoints[i].failure(l.err, l.models); why != "" {
			found.Failed = append(found.Failed, why)
		}
		for _, m := range l.models {
			if m.Hidden != "" {
				break // those that can't chat come last
			}
			if m.Tools || !found.OK {
				found.Info, found.OK, found.Because = m, true, endpoints[i].because()+"; it is asked "+endpoints[i].where()
			}
			if m.Tools {
				return found
			}
		}
	}
	return found
}

// Unbuilt implements core.Models.
func (p *Providers) Unbuilt(env core.Env) []string {
	var names []string
	for _, row := range p.known() {
		if row.Built() {
			continue
		}
		for _, name := range row.KeyVars() {
			if _, set := value(env, name); set != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// Moved implements core.Models. If a variable is invalid, the provider can't be used at all and is left out.
func (p *Providers) Moved(env core.Env) map[string]string {
	var at map[string]string
	for _, row := range p.known() {
		if row.Protocol == nil || row.BaseURLVar == "" {
			continue
		}
		if e, err := p.endpoint(row, env); err == nil && e.moved {
			if at == nil {
				at = map[string]string{}
			}
			sum := sha256.Sum256([]byte(e.base))
			at[row.Name] = hex.EncodeToString(sum[:16])
		}
	}
	return at
}

// reachable returns the endpoints that may be asked for models, in catalogue order, and what is set up wrongly: of one
// provider, or of all if it has no name.
func (p *Providers) reachable(env core.Env, provider string) (out []endpoint, wrong []Silence) {
	for _, row := range p.known() {
		if row.Protocol == nil || provider != "" && row.Name != provider && !slices.Contains(row.Aliases, provider) {
			continue
		}
		e, err := p.endpoint(row, env)
		if err != nil {
			p.cfg.Log.Warn("provider left out", slog.String("provider", row.Name), slog.String("error", err.Error()))
			wrong = append(wrong, Silence{row.Name, err.Error(), core.HintOf(err)})
			continue
		}
		if e.probed() {
			out = append(out, e)
		}
	}
	return out, wrong
}

func builtNames(rows []Row) []string {
	var names []string
	for _, row := range rows {
		if row.Built() {
			names = append(names, row.Name)
		}
	}
	return names
}
