package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/embed"
	"loci/providers/internal/wire"
)

// Config is what the resolver needs. Every field may be left out.
type Config struct {
	Offline     core.ChatModel                                                       // the built-in model; without it offline handles are not found
	OfflineInfo core.ModelInfo                                                       // what it can do; a default without a handle
	Dial        func(ctx context.Context, network, address string) (net.Conn, error) // opens connections, for tests and connection traces
	HTTP        http.RoundTripper                                                    // in place of a transport with Dial
	Log         *slog.Logger
	Now         func() time.Time // for how long a listing counts
	Idle        time.Duration    // how long a server may be silent in the middle of an answer; 0: the row's, or five minutes
	Parallel    int              // requests at once with one key, where the row has no bound; 0: 64
	Notice      func(context.Context, Notice)
}

// Notice says that a request will be repeated.
type Notice struct {
	Provider string
	Model    string
	Attempt  int // the one that failed, from 1
	Wait     time.Duration
	Err      error
}

// Providers finds who answers. It is safe for concurrent use and starts nothing that outlives a call.
type Providers struct {
	cfg   Config
	http  http.RoundTripper
	words *embed.Model // the built-in embedding

	mu      sync.Mutex
	servers map[string]*server
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
			Handle: core.OfflineHandle, Name: "loci", Provider: "offline", Protocol: string(Offline),
			ContextWindow: unknownLocal, Tools: true, ForcedTools: true, Offline: true,
		}
	}
	p := &Providers{cfg: cfg, http: cfg.HTTP, words: embed.New(), servers: map[string]*server{}}
	if p.http == nil {
		p.http = wire.NewTransport(cfg.Dial)
	}
	return p
}

// Close ends the connections that are kept for reuse.
func (p *Providers) Close() {
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
	row, ok := find(name)
	switch {
	case !ok:
		return nil, core.ModelInfo{}, core.E(core.NotFound, "there is no provider %q", name).WithHint("the providers are %s", strings.Join(builtNames(), ", "))
	case !row.Built:
		return nil, core.ModelInfo{}, core.E(core.Unsupported, "%s is not supported yet", row.Title).WithHint("models of %s can be reached through openrouter", row.Title)
	case row.Protocol == Offline:
		if p.cfg.Offline == nil || handle != p.cfg.OfflineInfo.Handle {
			return nil, core.ModelInfo{}, core.E(core.NotFound, "there is no built-in model %q", model).WithHint("the built-in model is %s", core.OfflineHandle)
		}
		return p.cfg.Offline, p.cfg.OfflineInfo, nil
	}
	e, err := endpointOf(row, env)
	if err != nil {
		return nil, core.ModelInfo{}, err
	}
	if e.key == "" && !e.keyless() {
		return nil, core.ModelInfo{}, core.E(core.Unauthenticated, "%w for %s", core.ErrNoKey, row.Title).WithHint("set %s", row.KeyVars[0])
	}
	s := p.server(e)
	info, err := s.info(ctx, model)
	if err != nil {
		return nil, core.ModelInfo{}, err
	}
	return &asked{providers: p, server: s, info: info}, info, nil
}

// List implements core.Models.
func (p *Providers) List(ctx context.Context, env core.Env) ([]core.ModelInfo, error) {
	servers, _ := p.reachable(env)
	lists := make([][]core.ModelInfo, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { lists[i], _ = s.models(ctx) }) // who cannot be asked has none
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, core.E(core.KindOf(err), "list the models: %w", context.Cause(ctx))
	}
	var out []core.ModelInfo
	for _, list := range lists {
		out = append(out, list...)
	}
	if p.cfg.Offline != nil {
		out = append(out, p.cfg.OfflineInfo)
	}
	return out, nil
}

// First implements core.Models. Providers are asked at once, and the first in the catalogue's order that has a model
// wins; it does not wait for those after it.
func (p *Providers) First(ctx context.Context, env core.Env) core.Reach {
	var found core.Reach
	ctx, cancel := context.WithCancel(ctx)
	servers, wrong := p.reachable(env)
	found.Failed = wrong
	type listing struct {
		models []core.ModelInfo
		err    error
	}
	lists := make([]chan listing, len(servers))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, s := range servers {
		lists[i] = make(chan listing, 1)
		wg.Go(func() {
			models, err := s.models(ctx)
			lists[i] <- listing{models, err}
		})
	}
	for i, list := range lists {
		l := <-list
		if why := servers[i].failure(l.err, len(l.models)); why != "" {
			found.Failed = append(found.Failed, why)
		}
		for _, m := range l.models {
			if m.Tools || !found.OK {
				found.Info, found.OK, found.Because = m, true, servers[i].because()+"; it is asked "+servers[i].where()
			}
			if m.Tools {
				return found
			}
		}
	}
	return found
}

// Unbuilt implements core.Models.
func (p *Providers) Unbuilt(env core.Env) []string { return Unbuilt(env) }

// Moved implements core.Models. Where a variable is wrong nobody can be asked, at no address.
func (p *Providers) Moved(env core.Env) map[string]string {
	var at map[string]string
	for _, row := range Rows() {
		if !row.Built || row.BaseURLVar == "" {
			continue
		}
		if e, err := endpointOf(row, env); err == nil && e.moved {
			if at == nil {
				at = map[string]string{}
			}
			sum := sha256.Sum256([]byte(e.base))
			at[row.Name] = hex.EncodeToString(sum[:16])
		}
	}
	return at
}

// Unbuilt names the variables that are set for providers that are not built yet.
func Unbuilt(env core.Env) []string {
	var names []string
	for _, row := range Rows() {
		if row.Built {
			continue
		}
		for _, name := range row.KeyVars {
			if _, set := value(env, name); set != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// reachable returns the servers that may be asked for their models, in the catalogue's order, and what is set up wrongly.
func (p *Providers) reachable(env core.Env) (out []*server, wrong []string) {
	for _, row := range Rows() {
		if !row.Built || row.Protocol == Offline {
			continue
		}
		e, err := endpointOf(row, env)
		if err != nil {
			p.cfg.Log.Warn("provider left out", slog.String("provider", row.Name), slog.String("error", err.Error()))
			wrong = append(wrong, err.Error())
			continue
		}
		if e.probed() {
			out = append(out, p.server(e))
		}
	}
	return out, wrong
}

func builtNames() []string {
	var names []string
	for _, row := range Rows() {
		if row.Built {
			names = append(names, row.Name)
		}
	}
	return names
}

// mostServers bounds what is remembered of askers that are long gone.
const mostServers = 256

// server returns the one server for an endpoint, so that all who use it share its bounds and its listing.
func (p *Providers) server(e endpoint) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, now := e.id(), p.cfg.Now()
	s, ok := p.servers[id]
	if !ok {
		p.forget()
		s = newServer(p, e)
		p.servers[id] = s
	}
	s.used = now
	return s
}

func (p *Providers) forget() {
	if len(p.servers) < mostServers {
		return
	}
	var oldest string
	for id, s := range p.servers {
		if oldest == "" || s.used.Before(p.servers[oldest].used) {
			oldest = id
		}
	}
	delete(p.servers, oldest)
}
