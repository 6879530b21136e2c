package server

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/mcpservers"
	"loci/daemon/api"
)

// registerMCPServers registers the contract's operations on MCP servers, and ours, which are for the socket only: what a server may
// reach is a person's to say.
func (s *Server) registerMCPServers(a huma.API) {
	handle(a, "POST", "/v1/mcp-servers", s.createMCPServer)
	handle(a, "GET", "/v1/mcp-servers", s.listMCPServers)
	handle(a, "GET", "/v1/mcp-servers/{mcp_server_id}", s.getMCPServer)
	handle(a, "PATCH", "/v1/mcp-servers/{mcp_server_id}", s.updateMCPServer)
	handle(a, "DELETE", "/v1/mcp-servers/{mcp_server_id}", s.deleteMCPServer, noContent)
	handle(a, "GET", "/v1/mcp-servers/{mcp_server_id}/tools", s.listMCPTools)
	handle(a, "GET", "/v1/mcp-servers/{mcp_server_id}/tools/{tool_id}", s.getMCPTool)
	handle(a, "POST", "/v1/mcp-servers/{mcp_server_id}/tools/{tool_id}/run", s.runMCPTool)
	handle(a, "PATCH", "/v1/mcp-servers/{mcp_server_id}/refresh", s.refreshMCPServer)
	handle(a, "GET", api.PathMCPServers, s.keptMCPServers)
	handle(a, "PUT", api.PathMCPServers, s.addMCPServer)
	handle(a, "DELETE", api.PathMCPServers, s.removeMCPServer)
	handle(a, "POST", api.PathMCPServersAllow, s.allowMCPServer)
	handle(a, "POST", api.PathMCPServersCheck, s.checkMCPServer)
}

func (s *Server) mcp() (*mcpservers.Servers, error) {
	if parts, _ := s.now(); parts.MCP != nil {
		return parts.MCP, nil
	}
	return nil, core.E(core.Unsupported, "this daemon uses no MCP servers")
}

// MCPServerPath names a server.
type MCPServerPath struct {
	ID string `path:"mcp_server_id"`
}

func (p MCPServerPath) id() core.MCPServerID { return core.MCPServerID(p.ID) }

// unseen stands for a secret. Sent back, it leaves the secret as it is.
const unseen = "••••"

func hidden(values map[string]string) *map[string]string {
	if len(values) == 0 {
		return nil
	}
	out := make(map[string]string, len(values))
	for name := range values {
		out[name] = unseen
	}
	return &out
}

// wireMCPServer shows a server as the contract does.
func wireMCPServer(ctx context.Context, all *mcpservers.Servers, one core.MCPServer) api.MCPServer {
	out := api.MCPServer{ID: string(one.ID), ServerName: one.Name, MCPServerConfig: api.MCPServerConfig{Type: string(one.Transport)}}
	secrets, err := all.Secrets(ctx, &one)
	if err != nil { // the key is elsewhere: what there is can't be said
		secrets = core.MCPSecrets{}
	}
	if one.Transport == core.MCPStdio {
		args := append([]string{}, one.Args...)
		out.Command, out.Args, out.Env = &one.Command, &args, hidden(secrets.Env)
		return out
	}
	out.ServerURL, out.AuthHeader, out.CustomHeaders = &one.URL, api.PtrTo(one.AuthHeader), hidden(secrets.Headers)
	if secrets.Token != "" {
		out.AuthToken = api.PtrTo(unseen)
	}
	return out
}

// mcpDraft converts what a request says of a server. was is what there is of its secrets.
func mcpDraft(name string, in api.MCPServerConfig, was core.MCPSecrets) mcpservers.Draft {
	d := mcpservers.Draft{
		Name: name, Transport: core.MCPTransport(in.Type), Command: in.Command, Args: in.Args, URL: in.ServerURL, AuthHeader: in.AuthHeader,
		Env: kept(in.Env, was.Env), Headers: kept(in.CustomHeaders, was.Headers), Token: in.AuthToken,
	}
	if in.AuthToken != nil && *in.AuthToken == unseen {
		d.Token = &was.Token
	}
	switch {
	case in.Type != "":
	case in.Command != nil:
		d.Transport = core.MCPStdio
	case in.ServerURL != nil:
		d.Transport = core.MCPHTTP
	}
	if d.Token != nil { // a client of the contract sends the whole header, or the token alone
		token := strings.TrimSpace(*d.Token)
		d.Token = &token
	}
	return d
}

