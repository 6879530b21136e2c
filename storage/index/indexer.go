package index

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// retryAfter is how long the indexer waits before it rebuilds again, if it failed soon after the last failure.
const retryAfter = time.Second

// follow is the indexer: build if there is nothing yet, then apply changes until the index is closed. After any other
// error it starts over with an empty file, since the facts have everything.
func (x *Index) follow(ctx context.Context) {
	var failed time.Time
	for ctx.Err() == nil {
		err := x.work(ctx)
		if ctx.Err() != nil {
			return
		}
		x.cfg.Logger.WarnContext(ctx, "the search index failed: rebuilding it", slog.Any("error", err))
		x.reached(-1)
		if err := x.replace(ctx); err != nil {
			x.cfg.Logger.WarnContext(ctx, "the search index cannot be made", slog.Any("error", err))
		}
		before := failed
		if failed = time.Now(); failed.Sub(before) > x.rest { // don't pause: searches are waiting for the new file
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

// isBroken reports whether a search found the file damaged since the last check.
func (x *Index) isBroken() bool {
	select {
	case <-x.broken:
		return true
	default:
		return false
	}
}

// part is a batch of documents read for a build.
type part struct {
	kind search.Kind
	docs []reading
	err  error
}

// build reads all facts. Changes made meanwhile are applied afterwards, from the last change there was at the start.
//
// Documents are written as they arrive, postings once enough have been gathered. That threshold grows, so that some
// texts can be found early and yet each postings row is rewritten only a few times.
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
	edits := map[search.Kind]*edit{search.Message: newEdit(nil, search.Message), search.Passage: newEdit(nil, search.Passage)}
	writing := context.WithoutCancel(ctx) // for a cancellable context the driver starts a goroutine per statement
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

// readAll reads and parses all documents, one part ahead of the writer.
func (x *Index) readAll(ctx context.Context, parts chan<- part) {
	defer close(parts)
	for _, kind := range []search.Kind{search.Message, search.Passage} {
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

func (x *Index) finishBuild(ctx context.Context, db *sqlx.DB, edits map[search.Kind]*edit, start int64) error {
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

// apply applies one batch of changes and reports whether there may be more.
func (x *Index) apply(ctx context.Context, db *sqlx.DB) (more bool, err error) {
	changes, err := x.cfg.Source.Changes(ctx, x.Applied(), batch)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	ids, seen := map[search.Kind][]string{}, make(map[Change]bool, len(changes))
	for _, c := range changes {
		once := Change{Kind: c.Kind, ID: c.ID}
		if k := search.Kind(c.Kind); (k == search.Message || k == search.Passage) && !seen[once] {
			seen[once] = true
			ids[k] = append(ids[k], c.ID)
		}
	}
	docs := map[search.Kind][]reading{}
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
