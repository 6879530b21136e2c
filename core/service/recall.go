package service

import (
	"context"

	"loci/core"
)

// SetRecall says up to how many tokens of memories join each turn of an agent by themselves; 0: none.
func (a *Agents) SetRecall(ctx context.Context, id core.AgentID, tokens int) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		agent.Recall = tokens
		return false, nil
	})
}
