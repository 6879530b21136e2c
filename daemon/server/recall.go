package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

// registerRecall registers what the terminal's agents have beyond the contract: the automatic recall setting, the list of
// what recall brought into a conversation, which the contract's lists don't show, and the newest prompt and tools.
func (s *Server) registerRecall(a huma.API) {
	handle(a, "GET", api.PathAgents+"/{agent_id}/recall", s.recall)
	handle(a, "PUT", api.PathAgents+"/{agent_id}/recall", s.setRecall)
	handle(a, "POST", api.PathAgents+"/{agent_id}/renew", s.renew)
	handle(a, "GET", api.PathConversations+"/{conversation_id}/recalled", s.listRecalled)
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

type renewInput struct {
	AgentPath
	Body api.Renew
}

func (s *Server) renew(ctx context.Context, in *renewInput) (*body[api.AgentState], error) {
	agent, err := s.services().Agents.Renew(ctx, in.id(), in.Body.Replace)
	if err != nil {
		return nil, err
	}
	return answer(s.agentState(ctx, agent, everything))
}

type listRecalledInput struct {
	ConversationPath
	api.AgentParam
	api.Page
}

// listRecalled shows what was recalled in the same form as the runs' own events.
func (s *Server) listRecalled(ctx context.Context, in *listRecalledInput) (*body[[]api.Message], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	records, err := s.services().Messages.Ordered(
		ctx,
		core.MessageFilter{Agent: conv.Agent, Conversation: conv.ID, Hidden: core.HiddenRecall},
		pageOf(in.Page, true),
		nil,
	)
	return list(records, err, wireRecalled)
}

func wireRecalled(m core.Message) api.Message {
	n := engine.Recalled(&m)
	return api.Message{
		MessageType: api.MessageNotice, ID: string(m.ID), Date: api.On(m.CreatedAt), RunID: string(m.Run), StepID: string(m.Step),
		Notice: &api.Notice{Kind: n.Kind, Text: n.Text, Data: n.Data},
	}
}
