package mcpservers

import (
	"context"
	"encoding/json"

	"loci/core"
	"loci/storage/sqlite"
)

// ToolRow is a tool as it lies in the table, with the name of its server.
type ToolRow struct {
	ID         core.ToolID      `db:"id"`
	Server     core.MCPServerID `db:"server_id"`
	ServerName string           `db:"server_name"`
	Name       string           `db:"name"`
	Remote     string           `db:"remote"`
	Data       string           `db:"data"`
}

// toolData is what a server said of a tool.
type toolData struct {
	Offer core.MCPOffer  `json:"offer"`
	Now   *core.MCPOffer `json:"now,omitempty"`
	Gone  bool           `json:"gone,omitempty"`
}

// Tool reads a row.
func (r *ToolRow) Tool() (core.MCPTool, error) {
	var d toolData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.MCPTool{}, err
	}
	return core.MCPTool{
		ID: r.ID, Server: r.Server, ServerName: r.ServerName, Name: r.Name, MCPOffer: d.Offer, Now: d.Now, Gone: d.Gone,
	}, nil
}

// SelectTools reads all rows.
const SelectTools = `SELECT t.id, t.server_id, s.name AS server_name, t.name, t.remote, t.data
	FROM mcp_tools t JOIN mcp_servers s ON s.id = t.server_id`

// Tools implements core.MCPServerStore.
func (s Store) Tools(ctx context.Context, server core.MCPServerID) ([]core.MCPTool, error) {
	return s.tools(ctx, SelectTools+` WHERE $1 IN ('', t.server_id) ORDER BY t.name`, string(server))
}

// ToolsAmong implements core.MCPServerStore.
func (s Store) ToolsAmong(ctx context.Context, ids []core.ToolID) ([]core.MCPTool, error) {
	list, err := json.Marshal(append([]core.ToolID{}, ids...))
	if err != nil {
		return nil, err
	}
	return s.tools(ctx, SelectTools+` WHERE t.id IN (SELECT value FROM json_each($1)) ORDER BY t.name`, string(list))
}

func (s Store) tools(ctx context.Context, query, value string) ([]core.MCPTool, error) {
	ctx, q := s.On.Read(ctx)
	whole, _, err := sqlite.Whole(ctx, q, (*ToolRow).Tool, query, value) // of one that can't be read, doctor tells
	return whole, sqlite.Classify("list tools of MCP servers", err)
}

// FindTool implements core.MCPServerStore.
func (s Store) FindTool(ctx context.Context, name string) (core.MCPTool, bool, error) {
	ctx, q := s.On.Read(ctx)
	var row ToolRow
	ok, err := q.Find(ctx, &row, SelectTools+` WHERE t.name = $1`, name)
	if err != nil || !ok {
		return core.MCPTool{}, false, sqlite.Classify("find tool of an MCP server", err)
	}
	t, err := row.Tool()
	return t, err == nil, err
}

// PutTool implements core.MCPServerStore.
func (s Store) PutTool(ctx context.Context, t *core.MCPTool) error {
	if err := t.Validate(); err != nil {
		return err
	}
	data, err := sqlite.Encode(toolData{Offer: t.MCPOffer, Now: t.Now, Gone: t.Gone})
	if err != nil {
		return err
	}
	return s.On.Atomic(ctx, "put tool of an MCP server", func(ctx context.Context, q *sqlite.Querier) error {
		var taken int
		if _, err := q.Find(ctx, &taken, `SELECT COUNT(*) FROM mcp_tools WHERE name = $1 AND id <> $2`, t.Name, t.ID); err != nil {
			return err
		}
		if taken > 0 {
			return core.E(core.Conflict, "a tool of a server is named %s already", t.Name)
		}
		row := ToolRow{ID: t.ID, Server: t.Server, Name: t.Name, Remote: t.Remote, Data: data}
		_, err := q.Named(ctx, `INSERT INTO mcp_tools (id, server_id, name, remote, data)
			VALUES (:id, :server_id, :name, :remote, :data)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, remote = excluded.remote, data = excluded.data`, row)
		return err
	})
}

// DeleteTool implements core.MCPServerStore.
func (s Store) DeleteTool(ctx context.Context, id core.ToolID) error {
	return s.On.Write(ctx, "delete tool of an MCP server", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM mcp_tools WHERE id = $1`, id)
		if err == nil && n == 0 {
			return sqlite.NotFound("tool", string(id))
		}
		return err
	})
}
