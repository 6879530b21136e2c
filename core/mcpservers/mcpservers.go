// Package mcpservers is the use cases of MCP servers: adding one, changing and removing it, and finding out what tools it has.
//
// Promises: a server is stored before it is asked anything, and stays when it can't be reached; its secrets are stored sealed; what a
// server says of its tools counts once a person accepted it, and what differs from that is kept beside it and told. No tool of a
// server has the name of another tool, and each keeps the name that it got.
//
// Layer 2: it imports core and core/toolbox.
package mcpservers

import (
	"context"
	"encoding/json"
	"time"

	"loci/core"
	"loci/core/toolbox"
)

// Config joins what Servers uses.
type Config struct {
	Store     core.Store
	Box       core.Toolbox
	Client    core.MCPClient
	Sealer    core.Sealer
	Variables toolbox.Variables // nil: settings name none
	Changed   func(agents ...core.AgentID)
	Clock     func() time.Time
}

// Servers are the use cases. Safe for concurrent use.
type Servers struct{ cfg Config }

// New returns the use cases on a store.
func New(cfg Config) *Servers { return &Servers{cfg} }

// Draft is a server as somebody sends it. What it leaves out, an older one keeps.
type Draft struct {
	Name       string // empty: as before
	Transport  core.MCPTransport
	Command    *string
	Args       *[]string
	URL        *string
	AuthHeader *string
	Env        *map[string]string
	Headers    *map[string]string
	Token      *string
	Grants     *core.MCPGrants
}

func (d *Draft) apply(s *core.MCPServer, secrets *core.MCPSecrets) {
	if d.Name != "" {
		s.Name = d.Name
	}
	if d.Transport != "" && d.Transport != s.Transport {
		s.Transport, s.Command, s.Args, s.URL, s.AuthHeader = d.Transport, "", nil, "", ""
		*secrets = core.MCPSecrets{}
	}
	set(&s.Command, d.Command)
	set(&s.Args, d.Args)
	set(&s.URL, d.URL)
	set(&s.AuthHeader, d.AuthHeader)
	set(&secrets.Env, d.Env)
	set(&secrets.Headers, d.Headers)
	set(&secrets.Token, d.Token)
	set(&s.Grants, d.Grants)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// List returns all servers, by name.
func (s *Servers) List(ctx context.Context) ([]core.MCPServer, error) {
	return s.cfg.Store.MCPServers().List(ctx)
}

// Get returns one by its id.
func (s *Servers) Get(ctx context.Context, id core.MCPServerID) (core.MCPServer, error) {
	return s.cfg.Store.MCPServers().Get(ctx, id)
}

// Named returns one by its name.
func (s *Servers) Named(ctx context.Context, name string) (core.MCPServer, error) {
	found, ok, err := s.cfg.Store.MCPServers().Find(ctx, name)
	if err == nil && !ok {
		err = core.E(core.NotFound, "there is no MCP server %q", name).WithHint("see `loci mcp list`")
	}
	return found, err
}

// sealedAs is what secrets are bound to, so that a changed row doesn't send them to another server.
func sealedAs(s *core.MCPServer) string { return "mcp server " + string(s.ID) + " " + s.Identity() }

// Secrets returns what is sealed of a server.
func (s *Servers) Secrets(ctx context.Context, of *core.MCPServer) (secrets core.MCPSecrets, err error) {
	if len(of.Sealed) == 0 {
		return secrets, nil
	}
	text, err := s.cfg.Sealer.Open(ctx, of.Sealed, sealedAs(of))
	if err != nil {
		return secrets, err
	}
	if err := json.Unmarshal([]byte(text.Reveal()), &secrets); err != nil {
		return secrets, core.E(core.Internal, "the secrets of %s can't be read", of.Name)
	}
	return secrets, nil
}

// Target is a server as a call of an agent reaches it, whose variables are given as NAME=value.
func (s *Servers) Target(ctx context.Context, id core.MCPServerID, variables []string) (core.MCPTarget, error) {
	found, err := s.Get(ctx, id)
	if err != nil {
		return core.MCPTarget{}, err
	}
	secrets, err := s.Secrets(ctx, &found)
	if err != nil {
		return core.MCPTarget{}, err
	}
	return found.Target(secrets, variables)
}

// Add stores a server and asks for its tools. One that can't be reached is stored as well, with the reason.
func (s *Servers) Add(ctx context.Context, d Draft) (core.MCPServer, error) {
	now := s.cfg.Clock()
	made := core.MCPServer{ID: core.NewMCPServerID(), CreatedAt: now, UpdatedAt: now}
	var secrets core.MCPSecrets
	d.apply(&made, &secrets)
	if err := s.seal(ctx, &made, &secrets); err != nil {
		return made, err
	}
	err := s.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := s.compare(ctx, tx, &made); err != nil {
			return err
		}
		return tx.MCPServers().Put(ctx, &made)
	})
	if err != nil {
		return made, err
	}
	_, _ = s.ask(ctx, made.ID, made.Was == "") // why it can't be reached is stored
	return s.Get(ctx, made.ID)
}

