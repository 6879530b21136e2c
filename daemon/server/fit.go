package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// registerFit registers the operation that tells how much of a message would reach the model before it is sent.
func (s *Server) registerFit(a huma.API) {
	handle(a, "POST", api.PathConversations+"/{conversation_id}/fit", s.fit)
}

type fitInput struct {
	ConversationPath
	api.AgentParam
	Body api.Fit
}

func (s *Server) fit(ctx context.Context, in *fitInput) (*body[api.FitResult], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	f, err := s.engine().Fit(ctx, conv.ID, in.Body.Text, core.Handle(in.Body.Model), callOf(ctx).client.Env)
	return answer(api.FitResult{Characters: f.Characters, Sent: f.Sent, Window: f.Window, Model: string(f.Model)}, err)
}
