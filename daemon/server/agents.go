package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

func (s *Server) registerAgents(a huma.API) {
	handle(a, "POST", "/v1/agents", s.createAgent)
	handle(a, "GET", "/v1/agents", s.listAgents)
	handle(a, "GET", "/v1/agents/count", s.countAgents)
	handle(a, "GET", "/v1/agents/{agent_id}", s.getAgent)
	handle(a, "PATCH", "/v1/agents/{agent_id}", s.updateAgent)
	handle(a, "DELETE", "/v1/agents/{agent_id}", s.deleteAgent)
	handle(a, "GET", "/v1/agents/{agent_id}/context", s.agentContext)
	handle(a, "POST", "/v1/agents/{agent_id}/summarize", s.summarizeAgent)
	handle(a, "POST", "/v1/agents/{agent_id}/recompile", s.recompileAgent)
	handle(a, "POST", "/v1/agents/{agent_id}/system-prompt/recompile", s.recompileAgent)
	handle(a, "GET", "/v1/tags", s.listTags)
}

type createAgentInput struct{ Body api.CreateAgent }

func (s *Server) createAgent(ctx context.Context, in *createAgentInput) (*body[api.AgentState], error) {
	draft, err := coreNewAgent(in.Body)
	if err != nil {
		return nil, err
	}
	if draft.Variables, err = s.draftSecrets(ctx, "", in.Body.Secrets, in.Body.ToolExecEnvironmentVariables); err != nil {
		return nil, err
	}
	agent, err := s.services().Agents.Create(ctx, draft, callOf(ctx).client.Env)
	if err != nil {
		return nil, err
	}
	show := everything
	show.secrets = len(draft.Variables) > 0 // who sent them knows them
	return answer(s.agentState(ctx, agent, show))
}

func agentFilter(in api.AgentFilter) core.AgentFilter {
	return core.AgentFilter{
		Name:         in.Name,
		Query:        in.QueryText,
		Tags:         in.Tags,
		MatchAllTags: in.MatchAllTags,
		LastStop:     core.StopReason(in.LastStopReason),
	}
}

// narrowed reports a filter that no agent on a self-hosted server can match.
func narrowed(in api.AgentFilter) bool {
	return in.IdentityID != "" || len(in.IdentifierKeys) > 0 || in.TemplateID != "" || in.BaseTemplateID != ""
}

func (s *Server) listAgents(ctx context.Context, in *api.ListAgents) (*body[[]api.AgentState], error) {
	if narrowed(in.AgentFilter) {
		return answer([]api.AgentState{}, nil)
	}
	page := pageOf(in.Page, !in.Ascending)
	if in.OrderBy == "" {
		page.OrderBy = in.SortBy
	}
	agents, err := s.services().Agents.List(ctx, agentFilter(in.AgentFilter), page)
	if err != nil {
		return nil, err
	}
	return answer(s.agentStates(ctx, agents, relationsFor(callOf(ctx).current, in.AgentInclude)))
}

func (s *Server) agentStates(ctx context.Context, agents []core.Agent, rel relations) ([]api.AgentState, error) {
	out := make([]api.AgentState, 0, len(agents))
	for _, agent := range agents {
		state, err := s.agentState(ctx, agent, rel)
		if err != nil {
			return nil, err
		}
		out = append(out, state)
	}
	return out, nil
}

func (s *Server) countAgents(ctx context.Context, in *api.AgentFilter) (*body[int], error) {
	if narrowed(*in) {
		return answer(0, nil)
	}
	return answer(s.services().Agents.Count(ctx, agentFilter(*in)))
}

type getAgentInput struct {
	AgentPath
	api.AgentInclude
}

func (s *Server) getAgent(ctx context.Context, in *getAgentInput) (*body[api.AgentState], error) {
	agent, err := s.services().Agents.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	return answer(s.agentState(ctx, agent, relationsFor(callOf(ctx).current, in.AgentInclude)))
}

type updateAgentInput struct {
	AgentPath
	Body api.UpdateAgent
}

