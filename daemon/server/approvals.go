package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/approval"
	"loci/core/engine"
	"loci/core/permission"
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

func (s *Server) approvals() *approval.Approvals {
	parts, _ := s.now()
	return parts.Approvals
}

func (s *Server) listApprovals(ctx context.Context, in *api.ListApprovals) (*body[api.ApprovalList], error) {
	waiting, err := s.approvals().List(ctx, core.AgentID(in.AgentID))
	out := api.ApprovalList{Approvals: []api.WaitingRequest{}}
	for _, w := range waiting {
		out.Approvals = append(out.Approvals, wireWaiting(w))
	}
	return answer(out, err)
}

func wireWaiting(w approval.Waiting) api.WaitingRequest {
	m := &w.Request
	out := api.WaitingRequest{
		AgentID: string(w.Agent.ID), AgentName: w.Agent.Name, ConversationID: string(w.Conversation), RunID: string(m.Run),
		RequestID: string(m.ID), RequestedAt: api.At(m.CreatedAt),
	}
	names := map[string]string{}
	for _, c := range m.Calls() {
		names[c.ID] = c.Name
	}
	for _, c := range m.Approval.Waits {
		out.Calls = append(out.Calls, api.WaitingCall{
			ToolCallID: c.CallID, Name: names[c.CallID], Arguments: c.Arguments, Hash: core.HashArguments(c.Arguments), Why: c.Why,
			Client: c.Client, Always: c.Always, Uncaged: c.Uncaged,
		})
	}
	return out
}

// pendingApproval is what waits in an agent's default conversation, as a message of the contract; nil: nothing does.
func (s *Server) pendingApproval(ctx context.Context, id core.AgentID) (*api.Message, error) {
	request, waits, err := s.approvals().Pending(ctx, id)
	if err != nil || !waits {
		return nil, err
	}
	return &wireMessage(request, shows{})[0], nil
}

// clearApproval denies what waits. The agent is not asked again, so that the answer is there at once.
func (s *Server) clearApproval(ctx context.Context, in *MessagePath) (*body[any], error) {
	return empty(s.approvals().Clear(ctx, core.MessageID(in.MessageID)))
}

type answerInput struct {
	ConversationPath
	Body api.AnswerRequest
}

func (s *Server) answerApproval(ctx context.Context, in *answerInput) (*huma.StreamResponse, error) {
	req, err := s.sendTo(ctx, in.ConversationPath, &in.Body.ConversationRequest)
	if err != nil {
		return nil, err
	}
	if req.answer, err = coreDecisions(in.Body.Approvals, api.Val(in.Body.OTID), s.takesImages(ctx)); err != nil {
		return nil, err
	}
	if req.allows, err = keptRules(ctx, in.Body.Approvals, req.answer); err != nil {
		return nil, err
	}
	return s.send(ctx, req)
}

// keptRules sorts the rules that come with decisions by what they count for: those for the folder join the answer, those for
// the session are returned. Only who may write rules may send them.
func keptRules(ctx context.Context, in []api.Decision, answer *engine.Answer) (session []string, err error) {
	for i, d := range in {
		if len(d.Rules) == 0 && !d.Uncaged {
			continue
		}
		if err := local(ctx); err != nil {
			return nil, err
		}
		switch d.Scope {
		case "":
			if len(d.Rules) > 0 {
				return nil, unprocessable("body.approvals.scope", "rules count for a session or a folder, not %q", d.Scope)
			}
		case api.ScopeFolder:
			answer.Decisions[i].Keep = d.Rules
		case api.ScopeSession:
			if callOf(ctx).client.ID == "" || !answer.Decisions[i].Approve || d.RequestID == "" || d.Hash == "" {
				return nil, core.E(core.Invalid, "rules for the session come from a client that has one, with the approval of a call "+
					"that is named by request_id and hash")
			}
			session = append(session, d.Rules...)
		default:
			return nil, unprocessable("body.approvals.scope", "rules count for a session or a folder, not %q", d.Scope)
		}
	}
	_, err = permission.ParseList(permission.List{Allow: session}, permission.FromSession)
	return session, err
}
