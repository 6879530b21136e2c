// Package session keeps client sessions: who makes a request, from where, and the provider variables they sent.
//
// Promises: a session lives in memory only, until an hour after its last request, stream and run; a restarted daemon has
// none. Its variables are forgotten with it, wherever they were passed on to. There are at most a thousand: beyond that,
// the least recently used one without an active run is dropped. Everything is safe for concurrent use.
//
// Layer 3, beside core/service: it imports core and asks the store which runs are active.
package session

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"loci/core"
)

// maxSessions limits how many sessions are alive.
const maxSessions = 1000

// Config is what the registry needs. Runs is required.
type Config struct {
	Runs   core.RunStore    // says which runs are under way
	Env    core.Env         // the daemon's own provider variables; nil: none
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discarded
	TTL    time.Duration    // how long a session outlives its last request and run, 0: one hour
}

// Registry holds the live sessions.
type Registry struct {
	cfg Config

	mu       sync.Mutex // guards sessions, timer and closed
	sessions map[core.ClientID]*entry
	timer    *time.Timer
	closed   bool
	sweeping sync.WaitGroup

	busy func() map[core.ClientID]bool // the sessions with an active run
}

// entry is a live session.
type entry struct {
	client core.Client
	own    *variables
	seen   time.Time
	calls  int // requests and streams under way
}

// New returns an empty registry. Close forgets its sessions.
func New(cfg Config) *Registry {
	if cfg.Env == nil {
		cfg.Env = func(string) (core.Secret, bool) { return "", false }
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.TTL == 0 {
		cfg.TTL = time.Hour
	}
	r := &Registry{cfg: cfg, sessions: map[core.ClientID]*entry{}}
	r.busy = r.withRuns
	return r
}

// Register creates a session.
func (r *Registry) Register(in Hello) (core.Client, error) {
	client, err := in.client()
	if err != nil {
		return core.Client{}, err
	}
	own := &variables{vars: maps.Clone(in.Variables)}
	client.Env = r.layered(own)
	if err := r.keep(client, own, in.PID); err != nil {
		return core.Client{}, err
	}
	return client, nil
}

func (r *Registry) keep(client core.Client, own *variables, pid int) error {
	var busy map[core.ClientID]bool
	if r.Count() >= maxSessions {
		busy = r.busy()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return core.ErrShutdown
	}
	if len(r.sessions) >= maxSessions && !r.giveWayLocked(busy) {
		return core.E(core.Busy, "there are %d client sessions with runs under way", maxSessions)
	}
	r.sessions[client.ID] = &entry{client: client, own: own, seen: r.cfg.Clock()}
	r.cfg.Logger.Debug(
		"client registered",
		slog.String("client", string(client.ID)),
		slog.String("kind", string(client.Kind)),
		slog.Int("pid", pid),
	)
	if r.timer == nil {
		r.timer = time.AfterFunc(r.cfg.TTL, r.sweep)
	}
	return nil
}

// giveWayLocked drops the least recently used session without an active run; its client must register again.
func (r *Registry) giveWayLocked(busy map[core.ClientID]bool) bool {
	var oldest core.ClientID
	for id, s := range r.sessions {
		if !busy[id] && (oldest == "" || s.seen.Before(r.sessions[oldest].seen)) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	r.sessions[oldest].own.forget()
	delete(r.sessions, oldest)
	return true
}

// Get returns a living session and keeps it alive. An unknown one must register again.
func (r *Registry) Get(id core.ClientID) (core.Client, error) {
	return r.Change(id, func(*core.Client) error { return nil })
}

// Change changes what a session may do from its next request on: its mode and its rules. It returns the session as it is
// then; where change fails, nothing was changed.
func (r *Registry) Change(id core.ClientID, change func(c *core.Client) error) (core.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sessions[id]
	if !ok {
		return core.Client{}, core.E(core.Precondition, "this client session is not known").
			WithHint("register again and repeat the request")
	}
	s.seen = r.cfg.Clock()
	client := s.client
	if err := change(&client); err != nil {
		return core.Client{}, err
	}
	s.client.Mode, s.client.Rules = client.Mode, client.Rules
	return s.client, nil
}

// Anonymous is the client of a request without a session: the API, with the daemon's own variables.
func (r *Registry) Anonymous() core.Client {
	return core.Client{Kind: core.ClientAPI, Mode: core.ModeStandard, Env: r.cfg.Env}
}

// Begin records a request or stream of a live session until done is called. An unknown session must register again. With a
// mode, that is the session's from here on.
func (r *Registry) Begin(id core.ClientID, mode core.PermissionMode) (client core.Client, done func(), err error) {
	client, err = r.Change(id, func(c *core.Client) error {
		if mode == "" {
			return nil
		}
		c.Mode = mode
		return mode.Validate()
	})
	if err != nil {
		return client, nil, err
	}
	r.count(id, 1)
	return client, func() { r.count(id, -1) }, nil
}

func (r *Registry) count(id core.ClientID, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sessions[id]; ok {
		s.calls += by
		s.seen = r.cfg.Clock()
	}
}

// Here returns how many clients are connected: those with an open request or stream, which a chat always has.
func (r *Registry) Here() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		if s.calls > 0 {
			n++
		}
	}
	return n
}

// Attends reports whether somebody is there who sees what runs of a client's session ask: at that session, or at another chat that
// is open in its folder.
func (r *Registry) Attends(c core.Client) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.ID == "" || c.Unattended {
		return false
	}
	for id, s := range r.sessions {
		near := id == c.ID || s.client.Kind == core.ClientChat && s.client.Workspace == c.Workspace
		if near && s.calls > 0 && !s.client.Unattended {
			return true
		}
	}
	return false
}

// Count returns the number of live sessions.
func (r *Registry) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// Envs returns the variables of the live sessions, most recently used first.
func (r *Registry) Envs() []core.Env {
	type seen struct {
		env core.Env
		at  time.Time
	}
	r.mu.Lock()
	var all []seen
	for _, s := range r.sessions {
		all = append(all, seen{s.client.Env, s.seen})
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b seen) int { return b.at.Compare(a.at) })
	out := make([]core.Env, len(all))
	for i, s := range all {
		out[i] = s.env
	}
	return out
}

// sweep drops expired sessions and runs again when the next one may expire.
func (r *Registry) sweep() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.sweeping.Add(1)
	r.mu.Unlock()
	defer r.sweeping.Done()
	busy := r.busy()

	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Clock()
	next := r.cfg.TTL
	for id, s := range r.sessions {
		if busy[id] || s.calls > 0 {
			s.seen = now
		}
		left := r.cfg.TTL - now.Sub(s.seen)
		if left <= 0 {
			s.own.forget()
			delete(r.sessions, id)
			continue
		}
		next = min(next, left)
	}
	r.timer = nil
	if len(r.sessions) > 0 && !r.closed {
		r.timer = time.AfterFunc(next, r.sweep)
	}
}

// withRuns returns the sessions with an active run; none if they can't be read.
func (r *Registry) withRuns() map[core.ClientID]bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	busy := map[core.ClientID]bool{}
	runs, err := r.cfg.Runs.Unfinished(ctx)
	if err != nil {
		r.cfg.Logger.WarnContext(ctx, "unfinished runs of client sessions cannot be read", slog.Any("error", err))
	}
	for _, run := range runs {
		busy[run.Client.ID] = true
	}
	return busy
}

// Close forgets the sessions and their variables; nobody can register afterwards.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
	for _, s := range r.sessions {
		s.own.forget()
	}
	clear(r.sessions)
	r.mu.Unlock()
	r.sweeping.Wait()
}