// kept are the values of a request, with those that it shows as dots as they were.
func kept(sent *map[string]string, was map[string]string) *map[string]string {
	if sent == nil {
		return nil
	}
	out := maps.Clone(*sent)
	for name, value := range out {
		if value == unseen {
			out[name] = was[name]
		}
	}
	return &out
}

type createMCPServerInput struct{ Body api.CreateMCPServer }

func (s *Server) createMCPServer(ctx context.Context, in *createMCPServerInput) (*body[api.MCPServer], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	made, err := all.Add(ctx, mcpDraft(in.Body.ServerName, in.Body.Config, core.MCPSecrets{}))
	if err != nil {
		return nil, err
	}
	return answer(wireMCPServer(ctx, all, made), nil)
}

func (s *Server) listMCPServers(ctx context.Context, _ *struct{}) (*body[[]api.MCPServer], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	found, err := all.List(ctx)
	return list(found, err, func(one core.MCPServer) api.MCPServer { return wireMCPServer(ctx, all, one) })
}

func (s *Server) getMCPServer(ctx context.Context, in *MCPServerPath) (*body[api.MCPServer], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	found, err := all.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	return answer(wireMCPServer(ctx, all, found), nil)
}

type updateMCPServerInput struct {
	MCPServerPath
	Body api.UpdateMCPServer
}

func (s *Server) updateMCPServer(ctx context.Context, in *updateMCPServerInput) (*body[api.MCPServer], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	found, err := all.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	secrets, err := all.Secrets(ctx, &found)
	if err != nil {
		return nil, err
	}
	made, err := all.Update(ctx, in.id(), mcpDraft(api.Val(in.Body.ServerName), in.Body.Config, secrets))
	if err != nil {
		return nil, err
	}
	return answer(wireMCPServer(ctx, all, made), nil)
}

func (s *Server) deleteMCPServer(ctx context.Context, in *MCPServerPath) (*struct{}, error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	return nil, all.Delete(ctx, in.id())
}

func (s *Server) listMCPTools(ctx context.Context, in *MCPServerPath) (*body[[]api.Tool], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	tools, err := all.Tools(ctx, in.id())
	return list(tools, err, wireTool)
}

// MCPToolPath names a tool of a server.
type MCPToolPath struct {
	MCPServerPath
	ToolPath
}

func (s *Server) getMCPTool(ctx context.Context, in *MCPToolPath) (*body[api.Tool], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	t, err := all.Tool(ctx, in.id(), core.ToolID(in.ToolID))
	return answer(wireTool(t), err)
}

type runMCPToolInput struct {
	MCPToolPath
	Body *api.RunTool
}

func (s *Server) runMCPTool(ctx context.Context, in *runMCPToolInput) (*body[api.ToolExecution], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	if _, err := all.Tool(ctx, in.id(), core.ToolID(in.ToolID)); err != nil {
		return nil, err
	}
	var args api.Arguments
	if in.Body != nil {
		args = in.Body.Args
	}
	r, err := s.services().Tools.RunRemote(ctx, core.ToolID(in.ToolID), args)
	return answer(wireExecution(r), err)
}

func (s *Server) refreshMCPServer(ctx context.Context, in *MCPServerPath) (*body[api.RefreshedMCPServer], error) {
	all, err := s.mcp()
	if err != nil {
		return nil, err
	}
	diff, err := all.Refresh(ctx, in.id())
	return answer(api.RefreshedMCPServer{Deleted: diff.Deleted, Updated: diff.Updated, Added: diff.Added}, err)
}

// localMCP is mcp for the operations that only a person at this machine may use.
func (s *Server) localMCP(ctx context.Context) (*mcpservers.Servers, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	return s.mcp()
}

// localNamedMCP is namedMCP for the same operations.
func (s *Server) localNamedMCP(ctx context.Context, name string) (*mcpservers.Servers, core.MCPServer, error) {
	if err := local(ctx); err != nil {
		return nil, core.MCPServer{}, err
	}
	return s.namedMCP(ctx, name)
}

