package storage

import (
	"context"

	"loci/core"
	"loci/core/finder"
)

func matchMessages(ctx context.Context, s *Store, q core.SearchQuery, f core.MessageFilter) ([]core.MessageHit, error) {
	found, err := finder.New(finder.Config{Store: s}).Messages(ctx, q, f)
	return found.Hits, err
}

func matchPassages(ctx context.Context, s *Store, q core.SearchQuery, f core.PassageFilter) ([]core.PassageHit, error) {
	found, err := finder.New(finder.Config{Store: s}).Passages(ctx, q, f)
	return found.Hits, err
}
