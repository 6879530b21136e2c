package daemon

import (
	"context"
	"log/slog"
	"path/filepath"

	"loci/core"
	"loci/core/mcpservers"
	"loci/daemon/remote"
	"loci/tools/mcpclient"
)

// mcpServers joins the tools of MCP servers to the others.
func (d *Daemon) mcpServers(p *parts, others core.Toolbox) *mcpclient.Box {
	path, _ := d.cfg.Environ("PATH") // without one, only the system's programs are found
	home, _ := d.cfg.Environ("HOME") // without one, nobody knows what is somebody's home
	p.mcp = mcpclient.New(mcpclient.Config{
		Sandbox: p.sandbox, Path: path, Home: home, Hidden: d.ours(), Caches: filepath.Join(d.cfg.Paths.State, "mcp"),
		Version: d.cfg.Version, Dial: func(private bool) mcpclient.DialFunc { return remote.Dial(private) },
		Listed: func(ctx context.Context, server core.MCPServerID, listing core.MCPListing) {
			if err := p.servers.Noted(ctx, server, listing); err != nil {
				d.logger.WarnContext(ctx, "what an MCP server offers is not noted", slog.Any("error", err))
			}
		},
	})
	box := mcpclient.NewBox(others, p.store, p.mcp)
	p.servers = mcpservers.New(mcpservers.Config{
		Store: p.store, Box: box, Client: p.mcp, Sealer: p.sealer, Variables: p.variables, Clock: d.cfg.Clock,
		Changed: func(agents ...core.AgentID) {
			for _, id := range agents {
				p.engine.Announce(core.Change{Agent: id})
			}
		},
	})
	box.Serve(p.servers)
	return box
}
