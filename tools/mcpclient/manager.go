// Package mcpclient uses the tools of MCP servers.
//
// Promises: a server starts when it is first needed, and one runs for all agents for which it would be started the same way. One that
// is a program runs in the sandbox, as every program of a tool does; one that has an address is reached at that address alone, and on
// this machine or in its network only where a person let it. What a server says is bounded in size, count and time, and is read as
// text: nothing of it reaches a terminal. A tool is called only as what the caller knows it to be. One that hangs, dies or floods
// ends, and the next call starts it anew; whether a call that it took along has done anything is never guessed.
//
// Layer 1, below tools: it imports core.
package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"sync"
	"time"

	"loci/core"
)

// Times are how long things may take; those that are 0 are as usual.
type Times struct {
	Connect time.Duration // to start a server, and to learn what it has
	Install time.Duration // the same, of one that has yet to fetch itself
	Call    time.Duration
	Idle    time.Duration // without a call, after which a server ends
	Grace   time.Duration // to do what it was asked to stop
}

// The usual times, as the contract has them.
const (
	connectTime = 30 * time.Second
	installTime = 3 * time.Minute // not the contract's, whose server had everything there
	callTime    = 60 * time.Second
	idleTime    = 10 * time.Minute
	graceTime   = 2 * time.Second
)

// mostSessions is how many servers run at a time.
const mostSessions = 64

// DialFunc connects to an address.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Config is what a Manager needs of the machine.
type Config struct {
	Sandbox core.Sandbox                // nil: no programs run
	Dial    func(private bool) DialFunc // nil: no address is reached
	Path    string                      // where programs of the person's are
	Home    string                      // of the person; empty: nobody knows
	Hidden  []string                    // folders that no server sees
	Caches  string                      // where servers that install themselves keep what they fetched; empty: nowhere
	Version string                      // what servers are told of ours
	Times   Times
	// Listed is told what a server says of its tools whenever it is asked while it is used; nil: nobody is.
	Listed func(ctx context.Context, server core.MCPServerID, listing core.MCPListing)
}

// Manager has the servers that run. Close it.
type Manager struct {
	cfg    Config
	ctx    context.Context // of all servers
	cancel context.CancelFunc
	owned  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closed   bool
	sessions map[string]*session
	renewals int // of sessions that were in use then, whose keys it tells apart
}

var _ core.MCPClient = (*Manager)(nil)

// New returns a manager. It starts nothing before the first call.
func New(cfg Config) *Manager {
	set := func(to *time.Duration, usual time.Duration) {
		if *to == 0 {
			*to = usual
		}
	}
	set(&cfg.Times.Connect, connectTime)
	set(&cfg.Times.Install, installTime)
	set(&cfg.Times.Call, callTime)
	set(&cfg.Times.Idle, idleTime)
	set(&cfg.Times.Grace, graceTime)
	m := &Manager{cfg: cfg, sessions: map[string]*session{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Close ends all servers and waits for them.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.owned.Wait()
}

// Renew implements core.MCPClient.
func (m *Manager) Renew(id core.MCPServerID) {
	m.mu.Lock()
	var unused []*session
	for key, s := range m.sessions {
		switch {
		case s.to.Server.ID != id || s.renewed.Swap(true):
		case s.users == 0:
			s.stop(errIdle)
			unused = append(unused, s)
		default: // its last call ends it
			delete(m.sessions, key)
			m.renewals++
			s.key = key + " " + itoa(m.renewals)
			m.sessions[s.key] = s
		}
	}
	m.mu.Unlock()
	over(unused)
}

// Drop implements core.MCPClient.
func (m *Manager) Drop(id core.MCPServerID) {
	m.mu.Lock()
	var ending []*session
	for _, s := range m.sessions {
		if s.to.Server.ID == id {
			s.stop(core.E(core.Cancelled, "the server %s was changed or removed", s.to.Server.Name))
			ending = append(ending, s)
		}
	}
	m.mu.Unlock()
	over(ending)
}

// over waits until nothing is left of sessions that end.
func over(sessions []*session) {
	for _, s := range sessions {
		<-s.over
	}
}

// Running returns how many servers run.
func (m *Manager) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}

// keyOf is the same for all who would start a server the same way.
func keyOf(to *core.MCPTarget) string {
	s := &to.Server
	text, _ := json.Marshal([]any{s.ID, s.Transport, s.Command, s.Args, s.URL, s.AuthHeader, s.Grants, to.Secrets}) // texts alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// take returns the session with a server, connected, and keeps it from idling until release.
func (m *Manager) take(ctx context.Context, to core.MCPTarget) (*session, error) {
	s, err := m.claim(to)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		m.release(s)
		return nil, context.Cause(ctx)
	}
	if s.failed != nil {
		m.release(s)
		return nil, s.failed
	}
	return s, nil
}

// claim returns a session, which may not be connected yet.
func (m *Manager) claim(to core.MCPTarget) (*session, error) {
	key := keyOf(&to)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, core.E(core.Unavailable, "the daemon is shutting down: no server is started any more")
	}
	s := m.sessions[key]
	if s != nil && s.ctx.Err() != nil { // it is ending, and nothing may be asked of it
		delete(m.sessions, key)
		s = nil
	}
	if s == nil {
		if len(m.sessions) >= mostSessions && !m.spareLocked() {
			return nil, core.E(core.Busy, "%d servers run already, and all of them are in use", mostSessions)
		}
		s = newSession(m, to)
		s.key = key
		m.sessions[key] = s
		m.owned.Go(func() {
			s.run()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.sessions[s.key] == s {
				delete(m.sessions, s.key)
			}
		})
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return s, nil
}

// release lets a session end once nobody has used it for a while.
func (m *Manager) release(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch s.users--; {
	case s.users > 0:
	case s.renewed.Load():
		s.stop(errIdle)
	default:
		s.used = time.Now()
		s.idle = time.AfterFunc(m.cfg.Times.Idle, func() { m.unused(s) })
	}
}

// unused ends a session that nobody uses.
func (m *Manager) unused(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.users == 0 {
		s.stop(errIdle)
	}
}

var errIdle = core.E(core.Cancelled, "nobody used it")

// spareLocked ends the session that was unused for longest, and reports whether there is one.
func (m *Manager) spareLocked() bool {
	var oldest *session
	var at string
	for key, s := range m.sessions {
		if s.users == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest, at = s, key
		}
	}
	if oldest == nil {
		return false
	}
	oldest.stop(errIdle)
	delete(m.sessions, at)
	return true
}

// List implements core.MCPClient.
func (m *Manager) List(ctx context.Context, to core.MCPTarget) (core.MCPListing, error) {
	s, err := m.take(ctx, to)
	if err != nil {
		return core.MCPListing{}, err
	}
	defer m.release(s)
	s.told.Store(true) // who asks keeps the answer
	if s.changed.Swap(false) {
		if err := s.relist(ctx); err != nil {
			return core.MCPListing{}, err
		}
	}
	return s.listing(), nil
}
