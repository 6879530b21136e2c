package engine

import (
	"context"

	"loci/core"
)

// Variables are what tools find in their environment.
type Variables interface {
	// Env returns them for one tool, as NAME=value.
	Env(ctx context.Context, agent core.AgentID, tool *core.ToolInfo) ([]string, error)
	// Veil returns what takes the values out of what tools return; nil: there are none.
	Veil(ctx context.Context, agent core.AgentID) (*core.Veil, error)
}

// equip gives a call that leaves the store the variables that its tool is entitled to. Whatever the tool is, what it returns is
// to hold none of the agent's: a line may have written one to a file that another tool reads.
func (e *Engine) equip(ctx context.Context, p *pendingCall, env *core.ToolEnv) error {
	if e.cfg.Variables == nil || p.tool.Info.Touches == core.TouchNothing && p.tool.Info.Effect != core.EffectOutside {
		return nil
	}
	var err error
	if env.Veil, err = e.cfg.Variables.Veil(ctx, env.Agent.ID); err != nil || env.Veil == nil {
		return err
	}
	env.Variables, err = e.cfg.Variables.Env(ctx, env.Agent.ID, &p.tool.Info)
	return err
}