// keptMCPServer shows a server as its person sees it.
func keptMCPServer(ctx context.Context, all *mcpservers.Servers, one core.MCPServer) (api.KeptMCPServer, error) {
	out := api.KeptMCPServer{
		MCPServer: wireMCPServer(ctx, all, one), Was: one.Was, Fault: one.Fault,
		Grants: api.MCPGrants{Read: one.Grants.Read, Write: one.Grants.Write, Hosts: one.Grants.Hosts, Private: one.Grants.Private},
	}
	if !one.ListedAt.IsZero() {
		out.ListedAt = api.AtPtr(one.ListedAt)
	}
	tools, err := all.Offered(ctx, one.ID)
	for i := range tools {
		t := &tools[i]
		shown := api.MCPTool{
			ID: string(t.ID), Name: t.Name, Remote: t.Remote, Description: t.Description, Health: string(t.Health), Reasons: t.Reasons,
			Gone: t.Gone,
		}
		if t.Now != nil {
			shown.Changed = t.Now.Differs(&t.MCPOffer)
		}
		out.Tools = append(out.Tools, shown)
	}
	return out, err
}

func (s *Server) keptMCPServers(ctx context.Context, _ *struct{}) (*body[[]api.KeptMCPServer], error) {
	all, err := s.localMCP(ctx)
	if err != nil {
		return nil, err
	}
	found, err := all.List(ctx)
	if err != nil {
		return nil, err
	}
	out := []api.KeptMCPServer{}
	for _, one := range found {
		shown, err := keptMCPServer(ctx, all, one)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return answer(out, nil)
}

type addMCPServerInput struct{ Body api.AddMCPServer }

func coreGrants(in api.MCPGrants) core.MCPGrants {
	return core.MCPGrants{Read: in.Read, Write: in.Write, Hosts: in.Hosts, Private: in.Private}
}

func (s *Server) addMCPServer(ctx context.Context, in *addMCPServerInput) (*body[api.KeptMCPServer], error) {
	all, err := s.localMCP(ctx)
	if err != nil {
		return nil, err
	}
	d := mcpDraft(in.Body.ServerName, in.Body.Config, core.MCPSecrets{})
	grants := coreGrants(in.Body.Grants)
	d.Grants = &grants
	made, err := all.Add(ctx, d)
	if err != nil {
		return nil, err
	}
	return answer(keptMCPServer(ctx, all, made))
}

type allowMCPServerInput struct{ Body api.AllowMCPServer }

func (s *Server) allowMCPServer(ctx context.Context, in *allowMCPServerInput) (*body[api.KeptMCPServer], error) {
	all, found, err := s.localNamedMCP(ctx, in.Body.Name)
	if err != nil {
		return nil, err
	}
	more, grants := coreGrants(in.Body.Grants), found.Grants
	join := func(to *[]string, from []string) {
		*to = slices.Compact(slices.Sorted(slices.Values(slices.Concat(*to, from))))
	}
	join(&grants.Read, more.Read)
	join(&grants.Write, more.Write)
	join(&grants.Hosts, more.Hosts)
	grants.Private = grants.Private || more.Private
	made, err := all.Update(ctx, found.ID, mcpservers.Draft{Grants: &grants})
	if err != nil {
		return nil, err
	}
	return answer(keptMCPServer(ctx, all, made))
}

func (s *Server) removeMCPServer(ctx context.Context, in *api.NamedMCPServer) (*body[any], error) {
	all, found, err := s.localNamedMCP(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return empty(all.Delete(ctx, found.ID))
}

type checkMCPServerInput struct{ Body api.CheckMCPServer }

func (s *Server) checkMCPServer(ctx context.Context, in *checkMCPServerInput) (*body[api.CheckedMCPServer], error) {
	all, found, err := s.localNamedMCP(ctx, in.Body.Name)
	if err != nil {
		return nil, err
	}
	ask := all.Check
	if in.Body.Accept {
		ask = all.Refresh
	}
	diff, err := ask(ctx, found.ID)
	if err != nil {
		return nil, err
	}
	if found, err = all.Get(ctx, found.ID); err != nil {
		return nil, err
	}
	out := api.CheckedMCPServer{Added: diff.Added, Left: diff.Left}
	for _, c := range diff.Changes {
		out.Changed = append(out.Changed, api.MCPChange{Tool: c.Tool, How: c.How})
	}
	out.Server, err = keptMCPServer(ctx, all, found)
	return answer(out, err)
}
