package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"loci/core"
	"loci/core/memory"
)

// The bounds of what a client session may bring along.
const (
	maxSessions  = 1000
	maxVariables = 64
	maxVariable  = 8192
	maxFolder    = 4096
)

// OpenNew asks for a new agent or conversation where Open takes a name.
const OpenNew = "new"

// isVariable reports whether a name has the form of a provider variable: capitals, digits and underscores.
func isVariable(name string) bool {
	for i, c := range name {
		if (c < 'A' || c > 'Z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// Clients keeps the client sessions: who asks, from where, and the provider variables they brought. They live in
// memory only, until an hour after their last request and run; a daemon that restarts knows none.
type Clients struct {
	*parts
	agents        *Agents
	conversations *Conversations

	mu       sync.Mutex // guards sessions, timer and closed
	sessions map[core.ClientID]*session
	timer    *time.Timer
	closed   bool
	sweeping sync.WaitGroup

	busy func() map[core.ClientID]bool // the sessions that have a run under way
}

type session struct {
	client core.Client
	own    *variables
	seen   time.Time
}

// variables are those that a client brought. They are forgotten with its session, wherever they were passed on to.
type variables struct {
	mu   sync.RWMutex // guards vars
	vars map[string]string
}

func (v *variables) get(name string) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.vars[name]
}

func (v *variables) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.vars)
}

// NewClient is what a client says of itself.
type NewClient struct {
	Kind      core.ClientKind
	PID       int
	Folder    string
	Mode      core.PermissionMode
	Zone      string
	Variables map[string]string
}

// Open asks to find or make the agent to talk to.
type Open struct {
	Agent        string      // an id, a name or OpenNew; empty: the folder's, the last used anywhere, the newest, a new one
	Conversation string      // an id or OpenNew; empty: the folder's, else the agent's default one
	Name         string      // of a new agent; empty: a random one
	Model        core.Handle // of a new agent; empty: chosen
	Run          core.Handle // the model that its first run names itself; empty: that of the agent
}

// Opened is what was found or made.
type Opened struct {
	Agent        core.Agent
	Conversation core.Conversation
	AgentNew     bool
	Unbuilt      []string // provider variables of the client whose provider is not built yet
}

func newClients(p *parts, agents *Agents, conversations *Conversations) *Clients {
	c := &Clients{parts: p, agents: agents, conversations: conversations, sessions: map[core.ClientID]*session{}}
	c.busy = c.withRuns
	if c.Embedding != nil {
		c.Embedding.lend(c.envs)
	}
	return c
}

// Register makes a session.
func (c *Clients) Register(in NewClient) (core.Client, error) {
	client, err := c.client(in)
	if err != nil {
		return core.Client{}, err
	}
	own := &variables{vars: maps.Clone(in.Variables)}
	client.Env = c.layered(own)
	if err := c.keep(client, own, in.PID); err != nil {
		return core.Client{}, err
	}
	c.Engine.Joined(client.Env) // resumed runs may wait for a key
	if c.Embedding != nil {
		c.Embedding.sessionJoined()
	}
	return client, nil
}

func (c *Clients) keep(client core.Client, own *variables, pid int) error {
	var busy map[core.ClientID]bool
	if c.Count() >= maxSessions {
		busy = c.busy()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return core.ErrShutdown
	}
	if len(c.sessions) >= maxSessions && !c.giveWayLocked(busy) {
		return core.E(core.Busy, "there are %d client sessions with runs under way", maxSessions)
	}
	c.sessions[client.ID] = &session{client: client, own: own, seen: time.Now()}
	c.Logger.Debug("client registered", slog.String("client", string(client.ID)), slog.String("kind", string(client.Kind)), slog.Int("pid", pid))
	if c.timer == nil {
		c.timer = time.AfterFunc(c.SessionTTL, c.sweep)
	}
	return nil
}

