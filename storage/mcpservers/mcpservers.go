// Package mcpservers stores the MCP servers that people added, with the tools that they were found to have.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package mcpservers

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

// Store is the servers within a scope.
type Store struct{ On *sqlite.Scope }

var _ core.MCPServerStore = Store{}

// Row is a server as it lies in the table.
type Row struct {
	ID        core.MCPServerID  `db:"id"`
	Name      string            `db:"name"`
	Transport core.MCPTransport `db:"transport"`
	Data      string            `db:"data"`
	Sealed    []byte            `db:"sealed"`
	CreatedAt sqlite.Micros     `db:"created_at"`
	UpdatedAt sqlite.Micros     `db:"updated_at"`
}

// serverData is what of a server nothing looks for.
type serverData struct {
	Command    string         `json:"command,omitempty"`
	Args       []string       `json:"args,omitempty"`
	URL        string         `json:"url,omitempty"`
	AuthHeader string         `json:"auth_header,omitempty"`
	Grants     core.MCPGrants `json:"grants"`
	Needs      []string       `json:"needs,omitempty"`
	Was        string         `json:"was,omitempty"`
	Fault      string         `json:"fault,omitempty"`
	ListedAt   sqlite.Micros  `json:"listed_at,omitempty"`
}

// Server reads a row.
func (r *Row) Server() (core.MCPServer, error) {
	var d serverData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.MCPServer{}, err
	}
	s := core.MCPServer{
		ID: r.ID, Name: r.Name, Transport: r.Transport, Command: d.Command, Args: d.Args, URL: d.URL, AuthHeader: d.AuthHeader,
		Grants: d.Grants, Needs: d.Needs, Sealed: r.Sealed, Was: d.Was, Fault: d.Fault,
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}
	if d.ListedAt != 0 {
		s.ListedAt = d.ListedAt.Time()
	}
	return s, nil
}

// Select reads all rows.
const Select = `SELECT id, name, transport, data, sealed, created_at, updated_at FROM mcp_servers`

// Get implements core.MCPServerStore.
func (s Store) Get(ctx context.Context, id core.MCPServerID) (core.MCPServer, error) {
	found, ok, err := s.find(ctx, "get MCP server", Select+` WHERE id = $1`, string(id))
	if err == nil && !ok {
		err = sqlite.NotFound("MCP server", string(id))
	}
	return found, err
}

// Find implements core.MCPServerStore.
func (s Store) Find(ctx context.Context, name string) (core.MCPServer, bool, error) {
	return s.find(ctx, "find MCP server", Select+` WHERE name = $1`, name)
}

func (s Store) find(ctx context.Context, op, query, value string) (core.MCPServer, bool, error) {
	ctx, q := s.On.Read(ctx)
	var row Row
	ok, err := q.Find(ctx, &row, query, value)
	if err != nil || !ok {
		return core.MCPServer{}, false, sqlite.Classify(op, err)
	}
	found, err := row.Server()
	return found, err == nil, err
}

// List implements core.MCPServerStore.
func (s Store) List(ctx context.Context) ([]core.MCPServer, error) {
	ctx, q := s.On.Read(ctx)
	whole, _, err := sqlite.Whole(ctx, q, (*Row).Server, Select+` ORDER BY name`) // of one that can't be read, doctor tells
	return whole, sqlite.Classify("list MCP servers", err)
}

// Put implements core.MCPServerStore.
func (s Store) Put(ctx context.Context, one *core.MCPServer) error {
	if err := one.Validate(); err != nil {
		return err
	}
	d := serverData{
		Command: one.Command, Args: one.Args, URL: one.URL, AuthHeader: one.AuthHeader, Grants: one.Grants, Needs: one.Needs,
		Was: one.Was, Fault: one.Fault,
	}
	if !one.ListedAt.IsZero() {
		d.ListedAt = sqlite.ToMicros(one.ListedAt)
	}
	data, err := sqlite.Encode(d)
	if err != nil {
		return err
	}
	return s.On.Atomic(ctx, "put MCP server", func(ctx context.Context, q *sqlite.Querier) error {
		if err := room(ctx, q, one); err != nil {
			return err
		}
		row := Row{
			ID: one.ID, Name: one.Name, Transport: one.Transport, Data: data, Sealed: append([]byte{}, one.Sealed...),
			CreatedAt: sqlite.ToMicros(one.CreatedAt), UpdatedAt: sqlite.ToMicros(one.UpdatedAt),
		}
		_, err := q.Named(ctx, `INSERT INTO mcp_servers (id, name, transport, data, sealed, created_at, updated_at)
			VALUES (:id, :name, :transport, :data, :sealed, :created_at, :updated_at)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, transport = excluded.transport, data = excluded.data,
			sealed = excluded.sealed, updated_at = excluded.updated_at`, row)
		return err
	})
}

// room refuses a name that is taken, and one server too many.
func room(ctx context.Context, q *sqlite.Querier, s *core.MCPServer) error {
	var taken, others int
	if _, err := q.Find(ctx, &taken, `SELECT COUNT(*) FROM mcp_servers WHERE name = $1 AND id <> $2`, s.Name, s.ID); err != nil {
		return err
	}
	if taken > 0 {
		return core.E(core.Conflict, "there is an MCP server named %s already", s.Name).WithHint("loci mcp list")
	}
	_, err := q.Find(ctx, &others, `SELECT COUNT(*) FROM mcp_servers WHERE id <> $1`, s.ID)
	if err == nil && others >= core.MaxMCPServers {
		return core.E(core.TooLarge, "there are %d MCP servers already, and no room for %s", others, s.Name)
	}
	return err
}

// Delete implements core.MCPServerStore.
func (s Store) Delete(ctx context.Context, id core.MCPServerID) error {
	return s.On.Atomic(ctx, "delete MCP server", func(ctx context.Context, q *sqlite.Querier) error {
		if _, err := q.Exec(ctx, `DELETE FROM mcp_tools WHERE server_id = $1`, id); err != nil {
			return err
		}
		n, err := q.Exec(ctx, `DELETE FROM mcp_servers WHERE id = $1`, id)
		if err == nil && n == 0 {
			return sqlite.NotFound("MCP server", string(id))
		}
		return err
	})
}
