package storage

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"loci/core"
	"loci/core/search"
	"loci/storage/sqlite"
)

// Clean takes from the files beside the facts, and from unused pages of all, what the facts do not hold any more.
func (s *Store) Clean(ctx context.Context) error {
	if err := s.events.Wipe(ctx); err != nil {
		return err
	}
	if err := s.search.compact(ctx); err != nil {
		return err
	}
	if err := s.near.purge(ctx); err != nil {
		return sqlite.Classify("write the vector index anew", err)
	}
	if err := s.facts.Vacuum(ctx); err != nil {
		return err
	}
	return s.cleaned(ctx)
}

// compact leaves nothing of removed texts in the index.
func (r *searcher) compact(ctx context.Context) error {
	_, last, err := r.Bounds(ctx)
	if err != nil {
		return err
	}
	for range 2 { // once more if it turned out damaged
		if !r.x.Wait(ctx, last, cleanPatience) {
			return core.E(core.Unavailable, "the search index is behind")
		}
		if err = r.x.Compact(ctx); !errors.Is(err, search.ErrUnavailable) {
			return sqlite.Classify("write the search index anew", err)
		}
	}
	return errIndexing()
}

// cleanPatience is how long forgetting waits for the index, which may be in the middle of being built.
const cleanPatience = 10 * time.Minute

func (s *Store) cleaned(ctx context.Context) error {
	return s.write(ctx, "forget", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `UPDATE forgets SET done_at = $1 WHERE done_at = 0`, s.now())
		return err
	})
}

// finishForgetting is for an opening, before anything but the facts is open: what another process began is finished.
func (s *Store) finishForgetting(ctx context.Context) error {
	var pending int
	if err := s.facts.Read.Get(ctx, &pending, `SELECT COUNT(*) FROM forgets WHERE done_at = 0`); err != nil || pending == 0 {
		return sqlite.Classify("look for what was being forgotten", err)
	}
	s.cfg.Logger.InfoContext(ctx, "finishing to forget a text: the run log and the search index are made anew")
	for _, name := range []string{EventsFile, IndexFile} {
		sqlite.Remove(filepath.Join(s.cfg.Dir, name))
	}
	RemoveVectors(s.cfg.Dir)
	if err := s.facts.Vacuum(ctx); err != nil {
		return err
	}
	return s.cleaned(ctx)
}
