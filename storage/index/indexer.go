package index

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
)

// retryAfter is how long the indexer rests after an error before it builds the index anew.
const retryAfter = time.Second

// follow is the indexer: build if there is nothing yet, then apply what changes, until the index is closed. Any error
// but the end makes it begin again with an empty file: the facts have everything.
func (x *Index) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := x.work(ctx)
		if ctx.Err() != nil {
			return
		}
		x.cfg.Logger.WarnContext(ctx, "the search index failed and is built anew", slog.Any("error", err))
		x.reached(-1)
		if err := x.replace(ctx); err != nil {
			x.cfg.Logger.WarnContext(ctx, "the search index cannot be made", slog.Any("error", err))
		}
		timer := time.NewTimer(retryAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

var errDamaged = errors.New("a search found the file damaged")

func (x *Index) work(ctx context.Context) error {
	x.mu.RLock()
	f := x.files
	x.mu.RUnlock()
	if f == nil {
		return errors.New("there is no file")
	}
	if x.Applied() < 0 {
		if err := x.build(ctx, f.w); err != nil {
			return err
		}
	}
	for {
		more, err := x.apply(ctx, f.w)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-x.wake:
		case <-x.broken:
			return errDamaged
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// build reads all facts. What changes meanwhile is among the changes after the last one that was there at its start.
func (x *Index) build(ctx context.Context, db *sqlx.DB) error {
	_, start, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	began, total := time.Now(), 0
	for _, kind := range []Kind{Message, Passage} {
		after := int64(0)
		for done := false; !done; {
			var docs []Doc
			if docs, after, done, err = x.cfg.Source.All(ctx, kind, after, buildBatch); err != nil {
				return err
			}
			err := inTx(ctx, db, func(tx *sqlx.Tx) error {
				e := newEdit(ctx, tx, kind)
				e.put(ctx, docs)
				return e.finish(ctx)
			})
			if err != nil {
				return err
			}
			if total += len(docs); len(docs) > 0 && total%(buildBatch*10) == 0 {
				x.cfg.Logger.InfoContext(ctx, "building the search index", slog.Int("documents", total))
			}
		}
	}
	if err := setMark(ctx, db, "applied", start); err != nil {
		return err
	}
	if total > 0 {
		x.cfg.Logger.InfoContext(ctx, "the search index is built", slog.Int("documents", total), slog.Duration("dur", time.Since(began)))
	}
	x.reached(start)
	return nil
}

// apply takes one batch of changes and reports whether there may be more.
func (x *Index) apply(ctx context.Context, db *sqlx.DB) (more bool, err error) {
	changes, err := x.cfg.Source.Changes(ctx, x.Applied(), batch)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	ids := map[Kind][]string{}
	for _, c := range changes {
		if k := Kind(c.Kind); (k == Message || k == Passage) && !slices.Contains(ids[k], c.ID) {
			ids[k] = append(ids[k], c.ID)
		}
	}
	docs := map[Kind][]Doc{}
	for k, list := range ids {
		if docs[k], err = x.cfg.Source.Docs(ctx, k, list); err != nil {
			return false, err
		}
	}
	last := changes[len(changes)-1].Seq
	err = inTx(ctx, db, func(tx *sqlx.Tx) error {
		for k, list := range ids {
			e := newEdit(ctx, tx, k)
			e.drop(ctx, list)
			e.put(ctx, docs[k])
			if err := e.finish(ctx); err != nil {
				return err
			}
		}
		for _, c := range changes {
			if err := dropGone(ctx, tx, c); err != nil {
				return err
			}
		}
		return setMark(ctx, tx, "applied", last)
	})
	if err != nil {
		return false, err
	}
	x.reached(last)
	return true, nil
}

func inTx(ctx context.Context, db *sqlx.DB, fn func(tx *sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