// giveWayLocked ends the session that asked least recently and has no run under way; its client registers again.
func (c *Clients) giveWayLocked(busy map[core.ClientID]bool) bool {
	var oldest core.ClientID
	for id, s := range c.sessions {
		if !busy[id] && (oldest == "" || s.seen.Before(c.sessions[oldest].seen)) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	c.sessions[oldest].own.forget()
	delete(c.sessions, oldest)
	return true
}

func (c *Clients) client(in NewClient) (core.Client, error) {
	client := core.Client{ID: core.NewClientID(), Kind: in.Kind, Workspace: in.Folder, Mode: in.Mode, Zone: in.Zone}
	if client.Mode == "" {
		client.Mode = core.ModeStandard
	}
	if client.Mode != core.ModeStandard {
		return client, core.E(core.Unsupported, "permission mode %q is not built yet", string(in.Mode))
	}
	if in.Folder != "" {
		if !filepath.IsAbs(in.Folder) || len(in.Folder) > maxFolder {
			return client, core.E(core.Invalid, "a folder is named by its absolute path")
		}
		client.Workspace = filepath.Clean(in.Folder)
	}
	if _, err := time.LoadLocation(in.Zone); err != nil {
		return client, core.E(core.Invalid, "time zone %q is not known", in.Zone)
	}
	if len(in.Variables) > maxVariables {
		return client, core.E(core.Invalid, "a client brings at most %d variables", maxVariables)
	}
	for name, value := range in.Variables {
		if !isVariable(name) || len(value) > maxVariable {
			return client, core.E(core.Invalid, "%q is not a variable that can be passed", name)
		}
	}
	return client, nil
}

// layered finds a variable of the client first, then of the daemon.
func (c *Clients) layered(own *variables) core.Env {
	return func(name string) (core.Secret, bool) {
		if v := own.get(name); v != "" {
			return core.Secret(v), true
		}
		return c.Env(name)
	}
}

// Get returns a living session and keeps it alive. An unknown one must register again.
func (c *Clients) Get(id core.ClientID) (core.Client, error) {
	if client, ok := c.Find(id); ok {
		return client, nil
	}
	return core.Client{}, core.E(core.Precondition, "this client session is not known").WithHint("register again and repeat the request")
}

// Find returns a living session, for runs that are resumed.
func (c *Clients) Find(id core.ClientID) (core.Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[id]
	if !ok {
		return core.Client{}, false
	}
	s.seen = time.Now()
	return s.client, true
}

// Anonymous is the client of a request without a session: the API, with the daemon's own variables.
func (c *Clients) Anonymous() core.Client {
	return core.Client{Kind: core.ClientAPI, Mode: core.ModeStandard, Env: c.Env}
}

// Count returns how many sessions live.
func (c *Clients) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// sweep ends the sessions whose time is over, and comes again when the next one's may be.
func (c *Clients) sweep() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.sweeping.Add(1)
	c.mu.Unlock()
	defer c.sweeping.Done()
	busy := c.busy()

	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	next := c.SessionTTL
	for id, s := range c.sessions {
		if busy[id] {
			s.seen = now
		}
		left := c.SessionTTL - now.Sub(s.seen)
		if left <= 0 {
			s.own.forget()
			delete(c.sessions, id)
			continue
		}
		next = min(next, left)
	}
	c.timer = nil
	if len(c.sessions) > 0 && !c.closed {
		c.timer = time.AfterFunc(next, c.sweep)
	}
}

// withRuns returns the sessions that have a run under way. Where that cannot be read nobody is.
func (c *Clients) withRuns() map[core.ClientID]bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	busy := map[core.ClientID]bool{}
	runs, err := c.Store.Runs().Unfinished(ctx)
	if err != nil {
		c.Logger.WarnContext(ctx, "unfinished runs of client sessions cannot be read", slog.Any("error", err))
	}
	for _, r := range runs {
		busy[r.Client.ID] = true
	}
	return busy
}

func (c *Clients) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	for _, s := range c.sessions {
		s.own.forget()
	}
	clear(c.sessions)
	c.mu.Unlock()
	c.sweeping.Wait()
}

// Open finds or makes the agent and conversation of a client, in one transaction, so that two first starts make one.
func (c *Clients) Open(ctx context.Context, client core.Client, in Open) (Opened, error) {
	var want newAgent
	if in.Agent != OpenNew {
		opened, err := c.open(ctx, client, in, want)
		if !errors.Is(err, errNeedsAgent) {
			return opened, err
		}
	}
	// An agent has to be made: its model is asked for outside of the transaction, then the search begins again.
	want, err := c.prepare(ctx, client, in)
	if err != nil {
		return Opened{}, err
	}
	return c.open(ctx, client, in, want)
}

// newAgent is the agent that an empty home or a wish for a new one gets.
type newAgent struct {
	ready bool
	in    NewAgent
	draft core.Agent
}

var errNeedsAgent = core.E(core.Precondition, "an agent has to be made")

