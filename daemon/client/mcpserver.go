package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

// MCPServers lists the MCP servers whose tools agents may call.
func (c *Client) MCPServers(ctx context.Context) ([]api.KeptMCPServer, error) {
	return call[[]api.KeptMCPServer](ctx, c, request{method: get, path: api.PathMCPServers})
}

// AddMCPServer adds a server. One that can't be reached is added as well, with the reason.
func (c *Client) AddMCPServer(ctx context.Context, in api.AddMCPServer) (api.KeptMCPServer, error) {
	return call[api.KeptMCPServer](ctx, c, request{method: put, path: api.PathMCPServers, body: in})
}

// AllowMCPServer adds to what a server may reach.
func (c *Client) AllowMCPServer(ctx context.Context, in api.AllowMCPServer) (api.KeptMCPServer, error) {
	return call[api.KeptMCPServer](ctx, c, request{method: post, path: api.PathMCPServersAllow, body: in})
}

// CheckMCPServer asks a server for its tools.
func (c *Client) CheckMCPServer(ctx context.Context, in api.CheckMCPServer) (api.CheckedMCPServer, error) {
	return call[api.CheckedMCPServer](ctx, c, request{method: post, path: api.PathMCPServersCheck, body: in})
}

// RemoveMCPServer removes a server with its tools.
func (c *Client) RemoveMCPServer(ctx context.Context, in api.NamedMCPServer) error {
	return c.done(ctx, request{method: remove, path: api.PathMCPServers, query: in})
}

// RunMCPTool runs a tool of a server, for no agent.
func (c *Client) RunMCPTool(ctx context.Context, t api.Tool, args api.Arguments) (api.ToolExecution, error) {
	of, _ := t.Metadata["mcp"].(map[string]any)
	server, _ := of["server_id"].(string)
	path := "/v1/mcp-servers/" + url.PathEscape(server) + "/tools/" + url.PathEscape(t.ID) + "/run"
	return call[api.ToolExecution](ctx, c, request{method: post, path: path, body: api.RunTool{Args: args}})
}
