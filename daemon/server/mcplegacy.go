package server

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/mcpservers"
	"loci/daemon/api"
)

// registerMCPByName registers the contract's older operations on MCP servers, which go by names.
func (s *Server) registerMCPByName(a huma.API) {
	handle(a, "GET", "/v1/tools/mcp/servers", s.listMCPByName)
	handle(a, "PUT", "/v1/tools/mcp/servers", s.addMCPByName)
	handle(a, "DELETE", "/v1/tools/mcp/servers/{mcp_server_name}", s.deleteMCPByName)
	handle(a, "GET", "/v1/tools/mcp/servers/{mcp_server_name}/tools", s.listMCPToolsByName)
	handle(a, "POST", "/v1/tools/mcp/servers/{mcp_server_name}/resync", s.refreshMCPByName)
	handle(a, "POST", "/v1/tools/mcp/servers/{mcp_server_name}/{mcp_tool_name}", s.addMCPToolByName)
	handle(a, "POST", "/v1/tools/mcp/servers/{mcp_server_name}/tools/{tool_name}/execute", s.runMCPToolByName)
}

// MCPServerNamePath names a server.
type MCPServerNamePath struct {
	Name string `path:"mcp_server_name"`
}

// namedMCP returns the server of a name, and the use cases.
func (s *Server) namedMCP(ctx context.Context, name string) (*mcpservers.Servers, core.MCPServer, error) {
	all, err := s.mcp()
	if err != nil {
		return nil, core.MCPServer{}, err
	}
	found, err := all.Named(ctx, name)
	return all, found, err
}

func byName(in api.MCPServer) api.MCPServerByName {
	return api.MCPServerByName{
		ServerName: in.ServerName, Type: in.Type, Command: in.Command, Args: in.Args, Env: in.Env, ServerURL: in.ServerURL,
		AuthHeader: in.AuthHeader, AuthToken: in.AuthToken, CustomHeaders: in.CustomHeaders,
	}
}

func (s *Server) allMCPByName(ctx context.Context) ([]api.MCPServerByName, error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	found, err := all.List(ctx)
	out := []api.MCPServerByName{}
	for _, one := range found {
		out = append(out, byName(wireMCPServer(ctx, all, one)))
	}
	return out, err
}

func (s *Server) listMCPByName(ctx context.Context, _ *struct{}) (*body[map[string]api.MCPServerByName], error) {
	all, err := s.allMCPByName(ctx)
	out := map[string]api.MCPServerByName{}
	for _, one := range all {
		out[one.ServerName] = one
	}
	return answer(out, err)
}

type addMCPByNameInput struct{ Body api.MCPServerByName }

func (s *Server) addMCPByName(ctx context.Context, in *addMCPByNameInput) (*body[[]api.MCPServerByName], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	b := in.Body
	config := api.MCPServerConfig{
		Type: b.Type, Command: b.Command, Args: b.Args, Env: b.Env, ServerURL: b.ServerURL, AuthHeader: b.AuthHeader,
		AuthToken: b.AuthToken, CustomHeaders: b.CustomHeaders,
	}
	if _, err := all.Add(ctx, mcpDraft(b.ServerName, config, core.MCPSecrets{})); err != nil {
		return nil, err
	}
	return answer(s.allMCPByName(ctx))
}

func (s *Server) deleteMCPByName(ctx context.Context, in *MCPServerNamePath) (*body[[]api.MCPServerByName], error) {
	all, found, err := s.namedMCP(ctx, in.Name)
	if err == nil {
		err = all.Delete(ctx, found.ID)
	}
	if err != nil {
		return nil, err
	}
	return answer(s.allMCPByName(ctx))
}

func (s *Server) listMCPToolsByName(ctx context.Context, in *MCPServerNamePath) (*body[[]api.MCPToolByName], error) {
	all, found, err := s.namedMCP(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	tools, err := all.Offered(ctx, found.ID)
	return list(tools, err, func(t core.MCPTool) api.MCPToolByName {
		return api.MCPToolByName{
			Name: t.Remote, Description: &t.Description, InputSchema: wireParameters(t.Spec()),
			Health: api.MCPToolHealth{Status: string(t.Health), Reasons: t.Reasons},
		}
	})
}

func (s *Server) refreshMCPByName(ctx context.Context, in *MCPServerNamePath) (*body[api.RefreshedMCPServer], error) {
	_, found, err := s.namedMCP(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return s.refreshMCPServer(ctx, &MCPServerPath{ID: string(found.ID)})
}

// offeredTool returns a tool of a server by the name that either gives it.
func (s *Server) offeredTool(ctx context.Context, in MCPServerNamePath, name string) (core.ToolInfo, error) {
	all, found, err := s.namedMCP(ctx, in.Name)
	if err != nil {
		return core.ToolInfo{}, err
	}
	tools, err := all.Offered(ctx, found.ID)
	if err != nil {
		return core.ToolInfo{}, err
	}
	i := slices.IndexFunc(tools, func(t core.MCPTool) bool { return t.Remote == name })
	if i < 0 {
		i = slices.IndexFunc(tools, func(t core.MCPTool) bool { return t.Name == name })
	}
	if i < 0 {
		return core.ToolInfo{}, core.E(core.NotFound, "the server %s has no tool %q", in.Name, name)
	}
	return all.Tool(ctx, found.ID, tools[i].ID)
}

type addMCPToolByNameInput struct {
	MCPServerNamePath
	Tool string `path:"mcp_tool_name"`
}

// addMCPToolByName answers with the tool, which is there since its server was added.
func (s *Server) addMCPToolByName(ctx context.Context, in *addMCPToolByNameInput) (*body[api.Tool], error) {
	t, err := s.offeredTool(ctx, in.MCPServerNamePath, in.Tool)
	return answer(wireTool(t), err)
}

type runMCPToolByNameInput struct {
	MCPServerNamePath
	Tool string `path:"tool_name"`
	Body *api.RunTool
}

func (s *Server) runMCPToolByName(ctx context.Context, in *runMCPToolByNameInput) (*body[api.ToolExecution], error) {
	t, err := s.offeredTool(ctx, in.MCPServerNamePath, in.Tool)
	if err != nil {
		return nil, err
	}
	var args api.Arguments
	if in.Body != nil {
		args = in.Body.Args
	}
	r, err := s.services().Tools.RunRemote(ctx, t.ID, args)
	return answer(wireExecution(r), err)
}
