package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

func (s *Server) registerConversations(a huma.API) {
	response := documented[api.Response](a, "The answer, or its stream.")
	handle(a, "POST", "/v1/conversations", s.createConversation)
	handle(a, "GET", "/v1/conversations", s.listConversations)
	handle(a, "GET", "/v1/conversations/{conversation_id}", s.getConversation)
	handle(a, "PATCH", "/v1/conversations/{conversation_id}", s.updateConversation)
	handle(a, "DELETE", "/v1/conversations/{conversation_id}", s.deleteConversation)
	handle(a, "GET", "/v1/conversations/{conversation_id}/messages", s.listConversationMessages)
	handle(a, "POST", "/v1/conversations/{conversation_id}/messages", s.sendConversation, response, holdsImages)
	handle(a, "POST", "/v1/conversations/{conversation_id}/stream", s.resumeConversation)
	handle(a, "POST", "/v1/conversations/{conversation_id}/cancel", s.cancelConversation)
	handle(a, "POST", "/v1/conversations/{conversation_id}/compact", s.compactConversation)
	handle(a, "POST", "/v1/conversations/{conversation_id}/recompile", s.recompileConversation)
}

type createConversationInput struct {
	AgentID string `query:"agent_id" required:"true" pattern:"^agent-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	Body    *api.CreateConversation
}

func (s *Server) createConversation(ctx context.Context, in *createConversationInput) (*body[api.Conversation], error) {
	draft, err := coreNewConversation(core.AgentID(in.AgentID), in.Body)
	if err != nil {
		return nil, err
	}
	conv, err := s.services().Conversations.Create(ctx, draft, callOf(ctx).client.Env)
	return s.conversation(ctx, conv, err)
}

// conversation answers with a conversation and the contents of its window.
func (s *Server) conversation(ctx context.Context, conv core.Conversation, err error) (*body[api.Conversation], error) {
	if err != nil {
		return nil, err
	}
	window, err := s.services().Conversations.MessageIDs(ctx, conv.ID)
	if err != nil {
		return nil, err
	}
	var model core.ModelInfo
	if conv.Settings != nil {
		if model, err = s.conversationModel(ctx, conv); err != nil {
			return nil, err
		}
	}
	return answer(wireConversation(conv, window, model), nil)
}

// conversationModel returns the model of a conversation: its own, or else its agent's.
func (s *Server) conversationModel(ctx context.Context, conv core.Conversation) (core.ModelInfo, error) {
	handle := conv.Model
	if handle == "" {
		agent, err := s.services().Agents.Get(ctx, conv.Agent)
		if err != nil {
			return core.ModelInfo{}, err
		}
		handle = agent.Model
	}
	return s.services().Models.Info(ctx, handle, callOf(ctx).client.Env), nil
}

func (s *Server) listConversations(ctx context.Context, in *api.ListConversations) (*body[[]api.Conversation], error) {
	page := core.Page{After: in.After, Limit: in.Limit, Desc: in.Order != "asc", OrderBy: in.OrderBy}
	f := core.ConversationFilter{Agent: core.AgentID(in.AgentID), SummarySearch: in.SummarySearch}
	convs, err := s.services().Conversations.List(ctx, f, page)
	if err != nil {
		return nil, err
	}
	out := make([]api.Conversation, 0, len(convs))
	for _, c := range convs {
		one, err := s.conversation(ctx, c, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one.Body)
	}
	return answer(out, nil)
}

type conversationInput struct {
	ConversationPath
	api.AgentParam
}

func (s *Server) resolve(ctx context.Context, path ConversationPath, agent string) (core.Conversation, error) {
	return s.services().Conversations.Resolve(ctx, path.ConversationID, core.AgentID(agent))
}

func (s *Server) getConversation(ctx context.Context, in *conversationInput) (*body[api.Conversation], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	return s.conversation(ctx, conv, err)
}

type updateConversationInput struct {
	ConversationPath
	api.AgentParam
	Body api.UpdateConversation
}

func (s *Server) updateConversation(ctx context.Context, in *updateConversationInput) (*body[api.Conversation], error) {
	if err := checkSettings("body.model_settings", patched(in.Body.ModelSettings)); err != nil {
		return nil, err
	}
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	conv, err = s.services().Conversations.Update(ctx, conv.ID, coreConversationPatch(in.Body), callOf(ctx).client.Env)
	return s.conversation(ctx, conv, err)
}

func (s *Server) deleteConversation(ctx context.Context, in *conversationInput) (*body[any], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if core.IgnoreDamage(err) != nil {
		return nil, err
	}
	return empty(s.services().Conversations.Delete(ctx, conv.ID))
}

type listConversationMessagesInput struct {
	ConversationPath
	api.ListConversationMessages
}

// listConversationMessages lists a default conversation as its agent's messages, and any other in the requested
// order.
func (s *Server) listConversationMessages(ctx context.Context, in *listConversationMessagesInput) (*body[[]api.Message], error) {
	types, err := messageTypes("query.include_return_message_types", in.IncludeReturnMessageTypes)
	if err != nil {
		return nil, err
	}
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	page := pageOf(in.Page, true)
	show := shows{speak: core.DefaultSpeak, types: types, compaction: true}
	read := s.services().Messages.Window
	if !conv.ID.IsDefault() {
		read, show.reversed = s.services().Messages.Ordered, page.Desc
	}
	f := core.MessageFilter{Agent: conv.Agent, Conversation: conv.ID, Roles: show.roles(), IncludeErr: in.IncludeErr.Or(false)}
	msgs, err := read(ctx, f, page, show.some)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, msgs, show)
}

type sendConversationInput struct {
	ConversationPath
	Body api.ConversationRequest
}

// sendConversation streams unless told not to, and refuses while a run is active.
func (s *Server) sendConversation(ctx context.Context, in *sendConversationInput) (*huma.StreamResponse, error) {
	req, err := s.sendTo(ctx, in.ConversationPath, &in.Body)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, req)
}

// sendTo reads a request to a conversation, which streams unless told not to.
func (s *Server) sendTo(ctx context.Context, path ConversationPath, body *api.ConversationRequest) (sendRequest, error) {
	streaming := body.Streaming == nil || *body.Streaming
	if !streaming {
		if err := checkStreaming(body.StreamingRequest); err != nil {
			return sendRequest{}, err
		}
	}
	conv, err := s.resolve(ctx, path, api.Val(body.AgentID))
	return sendRequest{agent: conv.Agent, conversation: conv.ID, body: body.StreamingRequest, streaming: streaming}, err
}

type resumeConversationInput struct {
	ConversationPath
	Body *api.ResumeStream
}

// resumeConversation streams the run named by its id or by the otid of its input, or else the active run.
func (s *Server) resumeConversation(ctx context.Context, in *resumeConversationInput) (*huma.StreamResponse, error) {
	var how api.ResumeStream
	if in.Body != nil {
		how = *in.Body
	}
	conv, err := s.resolve(ctx, in.ConversationPath, api.Val(how.AgentID))
	if err != nil {
		return nil, err
	}
	run, err := s.services().Runs.InConversation(ctx, conv.ID, core.RunID(api.Val(how.RunID)), api.Val(how.OTID))
	if err != nil {
		return nil, err
	}
	return s.resume(ctx, run, how)
}

func (s *Server) cancelConversation(ctx context.Context, in *conversationInput) (*body[map[string]string], error) {
	conv, err := s.resolve(ctx, in.ConversationPath, in.AgentID)
	if err != nil {
		return nil, err
	}
	return s.cancelled(s.cancel(ctx, conv.Agent, conv.ID, nil))
}

type recompileConversationInput struct {
	ConversationPath
	api.AgentParam
	api.RecompileParams
	Body *api.CompactConversation
}

func (s *Server) recompileConversation(ctx context.Context, in *recompileConversationInput) (*body[string], error) {
	agent := in.AgentID
	if in.Body != nil && in.Body.AgentID != nil {
		agent = *in.Body.AgentID
	}
	conv, err := s.resolve(ctx, in.ConversationPath, agent)
	if err != nil {
		return nil, err
	}
	return answer(s.services().Conversations.Recompile(ctx, conv.ID, in.DryRun))
}

type compactConversationInput struct {
	ConversationPath
	Body *api.CompactConversation
}

func (s *Server) compactConversation(ctx context.Context, in *compactConversationInput) (*body[api.Compaction], error) {
	var how api.CompactConversation
	if in.Body != nil {
		how = *in.Body
	}
	settings, err := coreCompaction(how.CompactionSettings)
	if err != nil {
		return nil, err
	}
	conv, err := s.resolve(ctx, in.ConversationPath, api.Val(how.AgentID))
	if err != nil {
		return nil, err
	}
	return s.compacted(ctx, conv.ID, settings)
}

// compacted summarises a conversation's older messages.
func (s *Server) compacted(ctx context.Context, conv core.ConversationID, settings map[string]any) (*body[api.Compaction], error) {
	done, err := s.services().Conversations.Compact(ctx, conv, settings, callOf(ctx).client.Env)
	return answer(
		api.Compaction{Summary: done.Summary, Notice: done.Notice, NumMessagesBefore: done.Before, NumMessagesAfter: done.After},
		err,
	)
}
