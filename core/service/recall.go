package service

import (
	"context"

	"loci/core"
	"loci/core/memory"
)

// SetRecall says up to how many tokens of memories join each turn of an agent by themselves; 0: none.
func (a *Agents) SetRecall(ctx context.Context, id core.AgentID, tokens int) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		agent.Recall = tokens
		return false, nil
	})
}

// Renew gives an agent the prompt and the tools of the terminal's new agents, see memory.Renew.
func (a *Agents) Renew(ctx context.Context, id core.AgentID, replace bool) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		return true, memory.Renew(agent, replace)
	})
}
