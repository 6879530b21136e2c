package storage

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"loci/core"
	"loci/storage/index"
)

// clean takes from the files beside the facts, and from unused pages of all, what the facts do not hold any more.
func (s *Store) clean(ctx context.Context) error {
	if err := s.events.wipe(ctx); err != nil {
		return err
	}
	if err := s.search.compact(ctx); err != nil {
		return err
	}
	if err := s.near.purge(ctx); err != nil {
		return classify("write the vector index anew", err)
	}
	if err := s.facts.vacuum(ctx); err != nil {
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
		if err = r.x.Compact(ctx); !errors.Is(err, index.ErrUnavailable) {
			return classify("write the search index anew", err)
		}
	}
	return errIndexing()
}

// cleanPatience is how long forgetting waits for the index, which may be in the middle of being built.
const cleanPatience = 10 * time.Minute

func (s *Store) cleaned(ctx context.Context) error {
	return s.write(ctx, "forget", func(ctx context.Context, q *querier) error {
		_, err := q.exec(ctx, `UPDATE forgets SET done_at = $1 WHERE done_at = 0`, s.now())
		return err
	})
}

// finishForgetting is for an opening, before anything but the facts is open: what another process began is finished.
func (s *Store) finishForgetting(ctx context.Context) error {
	var pending int
	if err := s.facts.r.get(ctx, &pending, `SELECT COUNT(*) FROM forgets WHERE done_at = 0`); err != nil || pending == 0 {
		return classify("look for what was being forgotten", err)
	}
	s.cfg.Logger.InfoContext(ctx, "finishing to forget a text: the run log and the search index are made anew")
	for _, name := range []string{eventsFile, indexFile} {
		removeDB(filepath.Join(s.cfg.Dir, name))
	}
	removeVectors(s.cfg.Dir)
	if err := s.facts.vacuum(ctx); err != nil {
		return err
	}
	return s.cleaned(ctx)
}