func (s *Server) updateAgent(ctx context.Context, in *updateAgentInput) (*body[api.AgentState], error) {
	patch, err := corePatch(in.Body)
	if err != nil {
		return nil, err
	}
	_, newer := in.Body.Secrets.Get()
	_, older := in.Body.ToolExecEnvironmentVariables.Get()
	if newer || older { // null is what SDKs send where nothing was given
		patch.Variables.Present = true
		patch.Variables.Value, err = s.draftSecrets(ctx, in.id(), in.Body.Secrets.Value, in.Body.ToolExecEnvironmentVariables.Value)
		if err != nil {
			return nil, err
		}
	}
	agent, err := s.services().Agents.Update(ctx, in.id(), patch, callOf(ctx).client.Env)
	if err != nil {
		return nil, err
	}
	show := everything
	show.secrets = patch.Variables.Present
	return answer(s.agentState(ctx, agent, show))
}

func (s *Server) deleteAgent(ctx context.Context, in *AgentPath) (*body[any], error) {
	return empty(s.services().Agents.Delete(ctx, in.id()))
}

// agentState gathers everything needed to show an agent.
func (s *Server) agentState(ctx context.Context, agent core.Agent, rel relations) (api.AgentState, error) {
	services := s.services()
	f := agentFacts{agent: agent, tags: rel.tags, model: services.Models.Info(ctx, agent.Model, callOf(ctx).client.Env)}
	var err error
	if f.messages, err = services.Agents.MessageIDs(ctx, agent.ID); err != nil {
		return api.AgentState{}, err
	}
	if rel.blocks {
		if f.blocks, err = services.Blocks.OfAgent(ctx, agent.ID); err != nil {
			return api.AgentState{}, err
		}
		if f.files, err = s.openFiles(ctx, agent.ID); err != nil {
			return api.AgentState{}, err
		}
	}
	if rel.tools {
		if f.tools, err = services.Tools.Attached(ctx, agent); err != nil {
			return api.AgentState{}, err
		}
	}
	if rel.folders {
		if f.folders, err = services.Folders.OfAgent(ctx, agent.ID); err != nil {
			return api.AgentState{}, err
		}
	}
	out := wireAgent(f)
	if rel.secrets {
		if out.Secrets, err = s.secretsOf(ctx, agent.ID); err != nil {
			return api.AgentState{}, err
		}
		out.ToolExecEnvironmentVariables = out.Secrets
	}
	if rel.pending {
		if out.PendingApproval, err = s.pendingApproval(ctx, agent.ID); err != nil {
			return api.AgentState{}, err
		}
	}
	return out, nil
}

// openFiles returns the files that an agent has open; the limits in its settings keep them few.
func (s *Server) openFiles(ctx context.Context, id core.AgentID) ([]service.AgentFile, error) {
	files, err := s.services().Files.OfAgent(ctx, id, service.AgentFilesQuery{Open: core.Some(true)}, callOf(ctx).client.Env)
	return files.Files, err
}

type agentContextInput struct {
	AgentPath
	api.ContextParams
}

func (s *Server) agentContext(ctx context.Context, in *agentContextInput) (*body[api.ContextWindow], error) {
	name := in.ConversationID
	if name == "" {
		name = in.AgentID
	}
	conv, err := s.services().Conversations.Resolve(ctx, name, in.id())
	if err != nil {
		return nil, err
	}
	overview, err := s.services().Models.Overview(ctx, conv, callOf(ctx).client.Env)
	return answer(wireOverview(overview), err)
}

type summarizeInput struct {
	AgentPath
	Body *api.CompactAgent
}

// summarizeAgent compacts the default conversation of an agent.
func (s *Server) summarizeAgent(ctx context.Context, in *summarizeInput) (*body[api.Compaction], error) {
	var how api.CompactAgent
	if in.Body != nil {
		how = *in.Body
	}
	settings, err := coreCompaction(how.CompactionSettings)
	if err != nil {
		return nil, err
	}
	return s.compacted(ctx, core.DefaultConversation(in.id()), settings)
}

type recompileAgentInput struct {
	AgentPath
	api.RecompileParams
}

func (s *Server) recompileAgent(ctx context.Context, in *recompileAgentInput) (*body[string], error) {
	return answer(s.services().Conversations.Recompile(ctx, core.DefaultConversation(in.id()), in.DryRun))
}

func (s *Server) listTags(ctx context.Context, in *api.ListTags) (*body[[]string], error) {
	text := in.QueryText
	if text == "" {
		text = in.Name
	}
	tags, err := s.services().Agents.Tags(ctx, text, pageOf(in.Page, false))
	return list(tags, err, func(t string) string { return t })
}
