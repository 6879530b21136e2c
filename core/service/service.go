// Package service holds the use cases of each noun: validate, then one transaction, then the ports. It is what the
// HTTP edge calls, and nothing of the wire is known here.
//
// Promises: a call that returns without an error is durable; what it names is checked before anything is written; a
// change that the prompt shows marks the default conversations that show it as stale, in the same transaction, so that
// they are compiled anew at their next read or run. Everything is safe for concurrent use. Models and tools are asked
// before a transaction, never inside.
//
// Layer 3: it imports core, the pure helpers and core/engine.
package service

import (
	"log/slog"
	"time"

	"loci/core"
	"loci/core/credential"
	"loci/core/embedding"
	"loci/core/engine"
	"loci/core/images"
	"loci/core/past"
	"loci/core/session"
	"loci/core/toolbox"
	"loci/core/undo"
)

// Config joins what the services use. Store, Engine, Models and Tools are required.
type Config struct {
	Store  core.Store
	Search core.Searcher
	Engine *engine.Engine
	Models core.Models
	Puller core.Puller // downloads models; nil: nobody does
	Tools  core.Toolbox

	Forgetter core.Forgetter // nil: nothing can be forgotten
	Forgotten func()         // called after something was, to drop what was made of it; may be nil

	Maker     core.ToolMaker                 // nil: people can write no tools
	Variables toolbox.Variables              // of tools that are run by themselves; nil: none
	Hosts     func() (core.HostRules, error) // that those reach; nil: none

	Restorer core.FileRestorer // nil: files stay as they are

	Catalogue core.Catalogue // nil: no providers can be stored
	Sealer    core.Sealer    // of their keys

	Pictures core.ImageReader  // nil: no images are taken
	Remote   core.ImageFetcher // nil: none from other servers

	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discarded
	Env    core.Env         // the daemon's own provider variables; nil: none

	Accepted func() // called after files were, which then wait to be read; may be nil

	Embedders    core.Embedders    // nil: only the built-in one is known
	Embedding    *embedding.Worker // that may use the keys of client sessions; nil: none, and an archive's cannot be changed
	DefaultModel core.Handle       // the configured default; empty: none

	Searches func(env core.Env) bool // whether a search service of the web is set up; nil: none is

	RegisterWithin time.Duration // how long registering waits for a provider to say what is not known, 0: 40 ms
}

// Services are the use cases, one value per noun.
type Services struct {
	Agents        *Agents
	Archives      *Archives
	Blocks        *Blocks
	Clients       *Clients
	Conversations *Conversations
	Files         *Files
	Folders       *Folders
	Forget        *Forget
	History       *History
	Images        *images.Images
	Messages      *Messages
	Mirrors       *Mirrors
	Models        *Models
	Passages      *Passages
	Providers     *credential.Providers
	Runs          *Runs
	Sessions      *session.Registry
	Sources       *undo.Sources
	Tools         *toolbox.Tools
	Undo          *undo.Passages
}

// New returns the services; it starts nothing. Close ends the client sessions.
func New(cfg Config) *Services {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Env == nil {
		cfg.Env = func(string) (core.Secret, bool) { return "", false }
	}
	if cfg.Accepted == nil {
		cfg.Accepted = func() {}
	}
	if cfg.RegisterWithin == 0 {
		cfg.RegisterWithin = registerWithin
	}
	p := &parts{Config: cfg, past: past.New(cfg.Store, cfg.Engine.Prompts(), cfg.Engine, cfg.Restorer, cfg.Clock)}
	sessions := session.New(session.Config{Runs: cfg.Store.Runs(), Env: cfg.Env, Clock: cfg.Clock, Logger: cfg.Logger})
	if cfg.Embedding != nil {
		cfg.Embedding.Lend(sessions.Envs)
	}
	p.models = &Models{parts: p, known: map[core.Handle]knownModel{}}
	agents := &Agents{parts: p}
	blocks := &Blocks{parts: p}
	conversations := &Conversations{parts: p}
	history := &History{parts: p}
	turns := undo.New(undo.Config{Store: cfg.Store, Announce: cfg.Engine.Announce})
	return &Services{
		Agents:        agents,
		Archives:      &Archives{parts: p},
		Blocks:        blocks,
		Clients:       &Clients{parts: p, sessions: sessions, agents: agents, conversations: conversations},
		Conversations: conversations,
		Files:         &Files{parts: p},
		Folders:       &Folders{parts: p},
		Forget:        &Forget{parts: p},
		History:       history,
		Images:        images.New(cfg.Store, cfg.Pictures, cfg.Remote),
		Messages:      &Messages{parts: p},
		Mirrors:       &Mirrors{parts: p, blocks: blocks},
		Models:        p.models,
		Passages:      &Passages{parts: p},
		Providers: credential.New(credential.Config{
			Store: cfg.Store, Catalogue: cfg.Catalogue, Sealer: cfg.Sealer, Env: cfg.Env, Clock: cfg.Clock,
		}),
		Runs:     &Runs{parts: p},
		Sessions: sessions,
		Sources:  undo.NewSources(cfg.Store, history.Undo, turns),
		Tools: toolbox.New(toolbox.Config{
			Store: cfg.Store, Box: cfg.Tools, Maker: cfg.Maker, Variables: cfg.Variables, Hosts: cfg.Hosts, Search: cfg.Search,
			Changed: p.changed, Clock: cfg.Clock,
		}),
		Undo: turns,
	}
}

// Close forgets the client sessions and their variables, and ends what was asked for them.
func (s *Services) Close() {
	s.Sessions.Close()
	s.Clients.asking.Close()
}

// parts is what all services share.
type parts struct {
	Config
	models *Models
	past   *past.Past
}

// changed tells open chats that something of these agents changed.
func (p *parts) changed(agents ...core.AgentID) {
	for _, id := range agents {
		p.Engine.Announce(core.Change{Agent: id})
	}
}
