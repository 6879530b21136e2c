package storagetest

import (
	"context"
	"encoding/json"

	"loci/core"
)

func (h *home) mcpServer(name string) core.MCPServer {
	s := core.MCPServer{
		ID: core.NewMCPServerID(), Name: name, Transport: core.MCPStdio, Command: "node", Args: []string{"server.js", "ä"},
		Grants: core.MCPGrants{Read: []string{"/srv/x"}, Write: []string{"/srv/y"}, Hosts: []string{"example.org"}, Private: true},
		Needs:  []string{"TOKEN"}, Sealed: []byte("\x00\xff"), Was: "it was", Fault: "it ended", ListedAt: h.tick(),
		CreatedAt: h.tick(), UpdatedAt: h.tick(),
	}
	h.ok(h.s.MCPServers().Put(h.ctx, &s))
	return s
}

func (h *home) mcpTool(s *core.MCPServer, name, remote string) core.MCPTool {
	t := core.MCPTool{
		ID: core.NewToolID(), Server: s.ID, ServerName: s.Name, Name: name, MCPOffer: core.MCPOffer{
			Remote: remote, Description: "Does it.", Parameters: json.RawMessage(`{"type":"object"}`), Health: core.MCPNonStrict,
			Reasons: []string{"r"}, Hash: "h",
		},
		Now: &core.MCPOffer{Remote: remote, Parameters: json.RawMessage(`{"type":"object"}`), Hash: "h2"}, Gone: true,
	}
	h.ok(h.s.MCPServers().PutTool(h.ctx, &t))
	return t
}

func (h *home) mcpServers() {
	servers := h.s.MCPServers()
	list := func() []core.MCPServer { return must[[]core.MCPServer](h)(servers.List(h.ctx)) }
	tools := func(id core.MCPServerID) []core.MCPTool { return must[[]core.MCPTool](h)(servers.Tools(h.ctx, id)) }
	equal(h, []core.MCPServer{}, list())
	two, one := h.mcpServer("two"), h.mcpServer("one")
	equal(h, []core.MCPServer{one, two}, list())
	equal(h, two, must[core.MCPServer](h)(servers.Get(h.ctx, two.ID)))
	found, ok, err := servers.Find(h.ctx, "one")
	h.ok(err)
	equal(h, true, ok)
	equal(h, one, found)
	_, ok, err = servers.Find(h.ctx, "three")
	h.ok(err)
	equal(h, false, ok)

	b, a, c := h.mcpTool(&one, "b", "B"), h.mcpTool(&one, "a", "A"), h.mcpTool(&two, "c", "A")
	equal(h, []core.MCPTool{a, b}, tools(one.ID))
	equal(h, []core.MCPTool{a, b, c}, tools(""))
	equal(h, []core.MCPTool{c}, must[[]core.MCPTool](h)(servers.ToolsAmong(h.ctx, []core.ToolID{"tool-none", c.ID})))
	h.kind(core.Conflict, servers.PutTool(h.ctx, &core.MCPTool{
		ID: core.NewToolID(), Server: two.ID, Name: "a", MCPOffer: core.MCPOffer{Remote: "Z", Parameters: []byte("{}")},
	}))
	a.Name, a.Now = "uno", nil
	h.ok(servers.PutTool(h.ctx, &a))
	tool, ok, err := servers.FindTool(h.ctx, "uno")
	h.ok(err)
	equal(h, true, ok)
	equal(h, a, tool)
	h.ok(servers.DeleteTool(h.ctx, a.ID))
	h.kind(core.NotFound, servers.DeleteTool(h.ctx, a.ID))

	other := one
	other.ID = core.NewMCPServerID()
	h.kind(core.Conflict, servers.Put(h.ctx, &other))
	other.Name = "a/b"
	h.kind(core.Invalid, servers.Put(h.ctx, &other))
	one.Name, one.ListedAt = "uno", one.CreatedAt
	h.ok(servers.Put(h.ctx, &one))
	equal(h, []core.MCPServer{two, one}, list())
	equal(h, "uno", tools(one.ID)[0].ServerName)
	h.ok(servers.Delete(h.ctx, one.ID))
	h.kind(core.NotFound, servers.Delete(h.ctx, one.ID))
	equal(h, []core.MCPTool{c}, tools(""))
}

// mcpOps are the operations on servers.
func (*world) mcpOps() []storeOp {
	tool := core.MCPTool{
		ID: "tool-m", Server: "mcp_server-1", Name: "m", MCPOffer: core.MCPOffer{Remote: "m", Parameters: []byte("{}")},
	}
	return []storeOp{
		op("put MCP server", func(ctx context.Context, s core.Store) error {
			return s.MCPServers().Put(ctx, &core.MCPServer{ID: "mcp_server-1", Name: "x", Transport: core.MCPHTTP, URL: "http://h"})
		}),
		op("put tool of an MCP server", func(ctx context.Context, s core.Store) error { return s.MCPServers().PutTool(ctx, &tool) }),
		reads("list MCP servers", func(ctx context.Context, s core.Store) ([]core.MCPServer, error) { return s.MCPServers().List(ctx) }),
		reads("get MCP server", func(ctx context.Context, s core.Store) (core.MCPServer, error) {
			return s.MCPServers().Get(ctx, "mcp_server-1")
		}),
		reads("list tools of MCP servers", func(ctx context.Context, s core.Store) ([]core.MCPTool, error) {
			return s.MCPServers().Tools(ctx, "")
		}),
		reads("list some tools of MCP servers", func(ctx context.Context, s core.Store) ([]core.MCPTool, error) {
			return s.MCPServers().ToolsAmong(ctx, []core.ToolID{tool.ID})
		}),
		op("find MCP server", func(ctx context.Context, s core.Store) error { _, _, err := s.MCPServers().Find(ctx, "x"); return err }),
		op("find tool of an MCP server", func(ctx context.Context, s core.Store) error {
			_, _, err := s.MCPServers().FindTool(ctx, "m")
			return err
		}),
		op("delete tool of an MCP server", func(ctx context.Context, s core.Store) error {
			return s.MCPServers().DeleteTool(ctx, tool.ID)
		}),
		op("delete MCP server", func(ctx context.Context, s core.Store) error { return s.MCPServers().Delete(ctx, "mcp_server-1") }),
	}
}
