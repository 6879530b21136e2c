package index

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

type docRow struct {
	Key   int64  `db:"key"`
	Seq   int64  `db:"seq"`
	Owner int64  `db:"owner"`
	Data  []byte `db:"data"`
}

const selectDropped = `SELECT key, seq, owner, data FROM `

// drop removes documents.
func (e *edit) drop(ctx context.Context, ids []string) {
	for chunk := range slices.Chunk(ids, lookupBatch) {
		if e.err != nil {
			return
		}
		query, args, err := sqlx.In(`id IN (?)`, chunk)
		if err != nil {
			e.err = err
			return
		}
		e.removeAll(ctx, query, args...)
	}
}

// removeAll removes every document that matches a condition.
func (e *edit) removeAll(ctx context.Context, of string, args ...any) {
	for e.err == nil {
		rows := e.some(ctx, of, args...)
		if e.err != nil || len(rows) == 0 {
			return
		}
		e.remove(ctx, rows)
	}
}

// some reads the next documents to remove, up to a limit in number and bytes: long texts have long data.
func (e *edit) some(ctx context.Context, of string, args ...any) (found []docRow) {
	rows, err := e.tx.QueryxContext(ctx, selectDropped+e.t.docs+` WHERE `+of, args...)
	if err != nil {
		e.err = err
		return nil
	}
	defer func() { e.err = errors.Join(e.err, rows.Err(), rows.Close()) }()
	for bytes := 0; bytes < dropBytes && len(found) < batch && rows.Next(); {
		var d docRow
		if e.err = rows.StructScan(&d); e.err != nil {
			return nil
		}
		found, bytes = append(found, d), bytes+len(d.Data)
	}
	return found
}

func (e *edit) remove(ctx context.Context, rows []docRow) {
	tags := e.tagsOf(ctx, rows)
	for _, r := range rows {
		e.exec(ctx, `DELETE FROM `+e.t.tags+` WHERE seq = $1`, r.Seq)
		e.exec(ctx, `DELETE FROM `+e.t.docs+` WHERE key = $1`, r.Key)
		s, err := unpack(string(r.Data))
		e.err = errors.Join(e.err, err)
		e.count(document{
			r.Seq, r.Owner, r.Key >> laneShift, search.SpeakerParts(s.who, search.Flags(s.flags)), tags[r.Seq], search.LoadWords(s.words),
		}, -1)
	}
}

func (e *edit) tagsOf(ctx context.Context, rows []docRow) map[int64][]string {
	if e.err != nil || len(rows) == 0 {
		return nil
	}
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.Seq
	}
	var tagged []struct {
		Seq int64  `db:"seq"`
		Tag string `db:"tag"`
	}
	e.err = e.tx.SelectContext(ctx, &tagged, `SELECT seq, tag FROM `+e.t.tags+` WHERE seq IN `+numbers(seqs))
	out := map[int64][]string{}
	for _, t := range tagged {
		out[t.Seq] = append(out[t.Seq], t.Tag)
	}
	return out
}

// dropScope removes everything that belongs to an owner or a thread.
func (e *edit) dropScope(ctx context.Context, key string) {
	var num int64
	err := e.tx.GetContext(ctx, &num, `SELECT num FROM `+e.t.scopes+` WHERE key = $1`, key)
	if errors.Is(err, sql.ErrNoRows) {
		return
	}
	of := inLane("key", num)
	if e.kind == search.Message && key[0] == ownerMark {
		of = "owner = " + strconv.FormatInt(num, 10)
	}
	if e.err = err; err == nil {
		e.removeAll(ctx, of)
	}
}

// dropGone removes everything of a deleted agent, conversation or archive.
func dropGone(ctx context.Context, tx *sqlx.Tx, c Change) error {
	var e *edit
	switch c.Kind {
	case "agent":
		e = newEdit(tx, search.Message)
		e.dropScope(ctx, ownerKey(c.ID))
	case "conversation":
		e = newEdit(tx, search.Message)
		e.dropScope(ctx, threadKey(c.ID))
	case "archive":
		e = newEdit(tx, search.Passage)
		e.dropScope(ctx, ownerKey(c.ID))
	default:
		return nil
	}
	return e.finish(ctx)
}
