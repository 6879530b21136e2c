package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// registerRecall lists the setting of automatic recall, which the contract does not have.
func (s *Server) registerRecall(a huma.API) {
	handle(a, "GET", api.PathAgents+"/{agent_id}/recall", s.recall)
	handle(a, "PUT", api.PathAgents+"/{agent_id}/recall", s.setRecall)
}

func (s *Server) recall(ctx context.Context, in *AgentPath) (*body[api.Recall], error) {
	a, err := s.services().Agents.Get(ctx, in.id())
	return answer(api.Recall{Tokens: a.Recall}, err)
}

type setRecallInput struct {
	AgentPath
	Body struct {
		Tokens *int `json:"tokens"`
	}
}

func (s *Server) setRecall(ctx context.Context, in *setRecallInput) (*body[api.Recall], error) {
	if in.Body.Tokens == nil {
		return nil, core.E(core.Invalid, "tokens is missing: how many may be recalled in a turn, 0 for none")
	}
	a, err := s.services().Agents.SetRecall(ctx, in.id(), *in.Body.Tokens)
	return answer(api.Recall{Tokens: a.Recall}, err)
}
