package index

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
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
			if docs, after, done, err = x.cfg.Source.All(ctx, kind, after, batch); err != nil {
				return err
			}
			err := inTx(ctx, db, func(tx *sqlx.Tx) error { return put(ctx, tx, kind, docs) })
			if err != nil {
				return err
			}
			if total += len(docs); len(docs) > 0 && total%(batch*40) == 0 {
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
			if err := drop(ctx, tx, k, "id", list); err != nil {
				return err
			}
			if err := put(ctx, tx, k, docs[k]); err != nil {
				return err
			}
		}
		for _, c := range changes {
			if err := dropScope(ctx, tx, c); err != nil {
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

// put writes documents that are not there yet.
func put(ctx context.Context, tx *sqlx.Tx, kind Kind, docs []Doc) error {
	t := tablesOf(kind)
	b := &bulk{tx: tx}
	defer b.close()
	var length, count int64
	for _, d := range docs {
		words := search.Words(d.Text)
		if len(words) == 0 {
			continue
		}
		body := strings.Join(words, " ")
		b.exec(ctx, `INSERT INTO `+t.docs+` (seq, id, owner, thread, role, at, len, words) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			d.Seq, d.ID, d.Owner, d.Thread, d.Role, d.At, len(words), body)
		b.exec(ctx, `INSERT INTO `+t.words+` (rowid, scope, body) VALUES ($1, $2, $3)`, d.Seq, ownerToken(d.Owner)+" "+threadToken(d.Thread), body)
		for _, tag := range d.Tags {
			b.exec(ctx, `INSERT OR IGNORE INTO `+t.tags+` (seq, tag) VALUES ($1, $2)`, d.Seq, tag)
		}
		length += int64(len(words))
		count++
	}
	if b.err != nil || count == 0 {
		return b.err
	}
	if err := raise(ctx, tx, "len_"+string(kind), length); err != nil {
		return err
	}
	return raise(ctx, tx, "docs_"+string(kind), count)
}

// bulk runs the same few statements many times, compiled once, until the first error.
type bulk struct {
	tx    *sqlx.Tx
	stmts map[string]*sqlx.Stmt
	err   error
}

func (b *bulk) exec(ctx context.Context, text string, args ...any) {
	if b.err != nil {
		return
	}
	s := b.stmts[text]
	if s == nil {
		if s, b.err = b.tx.PreparexContext(ctx, text); b.err != nil {
			return
		}
		if b.stmts == nil {
			b.stmts = map[string]*sqlx.Stmt{}
		}
		b.stmts[text] = s
	}
	_, b.err = s.ExecContext(ctx, args...)
}

func (b *bulk) close() {
	for _, s := range b.stmts {
		_ = s.Close()
	}
}

// drop removes the documents whose column is one of values.
func drop(ctx context.Context, tx *sqlx.Tx, kind Kind, column string, values []string) error {
	t := tablesOf(kind)
	query, args, err := sqlx.In(`SELECT seq, len FROM `+t.docs+` WHERE `+column+` IN (?)`, values)
	if err != nil {
		return err
	}
	var rows []struct {
		Seq int64 `db:"seq"`
		Len int64 `db:"len"`
	}
	if err := tx.SelectContext(ctx, &rows, query, args...); err != nil || len(rows) == 0 {
		return err
	}
	b := &bulk{tx: tx}
	defer b.close()
	var length int64
	for _, r := range rows {
		b.exec(ctx, `DELETE FROM `+t.words+` WHERE rowid = $1`, r.Seq)
		b.exec(ctx, `DELETE FROM `+t.tags+` WHERE seq = $1`, r.Seq)
		b.exec(ctx, `DELETE FROM `+t.docs+` WHERE seq = $1`, r.Seq)
		length += r.Len
	}
	if b.err != nil {
		return b.err
	}
	if err := raise(ctx, tx, "len_"+string(kind), -length); err != nil {
		return err
	}
	return raise(ctx, tx, "docs_"+string(kind), -int64(len(rows)))
}

// dropScope removes everything of an agent, a conversation or an archive that is gone.
func dropScope(ctx context.Context, tx *sqlx.Tx, c Change) error {
	switch c.Kind {
	case "agent":
		return drop(ctx, tx, Message, "owner", []string{c.ID})
	case "conversation":
		return drop(ctx, tx, Message, "thread", []string{c.ID})
	case "archive":
		return drop(ctx, tx, Passage, "owner", []string{c.ID})
	}
	return nil
}

// ownerToken and threadToken make one word of an id. They differ: an agent's default conversation has the agent's id.
func ownerToken(id string) string  { return "o" + token(id) }
func threadToken(id string) string { return "t" + token(id) }

func token(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		}
	}
	return b.String()
}
