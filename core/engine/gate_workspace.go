package engine

import "loci/core"

// stageWorkspace asks before a call changes a file of the open folder. Where none is open, the call says so itself.
func stageWorkspace(g *gate, p *pendingCall) verdict {
	if p.client || p.tool.Info.Touches != core.TouchWrites || g.client.Workspace == "" {
		return verdict{}
	}
	return verdict{ask: p.call.Name + " changes a file in the folder that you opened."}
}
