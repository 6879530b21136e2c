package index

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// retryAfter is how long the indexer rests where it fails soon after it began, before it builds the index anew.
const retryAfter = time.Second

// follow is the indexer: build if there is nothing yet, then apply what changes, until the index is closed. Any error
// but the end makes it begin again with an empty file: the facts have everything.
func (x *Index) follow(ctx context.Context) {
	var failed time.Time
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
		before := failed
		if failed = time.Now(); failed.Sub(before) > x.rest { // searches wait for the new one
			continue
		}
		timer := time.NewTimer(x.rest)
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
		if x.isBroken() {
			return errDamaged
		}
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

// isBroken reports whether a search met a damaged file since the last look.
func (x *Index) isBroken() bool {
	select {
	case <-x.broken:
		return true
	default:
		return false
	}
}

// part is documents that were read for a build.
type part struct {
	kind Kind
	docs []reading
	err  error
}

// build reads all facts. What changes meanwhile is among the changes after the last one that was there at its start.
//
// Documents are written as they come, postings once there are many: the longer it takes, the more, so that some can be
// found early and each is written few times.
func (x *Index) build(ctx context.Context, db *sqlx.DB) error {
	_, start, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	const tell = 10 * buildBatch
	began, total := time.Now(), 0
	if _, err := db.ExecContext(ctx, buildCache); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	parts := make(chan part)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { x.readAll(reading, parts) })
	edits := map[Kind]*edit{Message: newEdit(nil, Message), Passage: newEdit(nil, Passage)}
	writing := context.WithoutCancel(ctx) // the driver watches a context that can end with a goroutine for each statement
	most := firstFlush
	for p := range parts {
		if p.err != nil || ctx.Err() != nil {
			return errors.Join(p.err, ctx.Err())
		}
		if x.isBroken() {
			return errDamaged
		}
		e := edits[p.kind]
		err := inTx(writing, db, func(tx *sqlx.Tx) error {
			e.use(tx)
			e.put(writing, p.docs)
			if e.settle(writing); e.entries > most {
				e.flush(writing)
				most = min(2*most, lastFlush)
			}
			e.closeStatements()
			return e.err
		})
		if err != nil {
			return err
		}
		if total += len(p.docs); total/tell > (total-len(p.docs))/tell {
			x.cfg.Logger.InfoContext(ctx, "building the search index", slog.Int("documents", total))
		}
	}
	if err := x.finishBuild(writing, db, edits, start); err != nil {
		return err
	}
	if total > 0 {
		x.cfg.Logger.InfoContext(ctx, "the search index is built", slog.Int("documents", total), slog.Duration("dur", time.Since(began)))
	}
	x.reached(start)
	return nil
}

// readAll reads all documents and what is in them, one part ahead of who writes.
func (x *Index) readAll(ctx context.Context, parts chan<- part) {
	defer close(parts)
	for _, kind := range []Kind{Message, Passage} {
		after := int64(0)
		for done := false; !done; {
			p := part{kind: kind}
			var docs []Doc
			if docs, after, done, p.err = x.cfg.Source.All(ctx, kind, after, buildBatch); p.err == nil {
				p.docs = readDocs(kind, docs)
			}
			select {
			case parts <- p:
			case <-ctx.Done():
				return
			}
			if p.err != nil {
				return
			}
		}
	}
}

func (x *Index) finishBuild(ctx context.Context, db *sqlx.DB, edits map[Kind]*edit, start int64) error {
	err := inTx(ctx, db, func(tx *sqlx.Tx) error {
		for _, e := range edits {
			e.use(tx)
			if err := e.finish(ctx); err != nil {
				return err
			}
		}
		if err := finishTables(ctx, tx); err != nil {
			return err
		}
		return setMark(ctx, tx, "applied", start)
	})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, usualCache)
	return err
}

// apply takes one batch of changes and reports whether there may be more.
func (x *Index) apply(ctx context.Context, db *sqlx.DB) (more bool, err error) {
	changes, err := x.cfg.Source.Changes(ctx, x.Applied(), batch)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	ids, seen := map[Kind][]string{}, make(map[Change]bool, len(changes))
	for _, c := range changes {
		once := Change{Kind: c.Kind, ID: c.ID}
		if k := Kind(c.Kind); (k == Message || k == Passage) && !seen[once] {
			seen[once] = true
			ids[k] = append(ids[k], c.ID)
		}
	}
	docs := map[Kind][]reading{}
	for k, list := range ids {
		found, err := x.cfg.Source.Docs(ctx, k, list)
		if err != nil {
			return false, err
		}
		docs[k] = readDocs(k, found)
	}
	last := changes[len(changes)-1].Seq
	ctx = context.WithoutCancel(ctx) // as in build; a batch is short
	err = inTx(ctx, db, func(tx *sqlx.Tx) error {
		for k, list := range ids {
			e := newEdit(tx, k)
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
