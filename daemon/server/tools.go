package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/toolbox"
	"loci/daemon/api"
)

func (s *Server) registerTools(a huma.API) {
	handle(a, "POST", "/v1/tools", s.putTool)
	handle(a, "PUT", "/v1/tools", s.putTool)
	handle(a, "POST", "/v1/tools/run", s.runSource)
	handle(a, "POST", api.PathToolPackages, s.installPackages)
	handle(a, "POST", "/v1/tools/search", s.searchTools)
	handle(a, "POST", "/v1/tools/add-base-tools", s.addBaseTools)
	handle(a, "PATCH", "/v1/tools/{tool_id}", s.updateTool)
	handle(a, "DELETE", "/v1/tools/{tool_id}", s.deleteTool)
	handle(a, "POST", "/v1/agents/{agent_id}/tools/{tool_name}/run", s.runTool)
	handle(a, "GET", "/v1/tools", s.listTools)
	handle(a, "GET", "/v1/tools/count", s.countTools)
	handle(a, "GET", "/v1/tools/{tool_id}", s.getTool)
	handle(a, "GET", "/v1/agents/{agent_id}/tools", s.listAgentTools)
	handle(a, "PATCH", "/v1/agents/{agent_id}/tools/attach/{tool_id}", s.attachTool)
	handle(a, "PATCH", "/v1/agents/{agent_id}/tools/detach/{tool_id}", s.detachTool)
	handle(a, "PATCH", "/v1/agents/{agent_id}/tools/approval/{tool_name}", s.requireApproval)
}

func toolFilter(in api.ListTools) (toolbox.Filter, error) {
	f := toolbox.Filter{Name: in.Name, Names: in.Names, Search: in.Search, BuiltIn: in.ReturnOnlyLettaTools}
	var err error
	if f.IDs, err = ids[core.ToolID]("query.tool_ids", "tool", in.ToolIDs); err != nil {
		return f, err
	}
	for _, k := range in.ToolTypes {
		f.Kinds = append(f.Kinds, core.ToolKind(k))
	}
	for _, k := range in.ExcludeToolTypes {
		f.ExcludeKinds = append(f.ExcludeKinds, core.ToolKind(k))
	}
	return f, nil
}

func (s *Server) listTools(ctx context.Context, in *api.ListTools) (*body[[]api.Tool], error) {
	f, err := toolFilter(*in)
	if err != nil {
		return nil, err
	}
	tools, err := s.services().Tools.List(ctx, f, pageOf(in.Page, true))
	return list(tools, err, wireTool)
}

func (s *Server) countTools(ctx context.Context, in *api.ListTools) (*body[int], error) {
	f, err := toolFilter(*in)
	if err != nil {
		return nil, err
	}
	return answer(s.services().Tools.Count(ctx, f))
}

func (s *Server) getTool(ctx context.Context, in *ToolPath) (*body[api.Tool], error) {
	t, err := s.services().Tools.Get(ctx, core.ToolID(in.ToolID))
	return answer(wireTool(t), err)
}

type ListAgentThings struct {
	AgentPath
	api.Page
}

func (s *Server) listAgentTools(ctx context.Context, in *ListAgentThings) (*body[[]api.Tool], error) {
	tools, err := s.services().Tools.OfAgent(ctx, in.id(), pageOf(in.Page, true))
	return list(tools, err, wireTool)
}

type agentTool struct {
	AgentPath
	ToolPath
}

// attachTool answers a current client with null and an older one with the agent, as the contract does.
func (s *Server) attachTool(ctx context.Context, in *agentTool) (*body[any], error) {
	agent, err := s.services().Agents.AttachTool(ctx, in.id(), core.ToolID(in.ToolID))
	return s.agentOrNull(ctx, agent, err)
}

func (s *Server) detachTool(ctx context.Context, in *agentTool) (*body[any], error) {
	agent, err := s.services().Agents.DetachTool(ctx, in.id(), core.ToolID(in.ToolID))
	return s.agentOrNull(ctx, agent, err)
}

type approvalToggle struct {
	AgentPath
	ToolName string          `path:"tool_name"`
	Query    api.Param[bool] `query:"requires_approval"`
	Body     *struct {
		RequiresApproval *bool `json:"requires_approval,omitempty"`
		ByJavaScript     *bool `json:"body_requires_approval,omitempty"` // the key under which the JavaScript SDK 1.x sends it
	}
}

func (s *Server) requireApproval(ctx context.Context, in *approvalToggle) (*body[any], error) {
	required := in.Query.Value
	switch {
	case in.Body != nil && in.Body.RequiresApproval != nil:
		required = *in.Body.RequiresApproval
	case in.Body != nil && in.Body.ByJavaScript != nil:
		required = *in.Body.ByJavaScript
	case !in.Query.Set:
		return nil, unprocessable("body.requires_approval", "requires_approval is needed")
	}
	agent, err := s.services().Agents.RequireApproval(ctx, in.id(), in.ToolName, required)
	return s.agentOrNull(ctx, agent, err)
}

func (s *Server) agentOrNull(ctx context.Context, agent core.Agent, err error) (*body[any], error) {
	if err != nil || callOf(ctx).current {
		return empty(err)
	}
	state, err := s.agentState(ctx, agent, everything)
	return answer[any](state, err)
}
