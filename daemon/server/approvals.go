package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// registerApprovals registers what the contract lacks of approvals: the list of what waits, answers that change arguments,
// and the way out for an agent that nobody will answer.
func (s *Server) registerApprovals(a huma.API) {
	response := documented[api.Response](a, "The answer, or its stream.")
	handle(a, "GET", api.PathApprovals, s.listApprovals)
	handle(a, "DELETE", api.PathApprovals+"/{message_id}", s.clearApproval)
	handle(a, "POST", api.PathConversations+"/{conversation_id}/approvals", s.answerApproval, response)
}

func (s *Server) listApprovals(ctx context.Context, in *api.ListApprovals) (*body[api.ApprovalList], error) {
	if in.AgentID != "" {
		if _, err := s.services().Agents.Get(ctx, core.AgentID(in.AgentID)); err != nil {
			return nil, err
		}
	}
	return answer(api.ApprovalList{Approvals: []api.WaitingRequest{}}, nil)
}

func (s *Server) clearApproval(_ context.Context, in *MessagePath) (*body[any], error) {
	return nil, core.E(core.NotFound, "no request %s waits for an approval", in.MessageID)
}

type answerInput struct {
	ConversationPath
	Body api.AnswerRequest
}

func (s *Server) answerApproval(ctx context.Context, in *answerInput) (*huma.StreamResponse, error) {
	if _, err := s.resolve(ctx, in.ConversationPath, api.Val(in.Body.AgentID)); err != nil {
		return nil, err
	}
	return nil, core.E(core.Invalid, "Cannot process approval response: No tool call is currently awaiting approval. "+
		"Please send a regular message to interact with the agent.")
}
