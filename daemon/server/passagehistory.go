package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/undo"
	"loci/daemon/api"
)

// registerPassageHistory registers what passages were, and turning that back.
func (s *Server) registerPassageHistory(a huma.API) {
	handle(a, "GET", api.PathArchival+"/{passage_id}/versions", s.passageVersions)
	handle(a, "POST", api.PathArchival+"/{passage_id}/undo", s.undoPassage)
	handle(a, "POST", api.PathArchival+"/{passage_id}/redo", s.redoPassage)
	handle(a, "GET", api.PathArchivalOf("{agent_id}")+"/changes", s.passageChanges)
	handle(a, "GET", api.PathArchivalOf("{agent_id}")+"/last", s.lastPassageChange)
}

func (s *Server) undo() *undo.Passages {
	parts, _ := s.now()
	return parts.Undo
}

type passageVersionsInput struct {
	AnyPassagePath
	api.PassageVersions
}

func (s *Server) passageVersions(ctx context.Context, in *passageVersionsInput) (*body[[]api.PassageVersion], error) {
	versions, err := s.undo().Versions(ctx, core.AgentID(in.AgentID), core.PassageID(in.PassageID), pageOf(in.Page, true))
	return list(versions, err, wirePassageVersion)
}

// PassageOrder names a passage to turn back, and what the caller has read of it.
type PassageOrder struct {
	AnyPassagePath
	api.UpdatePassageParams
	IfMatch string `header:"If-Match"`
}

// order says what to turn back.
func (in *PassageOrder) order(ctx context.Context) (undo.Order, error) {
	version, err := ifMatch(in.IfMatch)
	return undo.Order{
		Passage: core.PassageID(in.PassageID), Agent: core.AgentID(in.AgentID), IfVersion: version, By: string(callOf(ctx).client.ID),
	}, err
}

type undoPassageInput struct {
	PassageOrder
	Body *api.UndoPassage
}

func (s *Server) undoPassage(ctx context.Context, in *undoPassageInput) (*body[api.PassageUndone], error) {
	o, err := in.order(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body != nil {
		o.To = api.Val(in.Body.Version)
	}
	return undone(s.undo().Undo(ctx, o))
}

func (s *Server) redoPassage(ctx context.Context, in *PassageOrder) (*body[api.PassageUndone], error) {
	o, err := in.order(ctx)
	if err != nil {
		return nil, err
	}
	return undone(s.undo().Redo(ctx, o))
}

func undone(o undo.Outcome, err error) (*body[api.PassageUndone], error) {
	return answer(api.PassageUndone{
		Was: wirePassageVersion(o.Was), Passage: wirePassageVersion(o.Is), Version: o.Is.Version, Restores: o.Restores, Diff: o.Diff,
	}, err)
}

type passageChangesInput struct {
	AgentPath
	api.PassageChanges
}

func (s *Server) passageChanges(ctx context.Context, in *passageChangesInput) (*body[[]api.PassageVersion], error) {
	changes, err := s.undo().Changes(ctx, in.id(), in.Before, in.Limit)
	return list(changes, err, wirePassageVersion)
}

type lastPassageInput struct {
	AgentPath
	api.LastPassageParams
}

func (s *Server) lastPassageChange(ctx context.Context, in *lastPassageInput) (*body[api.LastPassageChange], error) {
	last, found, err := s.undo().LastOf(ctx, in.id(), in.Redo)
	if err != nil || !found {
		return answer(api.LastPassageChange{}, err)
	}
	edit, from := wirePassageVersion(last.Edit), wirePassageVersion(last.From)
	out := api.LastPassageChange{Edit: &edit, From: &from, Now: last.Now, At: api.AtPtr(last.At)}
	if last.Since != nil {
		since := wirePassageVersion(*last.Since)
		out.Since = &since
	}
	return answer(out, nil)
}

func wirePassageVersion(v core.PassageVersion) api.PassageVersion {
	return api.PassageVersion{
		PassageID: string(v.Passage), ArchiveID: string(v.Archive), Version: v.Version, Seq: v.Seq, Text: v.Text, Tags: v.Tags,
		Metadata: v.Metadata, Deleted: v.Gone, Author: string(v.Author.Kind), AuthorID: api.PtrTo(v.Author.ID),
		StepID: api.PtrTo(string(v.Author.Step)), RewindID: api.PtrTo(string(v.Author.Rewind)), Restores: api.PtrTo(v.Author.Restores),
		Source: api.PtrTo(v.Author.Source), CreatedAt: api.At(v.At),
	}
}
