package storage

import (
	"context"
	"path/filepath"

	"loci/storage/datadir"
	"loci/storage/sqlite"
	"loci/storage/view"
)

// Clean takes from the files beside the facts, and from unused pages of all, what the facts do not hold any more.
func (s *Store) Clean(ctx context.Context) error {
	if err := s.events.Wipe(ctx); err != nil {
		return err
	}
	if err := s.search.Compact(ctx); err != nil {
		return err
	}
	if err := s.facts.Vacuum(ctx); err != nil {
		return err
	}
	return s.cleaned(ctx)
}

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
	for _, name := range []string{datadir.EventsFile, datadir.IndexFile} {
		sqlite.Remove(filepath.Join(s.cfg.Dir, name))
	}
	view.RemoveVectors(s.cfg.Dir)
	if err := s.facts.Vacuum(ctx); err != nil {
		return err
	}
	return s.cleaned(ctx)
}
