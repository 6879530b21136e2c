package mcpclient

import (
	"context"
	"slices"
	"strings"

	"loci/core"
)

// Servers reaches servers for calls.
type Servers interface {
	// Target is a server as a call of an agent reaches it, whose variables are given as NAME=value.
	Target(ctx context.Context, id core.MCPServerID, variables []string) (core.MCPTarget, error)
}

// Box is all tools there are, those of servers among them. Safe for concurrent use once Serve was called.
type Box struct {
	others  core.Toolbox
	store   core.Store
	client  core.MCPClient
	servers Servers
}

var _ core.Toolbox = (*Box)(nil)

// NewBox returns a box with the tools of another one. No tool of a server hides one of those.
func NewBox(others core.Toolbox, store core.Store, client core.MCPClient) *Box {
	return &Box{others: others, store: store, client: client}
}

// Serve says through whom servers are reached. Until then none is.
func (b *Box) Serve(servers Servers) { b.servers = servers }

// Tools implements core.Toolbox.
func (b *Box) Tools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	found, err := b.others.Tools(ctx, ids)
	if err != nil || len(found) == len(ids) {
		return found, err
	}
	var missing []core.ToolID
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(t core.BoundTool) bool { return t.Info.ID == id }) {
			missing = append(missing, id)
		}
	}
	tools, err := b.store.MCPServers().ToolsAmong(ctx, missing)
	if err != nil {
		return nil, err
	}
	bound, err := b.bind(ctx, tools)
	if err != nil {
		return nil, err
	}
	found = append(slices.Clip(found), bound...)
	at := make(map[core.ToolID]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortStableFunc(found, func(a, b core.BoundTool) int { return at[a.Info.ID] - at[b.Info.ID] })
	return found, nil
}

// Find implements core.Toolbox.
func (b *Box) Find(ctx context.Context, name string) (core.BoundTool, bool, error) {
	if found, ok, err := b.others.Find(ctx, name); ok || err != nil {
		return found, ok, err
	}
	t, ok, err := b.store.MCPServers().FindTool(ctx, name)
	if err != nil || !ok {
		return core.BoundTool{}, false, err
	}
	bound, err := b.bind(ctx, []core.MCPTool{t})
	if err != nil || len(bound) == 0 {
		return core.BoundTool{}, false, err
	}
	return bound[0], true, nil
}

// List implements core.Toolbox.
func (b *Box) List(ctx context.Context) ([]core.BoundTool, error) {
	all, err := b.others.List(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := b.store.MCPServers().Tools(ctx, "")
	if err != nil {
		return nil, err
	}
	tools = slices.DeleteFunc(tools, func(t core.MCPTool) bool { // a file got its name since: who calls it means that
		return slices.ContainsFunc(all, func(o core.BoundTool) bool { return o.Info.Spec.Name == t.Name })
	})
	bound, err := b.bind(ctx, tools)
	if err != nil {
		return nil, err
	}
	all = append(slices.Clip(all), bound...)
	slices.SortFunc(all, func(a, b core.BoundTool) int { return strings.Compare(a.Info.Spec.Name, b.Info.Spec.Name) })
	return all, nil
}

// bind makes tools that can be called.
func (b *Box) bind(ctx context.Context, tools []core.MCPTool) ([]core.BoundTool, error) {
	var out []core.BoundTool
	servers := map[core.MCPServerID]core.MCPServer{}
	for i := range tools {
		t := &tools[i]
		server, ok := servers[t.Server]
		if !ok {
			var err error
			if server, err = b.store.MCPServers().Get(ctx, t.Server); err != nil {
				if core.Absent(err) { // it was removed since
					continue
				}
				return nil, err
			}
			servers[t.Server] = server
		}
		out = append(out, core.BoundTool{
			Info: core.ToolInfo{
				ID: t.ID, Kind: core.ToolMCP, Effect: core.EffectOutside, Spec: t.Spec(), Tags: []string{core.MCPTag(server.Name)},
				Remote: remoteOf(&server, t),
			},
			Tool: &tool{box: b, of: *t},
		})
	}
	return out, nil
}

// remoteOf is what a tool is to whoever gives permission.
func remoteOf(server *core.MCPServer, t *core.MCPTool) *core.RemoteTool {
	r := &core.RemoteTool{
		Server: server.ID, Name: server.Name + "/" + plain(t.Remote, 200), Code: "mcp " + server.Identity() + " " + t.Known().Hash,
		Needs: server.Needs, Health: t.Health, Reasons: t.Reasons,
	}
	var changed []string
	if server.Was != "" {
		changed = append(changed, "the server "+server.Name+" was “"+plain(server.Was, 200)+"” and is “"+plain(server.Place(), 200)+"”")
	}
	if t.Now != nil {
		changed = append(changed, t.Now.Differs(&t.MCPOffer))
	}
	r.Changed = strings.Join(changed, "; ")
	if t.Health == core.MCPInvalid {
		r.Invalid = "its schema can't be given to models: " + strings.Join(t.Reasons, "; ")
	}
	return r
}
