package mcpclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
)

// Bounds of what a server says.
const (
	mostMessage  = 24 << 20 // bytes of one message
	mostBytes    = 48 << 20 // from the beginning of one call to that of the next
	mostLines    = 20_000   // messages, likewise
	mostAtOnce   = 16       // calls
	mostPages    = 100      // of a list
	mostLeftOut  = 20       // tools that are left out of a list, and told of
	relistWithin = 10 * time.Second
)

// session is a server that runs, or a connection to one.
type session struct {
	m      *Manager
	to     core.MCPTarget
	ctx    context.Context // ends with the server
	stop   context.CancelCauseFunc
	slots  chan struct{} // one for each call at a time
	budget *budget
	log    *tail // what the program wrote beside its messages

	ready  chan struct{} // closed once it is connected, or never will be
	failed error         // why it never will be
	over   chan struct{} // closed once nothing of it is left
	how    string        // how its program ended, once it is over

	client  *mcp.ClientSession
	changed atomic.Bool // its list of tools did, since it was asked
	told    atomic.Bool // whoever keeps lists was told of this one
	renewed atomic.Bool // another one took its place, and only calls that run have it

	mu     sync.Mutex // guards what follows
	listed core.MCPListing
	extra  []string // tools that are not the server's, for what it has beside its own

	// The manager guards these.
	key   string
	users int
	used  time.Time
	idle  *time.Timer
}

func newSession(m *Manager, to core.MCPTarget) *session {
	s := &session{
		m: m, to: to, slots: make(chan struct{}, mostAtOnce), ready: make(chan struct{}), over: make(chan struct{}),
		budget: &budget{}, log: &tail{},
	}
	s.ctx, s.stop = context.WithCancelCause(m.ctx)
	s.budget.overdrawn = func() { s.stop(errFlood) }
	s.budget.renew()
	return s
}

// run connects, and returns once nothing of the server is left.
func (s *session) run() {
	defer close(s.over)
	defer s.stop(nil)
	patience := s.m.cfg.Times.Connect
	if s.installs() {
		patience = s.m.cfg.Times.Install
	}
	slow := time.AfterFunc(patience, func() {
		s.stop(core.E(core.Timeout, "the server %s did not answer within %s", s.to.Server.Name, patience))
	})
	link, err := s.connect(ordinary)
	if refuses(err) { // one that knows the newest protocol alone is not greeted
		link.close()
		if link, err = s.connect(stateless); refuses(err) {
			err = s.fault(link, err)
		}
	}
	slow.Stop()
	s.failed = err
	close(s.ready)
	if err == nil {
		s.installed()
		s.await()
	}
	s.stop(nil)
	link.close()
	s.how = link.ended(0)
}

// Versions of the protocol that the first message to a server is of. Many servers end, or never answer, if that is none that they know.
const (
	ordinary  = "2025-11-25"
	stateless = "2026-07-28"
)

// refuses reports whether a server answered that it can't be greeted.
func refuses(err error) bool {
	var said *jsonrpc.Error
	return errors.As(err, &said) && (said.Code == jsonrpc.CodeMethodNotFound || said.Code == mcp.CodeUnsupportedProtocolVersion)
}

// connect opens the way to the server, greets it and asks what it has.
func (s *session) connect(version string) (*link, error) {
	link, err := s.open()
	if err != nil {
		return link, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "loci", Version: s.m.cfg.Version}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.changed.Store(true) },
	})
	s.client, err = client.Connect(s.ctx, link.transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		link.client = s.client
		err = s.ask(s.ctx)
	}
	if err == nil || refuses(err) {
		return link, err
	}
	return link, s.fault(link, err)
}

// fault says why a server can't be used.
func (s *session) fault(link *link, err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return s.withLog(cause)
	}
	if why := link.ended(s.m.cfg.Times.Grace); why != "" {
		return s.withLog(core.E(core.Unavailable, "the server %s %s", s.to.Server.Name, why))
	}
	return s.withLog(s.worded("can't be used", err))
}

// await returns once the server has ended, or is not wanted any more.
func (s *session) await() {
	gone := make(chan struct{})
	s.m.owned.Go(func() {
		defer close(gone)
		_ = s.client.Wait() // why it ended is said by whoever asks something of it
	})
	select {
	case <-gone:
	case <-s.ctx.Done():
	}
}

// ask asks for the list of tools.
func (s *session) ask(ctx context.Context) error {
	var tools []*mcp.Tool
	var left []string
	params := &mcp.ListToolsParams{}
	for range mostPages {
		page, err := s.client.ListTools(ctx, params)
		if err != nil {
			return err
		}
		for _, t := range page.Tools {
			if t != nil && len(tools) < core.MaxMCPTools {
				tools = append(tools, t)
			} else if t != nil && len(left) == 0 {
				left = append(left, "all tools beyond the first "+itoa(core.MaxMCPTools))
			}
		}
		if page.NextCursor == "" || len(left) > 0 {
			break
		}
		params.Cursor = page.NextCursor
	}
	more := s.extras(tools)
	listing := offersOf(append(tools, more...))
	listing.Left = append(listing.Left, left...)
	s.mu.Lock()
	s.extra = nil
	for _, t := range more {
		s.extra = append(s.extra, t.Name)
	}
	s.listed = listing
	s.mu.Unlock()
	return nil
}

// relist asks for the list of tools again, since it changed.
func (s *session) relist(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, relistWithin)
	defer cancel()
	if err := s.ask(ctx); err != nil {
		s.changed.Store(true)
		return s.worded("does not say which tools it has now", err)
	}
	return nil
}

func (s *session) listing() core.MCPListing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// offer returns what the server says of one tool.
func (s *session) offer(remote string) (core.MCPOffer, bool) {
	for _, o := range s.listing().Offers {
		if o.Remote == remote {
			return o, true
		}
	}
	return core.MCPOffer{}, false
}

// worded words an error of the protocol or of the way to a server.
func (s *session) worded(what string, err error) error {
	var ours *core.Error
	if errors.As(err, &ours) {
		return ours
	}
	return core.E(core.Unavailable, "the server %s %s: %s", s.to.Server.Name, what, plain(err.Error(), 300))
}

// withLog adds what a program wrote last.
func (s *session) withLog(err error) error {
	said := s.log.text()
	if said == "" {
		return err
	}
	return core.E(core.KindOf(err), "%s. It wrote: %s", err.Error(), said).WithHint("%s", core.HintOf(err))
}