// Update changes a server and asks for its tools again.
func (s *Servers) Update(ctx context.Context, id core.MCPServerID, d Draft) (core.MCPServer, error) {
	was, err := s.Get(ctx, id)
	if err != nil {
		return was, err
	}
	secrets, err := s.Secrets(ctx, &was)
	if err != nil {
		return was, err
	}
	made := was
	d.apply(&made, &secrets)
	made.UpdatedAt = s.cfg.Clock()
	if err := s.seal(ctx, &made, &secrets); err != nil {
		return was, err
	}
	err = s.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := s.compare(ctx, tx, &made); err != nil {
			return err
		}
		return tx.MCPServers().Put(ctx, &made)
	})
	if err != nil {
		return was, err
	}
	s.cfg.Client.Drop(id)
	_, _ = s.ask(ctx, id, false) // likewise
	return s.Get(ctx, id)
}

// seal checks what is to be stored, and seals what is secret of it.
func (s *Servers) seal(ctx context.Context, made *core.MCPServer, secrets *core.MCPSecrets) error {
	if err := made.Validate(); err != nil {
		return err
	}
	if err := secrets.Validate(); err != nil {
		return err
	}
	made.Needs, made.Sealed = core.MCPNeeds(made, secrets), nil
	if secrets.Empty() {
		return nil
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	made.Sealed, err = s.cfg.Sealer.Seal(ctx, core.Secret(text), sealedAs(made))
	return err
}

// known is what a name stood for when a person last accepted it. It outlives the server, since rules of permission do.
type known struct {
	Identity string `json:"identity"`
	Place    string `json:"place"`
}

// compare notes what a server was before, if rules about its name meant another one.
func (s *Servers) compare(ctx context.Context, tx core.Store, made *core.MCPServer) error {
	var before known
	text, ok, err := tx.Meta().Get(ctx, core.MetaMCPServer+made.Name)
	if err != nil {
		return err
	}
	if ok && json.Unmarshal([]byte(text), &before) == nil && before.Identity != made.Identity() {
		made.Was = before.Place
		return nil
	}
	made.Was = ""
	return remember(ctx, tx, made)
}

// remember makes a server the one that rules about its name mean.
func remember(ctx context.Context, tx core.Store, of *core.MCPServer) error {
	text, err := json.Marshal(known{Identity: of.Identity(), Place: of.Place()})
	if err != nil {
		return err
	}
	return tx.Meta().Put(ctx, core.MetaMCPServer+of.Name, string(text))
}

// Delete removes a server with its tools, also from the agents that have them, and ends what runs of it.
func (s *Servers) Delete(ctx context.Context, id core.MCPServerID) error {
	var having []core.AgentID
	err := s.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		tools, err := tx.MCPServers().Tools(ctx, id)
		if err != nil {
			return err
		}
		if having, err = toolbox.Withdraw(ctx, tx, s.cfg.Clock(), idsOf(tools)...); err != nil {
			return err
		}
		return tx.MCPServers().Delete(ctx, id)
	})
	if err != nil {
		return err
	}
	s.cfg.Client.Drop(id)
	s.cfg.Changed(having...)
	return nil
}

func idsOf(tools []core.MCPTool) (ids []core.ToolID) {
	for i := range tools {
		ids = append(ids, tools[i].ID)
	}
	return ids
}
