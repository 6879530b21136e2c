package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

func (s *Server) registerArchives(a huma.API) {
	handle(a, "POST", "/v1/archives", s.createArchive)
	handle(a, "GET", "/v1/archives", s.listArchives)
	handle(a, "GET", "/v1/archives/{archive_id}", s.getArchive)
	handle(a, "PATCH", "/v1/archives/{archive_id}", s.updateArchive)
	handle(a, "DELETE", "/v1/archives/{archive_id}", s.deleteArchive, noContent)
	handle(a, "GET", "/v1/archives/{archive_id}/agents", s.listArchiveAgents)
	handle(a, "POST", "/v1/archives/{archive_id}/passages", s.createArchivePassage)
	handle(a, "POST", "/v1/archives/{archive_id}/passages/batch", s.createArchivePassages)
	handle(a, "DELETE", "/v1/archives/{archive_id}/passages/{passage_id}", s.deleteArchivePassage, noContent)
	handle(a, "PATCH", "/v1/agents/{agent_id}/archives/attach/{archive_id}", s.attachArchive)
	handle(a, "PATCH", "/v1/agents/{agent_id}/archives/detach/{archive_id}", s.detachArchive)
	handle(a, "PUT", api.PathArchives+"/{archive_id}/embedding", s.embedArchive)
}

func (p ArchivePath) id() core.ArchiveID { return core.ArchiveID(p.ArchiveID) }

type createArchiveInput struct{ Body api.CreateArchive }

func (s *Server) createArchive(ctx context.Context, in *createArchiveInput) (*body[api.Archive], error) {
	draft := service.NewArchive{
		Name:        in.Body.Name,
		Description: api.Val(in.Body.Description),
		Embedding:   core.Handle(api.Val(in.Body.Embedding)),
	}
	if c := in.Body.EmbeddingConfig; c != nil && draft.Embedding == "" { // the retired way to name it
		draft.Embedding = core.Handle(api.Val(c.Handle))
	}
	a, err := s.services().Archives.Create(ctx, draft, callOf(ctx).client.Env)
	return answer(wireArchive(a), err)
}

func (s *Server) listArchives(ctx context.Context, in *api.ListArchives) (*body[[]api.Archive], error) {
	archives, err := s.services().Archives.List(ctx, in.Name, core.AgentID(in.AgentID), pageOf(in.Page, true))
	return list(archives, err, wireArchive)
}

func (s *Server) getArchive(ctx context.Context, in *ArchivePath) (*body[api.Archive], error) {
	a, err := s.services().Archives.Get(ctx, in.id())
	return answer(wireArchive(a), err)
}

type updateArchiveInput struct {
	ArchivePath
	Body api.UpdateArchive
}

// updateArchive leaves fields alone that are null, as the contract does.
func (s *Server) updateArchive(ctx context.Context, in *updateArchiveInput) (*body[api.Archive], error) {
	patch := service.ArchivePatch{}
	if in.Body.Name != nil {
		patch.Name = core.Some(*in.Body.Name)
	}
	if in.Body.Description != nil {
		patch.Description = core.Some(*in.Body.Description)
	}
	a, err := s.services().Archives.Update(ctx, in.id(), patch)
	return answer(wireArchive(a), err)
}

func (s *Server) deleteArchive(ctx context.Context, in *ArchivePath) (*struct{}, error) {
	return nil, s.services().Archives.Delete(ctx, in.id())
}

type listArchiveAgentsInput struct {
	ArchivePath
	api.Page
	api.AgentInclude
}

func (s *Server) listArchiveAgents(ctx context.Context, in *listArchiveAgentsInput) (*body[[]api.AgentState], error) {
	agents, err := s.services().Archives.AgentsOf(ctx, in.id(), pageOf(in.Page, true))
	if err != nil {
		return nil, err
	}
	return answer(s.agentStates(ctx, agents, relationsFor(callOf(ctx).current, in.AgentInclude)))
}

type createArchivePassageInput struct {
	ArchivePath
	Body api.CreateArchivePassage
}

func (s *Server) createArchivePassage(ctx context.Context, in *createArchivePassageInput) (*body[api.Passage], error) {
	made, err := s.services().Archives.Insert(ctx, in.id(), newArchivePassage(in.Body))
	if err != nil {
		return nil, err
	}
	return answer(wirePassage(made[0]), nil)
}

type createArchivePassagesInput struct {
	ArchivePath
	Body api.CreateArchivePassages
}

func (s *Server) createArchivePassages(ctx context.Context, in *createArchivePassagesInput) (*body[[]api.Passage], error) {
	drafts := make([]service.NewPassage, len(in.Body.Passages))
	for i, p := range in.Body.Passages {
		drafts[i] = newArchivePassage(p)
	}
	made, err := s.services().Archives.Insert(ctx, in.id(), drafts...)
	return list(made, err, wirePassage)
}

func newArchivePassage(in api.CreateArchivePassage) service.NewPassage {
	draft := newPassage(in.CreatePassage)
	draft.Metadata = in.Metadata
	return draft
}

type deleteArchivePassageInput struct {
	ArchivePath
	AnyPassagePath
}

func (s *Server) deleteArchivePassage(ctx context.Context, in *deleteArchivePassageInput) (*struct{}, error) {
	return nil, s.services().Archives.DeletePassage(ctx, in.id(), core.PassageID(in.PassageID))
}

type agentArchive struct {
	AgentPath
	ArchivePath
}

func (s *Server) attachArchive(ctx context.Context, in *agentArchive) (*body[any], error) {
	return empty(s.services().Archives.Attach(ctx, in.AgentPath.id(), in.ArchivePath.id()))
}

func (s *Server) detachArchive(ctx context.Context, in *agentArchive) (*body[any], error) {
	return empty(s.services().Archives.Detach(ctx, in.AgentPath.id(), in.ArchivePath.id()))
}

type embedArchiveInput struct {
	ArchivePath
	Body api.EmbedArchive
}

// embedArchive reports where texts will be sent, in a dry run as well as after a change.
func (s *Server) embedArchive(ctx context.Context, in *embedArchiveInput) (*body[api.EmbeddingPlan], error) {
	plan, err := s.services().Archives.Embed(ctx, in.id(), core.Handle(in.Body.Embedding), in.Body.DryRun, callOf(ctx).client.Env)
	if err != nil {
		return nil, err
	}
	return answer(api.EmbeddingPlan{
		Archive: wireArchive(plan.Archive), Embedding: in.Body.Embedding, Endpoint: plan.Info.Endpoint, Passages: plan.Passages,
	}, nil)
}
