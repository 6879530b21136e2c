package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

func (s *Server) registerBlocks(a huma.API) {
	handle(a, "POST", "/v1/blocks", s.createBlock)
	handle(a, "GET", "/v1/blocks", s.listBlocks)
	handle(a, "GET", "/v1/blocks/count", s.countBlocks)
	handle(a, "GET", "/v1/blocks/{block_id}", s.getBlock)
	handle(a, "PATCH", "/v1/blocks/{block_id}", s.updateBlock)
	handle(a, "DELETE", "/v1/blocks/{block_id}", s.deleteBlock)
	handle(a, "GET", "/v1/blocks/{block_id}/agents", s.listBlockAgents)
	handle(a, "GET", "/v1/agents/{agent_id}/core-memory/blocks", s.listAgentBlocks)
	handle(a, "GET", "/v1/agents/{agent_id}/core-memory/blocks/{block_label}", s.getAgentBlock)
	handle(a, "PATCH", "/v1/agents/{agent_id}/core-memory/blocks/{block_label}", s.updateAgentBlock)
	handle(a, "PATCH", "/v1/agents/{agent_id}/core-memory/blocks/attach/{block_id}", s.attachBlock)
	handle(a, "PATCH", "/v1/agents/{agent_id}/core-memory/blocks/detach/{block_id}", s.detachBlock)
	handle(a, "GET", "/v1/agents/{agent_id}/core-memory", s.agentMemory)
}

type createBlockInput struct{ Body api.CreateBlock }

func (s *Server) createBlock(ctx context.Context, in *createBlockInput) (*body[api.Block], error) {
	b, err := s.services().Blocks.Create(ctx, coreBlock(in.Body))
	return answer(wireBlock(b), err)
}

func (s *Server) listBlocks(ctx context.Context, in *api.ListBlocks) (*body[[]api.Block], error) {
	if in.IdentityID != "" || len(in.IdentifierKeys) > 0 || in.TemplatesOnly {
		return answer([]api.Block{}, nil)
	}
	f := blockFilter(in.BlockFilter)
	f.LabelSearch, f.ValueSearch, f.DescriptionSearch = in.LabelSearch, in.ValueSearch, in.DescriptionSearch
	f.SharersOver, f.SharersUnder, f.Sharers = opted(
		in.ConnectedToAgentsCountGT,
	), opted(
		in.ConnectedToAgentsCountLT,
	), in.ConnectedToAgentsCountEQ
	blocks, err := s.services().Blocks.List(ctx, f, pageOf(in.Page, false))
	return list(blocks, err, wireBlock)
}

func blockFilter(in api.BlockFilter) core.BlockFilter {
	return core.BlockFilter{Label: in.Label, Name: in.Name, Tags: in.Tags, MatchAllTags: in.MatchAllTags}
}

func (s *Server) countBlocks(ctx context.Context, in *api.BlockFilter) (*body[int], error) {
	if in.TemplatesOnly {
		return answer(0, nil)
	}
	return answer(s.services().Blocks.Count(ctx, blockFilter(*in)))
}

// blockResponse is a block with its version's ETag.
type blockResponse struct {
	ETag string `header:"ETag"`
	Body api.Block
}

func tagged(b core.Block, err error) (*blockResponse, error) {
	if err != nil {
		return nil, err
	}
	return &blockResponse{ETag: etag(b), Body: wireBlock(b)}, nil
}

func (s *Server) getBlock(ctx context.Context, in *BlockPath) (*blockResponse, error) {
	return tagged(s.services().Blocks.Get(ctx, core.BlockID(in.BlockID)))
}

type updateBlockInput struct {
	BlockPath
	IfMatch string `header:"If-Match"`
	Body    api.UpdateBlock
}

func (s *Server) updateBlock(ctx context.Context, in *updateBlockInput) (*blockResponse, error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	by := string(callOf(ctx).client.ID)
	return tagged(s.services().Blocks.Update(ctx, core.BlockID(in.BlockID), coreBlockPatch(in.Body), version, by))
}

func (s *Server) deleteBlock(ctx context.Context, in *BlockPath) (*body[any], error) {
	return empty(s.services().Blocks.Delete(ctx, core.BlockID(in.BlockID)))
}

type listBlockAgentsInput struct {
	BlockPath
	api.ListBlockAgents
}

func (s *Server) listBlockAgents(ctx context.Context, in *listBlockAgentsInput) (*body[[]api.AgentState], error) {
	agents, err := s.services().Blocks.AgentsOf(ctx, core.BlockID(in.BlockID), pageOf(in.Page, true))
	if err != nil {
		return nil, err
	}
	return answer(s.agentStates(ctx, agents, relationsFor(callOf(ctx).current, in.AgentInclude)))
}

func (s *Server) listAgentBlocks(ctx context.Context, in *ListAgentThings) (*body[[]api.Block], error) {
	blocks, err := s.services().Blocks.ListOfAgent(ctx, in.id(), pageOf(in.Page, true))
	return list(blocks, err, wireBlock)
}

type agentBlockInput struct {
	AgentPath
	Label string `path:"block_label"`
}

func (s *Server) getAgentBlock(ctx context.Context, in *agentBlockInput) (*blockResponse, error) {
	return tagged(s.services().Blocks.ByLabel(ctx, in.id(), in.Label))
}

type updateAgentBlockInput struct {
	AgentPath
	Label   string `path:"block_label"`
	IfMatch string `header:"If-Match"`
	Body    api.UpdateBlock
}

func (s *Server) updateAgentBlock(ctx context.Context, in *updateAgentBlockInput) (*blockResponse, error) {
	version, err := ifMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	by := string(callOf(ctx).client.ID)
	return tagged(s.services().Blocks.UpdateByLabel(ctx, in.id(), in.Label, coreBlockPatch(in.Body), version, by))
}

type agentBlock struct {
	AgentPath
	BlockPath
}

func (s *Server) attachBlock(ctx context.Context, in *agentBlock) (*body[api.AgentState], error) {
	agent, err := s.services().Agents.AttachBlock(ctx, in.id(), core.BlockID(in.BlockID))
	if err != nil {
		return nil, err
	}
	return answer(s.agentState(ctx, agent, everything))
}

func (s *Server) detachBlock(ctx context.Context, in *agentBlock) (*body[api.AgentState], error) {
	agent, err := s.services().Agents.DetachBlock(ctx, in.id(), core.BlockID(in.BlockID))
	if err != nil {
		return nil, err
	}
	return answer(s.agentState(ctx, agent, everything))
}

func (s *Server) agentMemory(ctx context.Context, in *AgentPath) (*body[api.Memory], error) {
	agent, err := s.services().Agents.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	state, err := s.agentState(ctx, agent, relations{blocks: true})
	return answer(state.Memory, err)
}
