package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core/undo"
	"loci/daemon/api"
)

// registerSources registers what is done about what an agent's memory came after.
func (s *Server) registerSources(a huma.API) {
	handle(a, "POST", api.PathSources("{agent_id}")+"/undo", s.undoSource)
}

type undoSourceInput struct {
	AgentPath
	Body api.UndoSource
}

func (s *Server) undoSource(ctx context.Context, in *undoSourceInput) (*body[[]api.SourceUndone], error) {
	found, err := s.services().Sources.Undo(ctx, in.id(), in.Body.Source, string(callOf(ctx).client.ID), in.Body.DryRun)
	return list(found, err, wireSourceUndone)
}

func wireSourceUndone(f undo.FromSource) api.SourceUndone {
	return api.SourceUndone{
		BlockID: api.PtrTo(string(f.Block)), Label: api.PtrTo(f.Label), PassageID: api.PtrTo(string(f.Passage)), Taken: f.Taken,
		Version: f.Version, Restores: api.PtrTo(f.Restores), Deleted: f.Gone, Diff: f.Diff, Kept: api.PtrTo(f.Kept),
		Sources: f.Sources,
	}
}
