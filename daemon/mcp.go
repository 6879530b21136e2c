package daemon

import (
	"net/http"

	"loci/daemon/client"
	"loci/daemon/mcpserver"
)

// mcp serves the memory of the agents that a person named to other programs over TCP; nil: there are none, or there is no
// token. It uses the daemon's own socket, as any program does.
func (d *Daemon) mcp() http.Handler {
	agents := d.cfg.Settings.MCPAgents
	if len(agents) == 0 {
		return nil
	}
	if d.cfg.Settings.Token == "" {
		d.notify("mcp_agents is set without a token, so nobody is served: set LOCI_TOKEN as well")
		return nil
	}
	return mcpserver.Handler(mcpserver.Config{
		Client: client.New(client.Options{Socket: d.cfg.Paths.Socket, Version: d.cfg.Version}), Agents: agents,
		Version: d.cfg.Version, Logger: d.logger,
	})
}
