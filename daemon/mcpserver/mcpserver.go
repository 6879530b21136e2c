// Package mcpserver serves the memory of agents to other programs by the Model Context Protocol: searches of archival
// memory and of conversations, blocks, a way to remember, and a way to ask the agent itself.
//
// Promises: only agents that a person named are reached; what another program says is told to an agent as that, never as
// a person's words; what it stores is tagged with its name; a question that would go round in a circle is refused; every
// argument and every result is bounded.
//
// Layer: above the daemon's client, which it uses like any other program.
package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/daemon/api"
	"loci/daemon/client"
)

// maxRequest bounds one request, in bytes.
const maxRequest = 4 << 20

// Config is what a server is built from. Client and Agents are required.
type Config struct {
	Client   *client.Client
	Agents   []string // names or ids of the agents that may be reached
	ReadOnly bool     // nothing is stored and nobody is asked
	Version  string
	Logger   *slog.Logger // nil: none
}

// server is what the tools share.
type server struct{ cfg Config }

// New returns a server with its tools.
func New(cfg Config) *mcp.Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg}
	m := mcp.NewServer(
		&mcp.Implementation{Name: "loci", Title: "Loci", Version: cfg.Version},
		&mcp.ServerOptions{Instructions: s.instructions(), Logger: cfg.Logger, Capabilities: &mcp.ServerCapabilities{}},
	)
	s.addMemory(m)
	if !cfg.ReadOnly {
		s.addRemember(m)
		s.addAsk(m)
	}
	return m
}

func (s *server) instructions() string {
	const what = "The long-term memory of %s. Search it before you answer what may depend on earlier work or on what the person prefers"
	text := fmt.Sprintf(what, strings.Join(s.cfg.Agents, ", "))
	if s.cfg.ReadOnly {
		return text + "."
	}
	return text + ", and store what will matter later: one fact a call, with its date. Never store secrets."
}

// idleSession is how long a program over HTTP is known by the name it gave without asking for anything.
const idleSession = 30 * time.Minute

// Handler serves over HTTP. A program says its name once, at the start of a session.
func Handler(cfg Config) http.Handler {
	s := New(cfg)
	h := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{SessionTimeout: idleSession, Logger: cfg.Logger},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		h.ServeHTTP(w, r)
	})
}

// agent finds the agent that a call means, by its name or id. With a single one it need not be named.
func (s *server) agent(ctx context.Context, name string) (api.AgentState, error) {
	if name == "" && len(s.cfg.Agents) == 1 {
		name = s.cfg.Agents[0]
	}
	if name == "" {
		return api.AgentState{}, fmt.Errorf("say which agent: %s", strings.Join(s.cfg.Agents, ", "))
	}
	if slices.Contains(s.cfg.Agents, name) {
		return s.find(ctx, name)
	}
	for _, one := range s.cfg.Agents { // by the other of its two names
		if g, err := s.find(ctx, one); err == nil && (g.ID == name || g.Name == name) {
			return g, nil
		}
	}
	return api.AgentState{}, fmt.Errorf("no agent %q is offered here; there is %s", clip(name, 60), strings.Join(s.cfg.Agents, ", "))
}

func (s *server) find(ctx context.Context, ref string) (api.AgentState, error) {
	if strings.HasPrefix(ref, "agent-") {
		return s.cfg.Client.Agent(ctx, ref)
	}
	found, err := s.cfg.Client.Agents(ctx, api.ListAgents{Page: api.Page{Limit: 2}, AgentFilter: api.AgentFilter{Name: ref}})
	if err != nil {
		return api.AgentState{}, err
	}
	if len(found) != 1 {
		return api.AgentState{}, fmt.Errorf("%d agents are named %q; a person must name one by its id", len(found), clip(ref, 60))
	}
	return found[0], nil
}

// Check says whether each of the agents can be found.
func Check(ctx context.Context, cfg Config) error {
	s := &server{cfg}
	for _, ref := range cfg.Agents {
		if _, err := s.find(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// caller is the name of the program that calls, made fit for a tag.
func caller(info *mcp.Implementation) string {
	const most = 40
	if info == nil {
		return unnamed
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ', r == '/':
			return '-'
		}
		return -1
	}, info.Name)
	if name = strings.Trim(name[:min(len(name), most)], "-_."); name == "" {
		return unnamed
	}
	return name
}

// unnamed is the name of a program that doesn't say its own.
const unnamed = "unnamed"

// text is a result of one text.
func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// clip shortens a text and says by how much.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%s… (%d more characters)", string(r[:most]), len(r)-most)
	}
	return s
}
