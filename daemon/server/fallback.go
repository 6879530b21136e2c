package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// registerFallback registers our operations on the model that takes the place of an agent's own.
func (s *Server) registerFallback(a huma.API) {
	handle(a, "GET", api.PathAgents+"/{agent_id}/fallback", s.fallback)
	handle(a, "PUT", api.PathAgents+"/{agent_id}/fallback", s.setFallback)
}

func (s *Server) fallback(ctx context.Context, in *AgentPath) (*body[api.Fallback], error) {
	a, err := s.services().Agents.Get(ctx, in.id())
	return answer(api.Fallback{Model: string(a.Fallback)}, err)
}

type setFallbackInput struct {
	AgentPath
	Body api.Fallback
}

func (s *Server) setFallback(ctx context.Context, in *setFallbackInput) (*body[api.Fallback], error) {
	a, err := s.engine().SetFallback(ctx, in.id(), core.Handle(in.Body.Model), callOf(ctx).client.Env)
	return answer(api.Fallback{Model: string(a.Fallback)}, err)
}
