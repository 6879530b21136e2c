package storage

import (
	"context"

	"loci/core"
)

type searcher struct{}

func openSearcher(context.Context, *Store, generation) (*searcher, error) { return &searcher{}, nil }
func (s *searcher) close()                                                {}
func (s *searcher) nudge()                                                {}

func (s messages) Match(ctx context.Context, q core.SearchQuery, f core.MessageFilter) ([]core.MessageHit, error) {
	found, err := s.List(ctx, f, core.Page{Limit: max(q.Limit, 10), Desc: true})
	var hits []core.MessageHit
	for _, m := range found {
		hits = append(hits, core.MessageHit{Message: m})
	}
	return hits, err
}

func (s passages) Match(ctx context.Context, q core.SearchQuery, f core.PassageFilter) ([]core.PassageHit, error) {
	found, err := s.List(ctx, f, core.Page{Limit: max(q.Limit, 10), Desc: true})
	var hits []core.PassageHit
	for _, p := range found {
		hits = append(hits, core.PassageHit{Passage: p})
	}
	return hits, err
}
