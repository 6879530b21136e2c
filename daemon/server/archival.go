package server

import (
	"cmp"
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

func (s *Server) registerArchival(a huma.API) {
	handle(a, "GET", "/v1/agents/{agent_id}/archival-memory", s.listPassages)
	handle(a, "POST", "/v1/agents/{agent_id}/archival-memory", s.createPassage)
	handle(a, "GET", "/v1/agents/{agent_id}/archival-memory/search", s.searchArchival)
	handle(a, "DELETE", "/v1/agents/{agent_id}/archival-memory/{memory_id}", s.deletePassage)
	handle(a, "POST", "/v1/passages/search", s.searchPassages)
	handle(a, "PATCH", api.PathArchival+"/{passage_id}", s.updatePassage)
}

type listPassagesInput struct {
	AgentPath
	api.ListPassages
}

func (s *Server) listPassages(ctx context.Context, in *listPassagesInput) (*body[[]api.Passage], error) {
	page := core.Page{After: in.After, Before: in.Before, Limit: in.Limit, Desc: !in.Ascending.Or(true)}
	passages, err := s.services().Passages.List(ctx, in.id(), in.Search, page)
	return list(passages, err, wirePassage)
}

type createPassageInput struct {
	AgentPath
	Body api.CreatePassage
}

// createPassage answers with an array, as the contract does: a long text could have been split into several.
func (s *Server) createPassage(ctx context.Context, in *createPassageInput) (*body[[]api.Passage], error) {
	p, err := s.services().Passages.Insert(ctx, in.id(), newPassage(in.Body))
	return list([]core.Passage{p}, err, wirePassage)
}

func newPassage(in api.CreatePassage) service.NewPassage {
	draft := service.NewPassage{Text: in.Text, Tags: in.Tags}
	if in.CreatedAt != nil {
		draft.CreatedAt = in.CreatedAt.Time
	}
	return draft
}

type searchArchivalInput struct {
	AgentPath
	api.SearchArchival
}

type archivalSearchBody struct {
	Partial api.Partial `header:"Loci-Partial"`
	Body    api.ArchivalSearch
}

func (s *Server) searchArchival(ctx context.Context, in *searchArchivalInput) (*archivalSearchBody, error) {
	agent, err := s.services().Agents.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	zone := agent.Location()
	q := service.PassageQuery{Text: in.Query, Agent: in.id(), Tags: in.Tags, AllTags: in.TagMatchMode == "all", Limit: in.TopK}
	if q.From, q.Until, err = timeRange("query.start", in.StartDatetime, "query.end", in.EndDatetime, zone); err != nil {
		return nil, err
	}
	found, err := s.services().Passages.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	out := api.ArchivalSearch{Count: len(found.Hits)}
	for _, h := range found.Hits {
		out.Results = append(out.Results, api.ArchivalResult{
			ID: string(
				h.Passage.ID,
			),
			Timestamp: h.Passage.CreatedAt.In(zone).Format(time.RFC3339),
			Content:   h.Passage.Text,
			Tags:      h.Passage.Tags,
		})
	}
	return &archivalSearchBody{Partial: partly(found), Body: out}, nil
}

type deletePassageInput struct {
	AgentPath
	PassagePath
}

func (s *Server) deletePassage(ctx context.Context, in *deletePassageInput) (*body[any], error) {
	return empty(s.services().Passages.Delete(ctx, in.id(), core.PassageID(in.PassageID)))
}

type updatePassageInput struct {
	AnyPassagePath
	api.UpdatePassageParams
	Body api.UpdatePassage
}

func (s *Server) updatePassage(ctx context.Context, in *updatePassageInput) (*body[api.Passage], error) {
	patch := service.PassagePatch{
		Text: opt(in.Body.Text), Tags: opt(in.Body.Tags), Metadata: opt(in.Body.Metadata), By: string(callOf(ctx).client.ID),
	}
	p, err := s.services().Passages.Update(ctx, core.AgentID(in.AgentID), core.PassageID(in.PassageID), patch)
	return answer(wirePassage(p), err)
}

type searchPassagesInput struct{ Body api.SearchPassages }

func (s *Server) searchPassages(ctx context.Context, in *searchPassagesInput) (*searchBody[api.PassageResult], error) {
	b := in.Body
	q := service.PassageQuery{
		Text: api.Val(b.Query), Agent: core.AgentID(api.Val(b.AgentID)), Archive: core.ArchiveID(api.Val(b.ArchiveID)), Tags: b.Tags,
		AllTags: api.Val(b.TagMatchMode) == "all", Limit: cmp.Or(api.Val(b.Limit), searchedByDefault),
	}
	if q.Agent != "" && q.Archive != "" {
		return nil, core.E(core.Invalid, "give agent_id or archive_id, not both")
	}
	var err error
	if q.From, q.Until, err = s.searchedRange(ctx, q.Agent, b.StartDate, b.EndDate); err != nil {
		return nil, err
	}
	found, err := s.services().Passages.Search(ctx, q)
	return results(found, err, func(h core.PassageHit) []api.PassageResult {
		return []api.PassageResult{{Passage: wirePassage(h.Passage), Score: h.Score, Metadata: wireWhy(h.Words, h.Why, found.Partial)}}
	})
}