func (c *Clients) prepare(ctx context.Context, client core.Client, in Open) (newAgent, error) {
	want := newAgent{ready: true, in: NewAgent{
		Name: in.Name, Type: core.AgentLettaV1, Model: in.Model, Blocks: memory.DefaultBlocks(),
		Tools: TerminalTools(), NoBaseTools: true, Timezone: zoneOr(client.Zone), Recall: core.DefaultRecall,
	}}
	if want.in.Model == "" {
		want.in.Model = c.models.first(ctx, client.Env)
		want.in.ModelAuto = true // its first run says which it is and why
		if err := c.answerable(ctx, client, in, want.in.Model); err != nil {
			return want, err
		}
	}
	if want.in.Model == "" {
		want.in.Model = core.OfflineHandle
	}
	var err error
	want.draft, err = c.agents.draft(ctx, want.in, client.Env)
	return want, err
}

// answerable refuses to make an agent for a command whose one run could find no model. A chat is where one is chosen.
func (c *Clients) answerable(ctx context.Context, client core.Client, in Open, found core.Handle) error {
	if found != "" || in.Run != "" || client.Kind == core.ClientChat {
		return nil
	}
	_, err := c.Engine.Choose(ctx, core.Agent{ModelAuto: true}, "", client.Env)
	return err
}

// TerminalTools are the tools of an agent that the terminal makes.
func TerminalTools() []string {
	return []string{"memory_insert", "memory_replace", "archival_memory_insert", "archival_memory_search", "conversation_search"}
}

func zoneOr(zone string) string {
	if zone == "" || zone == "Local" {
		return "UTC"
	}
	return zone
}

func (c *Clients) open(ctx context.Context, client core.Client, in Open, want newAgent) (Opened, error) {
	var out Opened
	err := c.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		var last core.Workspace
		out = Opened{Unbuilt: c.Models.Unbuilt(c.env(client.Env))}
		if client.Workspace != "" {
			if last, _, err = tx.Workspaces().Find(ctx, client.Workspace); err != nil {
				return err
			}
		}
		if out.Agent, err = c.findAgent(ctx, tx, in.Agent, last); err != nil {
			if !errors.Is(err, errNeedsAgent) || !want.ready {
				return err
			}
			if out.Agent, err = c.agents.createIn(ctx, tx, want.draft, want.in, 0); err != nil {
				return err
			}
			out.AgentNew = true
		}
		out.Conversation, err = c.findConversation(ctx, tx, in.Conversation, out.Agent, last)
		return err
	})
	if err != nil {
		return Opened{}, err
	}
	if out.AgentNew || in.Conversation == OpenNew {
		c.changed(out.Agent.ID)
	}
	return out, nil
}

// findAgent finds the agent that is meant, or says that one has to be made.
func (c *Clients) findAgent(ctx context.Context, tx core.Store, name string, last core.Workspace) (core.Agent, error) {
	switch {
	case name == OpenNew:
		return core.Agent{}, errNeedsAgent
	case core.ValidID("agent", name):
		return tx.Agents().Get(ctx, core.AgentID(name))
	case name != "":
		return agentByName(ctx, tx, name)
	}
	anywhere, _, err := tx.Workspaces().Last(ctx)
	if err != nil {
		return core.Agent{}, err
	}
	for _, id := range []core.AgentID{last.Agent, anywhere.Agent} {
		if id == "" {
			continue
		}
		agent, err := tx.Agents().Get(ctx, id)
		if core.KindOf(err) != core.NotFound {
			return agent, err
		}
	}
	newest, err := tx.Agents().List(ctx, core.AgentFilter{}, core.Page{Limit: 1, Desc: true})
	if err != nil || len(newest) > 0 {
		if err != nil {
			return core.Agent{}, err
		}
		return newest[0], nil
	}
	return core.Agent{}, errNeedsAgent
}

// findConversation finds the thread that is meant: the folder's own where it belongs to the agent, else the default one.
func (c *Clients) findConversation(ctx context.Context, tx core.Store, name string, agent core.Agent, last core.Workspace) (core.Conversation, error) {
	switch name {
	case OpenNew:
		return c.conversations.createIn(ctx, tx, NewConversation{Agent: agent.ID})
	case "", "default":
		if name == "" && last.Agent == agent.ID && last.Conversation != "" {
			conv, err := tx.Conversations().Get(ctx, last.Conversation)
			if core.KindOf(err) != core.NotFound {
				return conv, err
			}
		}
		return tx.Conversations().Get(ctx, core.DefaultConversation(agent.ID))
	}
	conv, err := tx.Conversations().Get(ctx, core.ConversationID(name))
	if err == nil && conv.Agent != agent.ID {
		return conv, core.E(core.NotFound, "agent %s has no conversation %s", agent.Name, name)
	}
	return conv, err
}
