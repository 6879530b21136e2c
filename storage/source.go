package storage

import (
	"context"

	"loci/core"
	"loci/storage/index"
)

var _ index.Source = (*searcher)(nil)

func (r *searcher) Bounds(ctx context.Context) (first, last int64, err error) {
	var row struct {
		First int64 `db:"first_seq"`
		Last  int64 `db:"last_seq"`
	}
	err = r.facts.get(ctx, &row, `SELECT COALESCE((SELECT MIN(seq) FROM changes), 0) AS first_seq, COALESCE((SELECT MAX(seq) FROM changes), 0) AS last_seq`)
	return row.First, row.Last, classify("read changes", err)
}

func (r *searcher) Changes(ctx context.Context, after int64, limit int) ([]index.Change, error) {
	var rows []index.Change
	err := r.facts.all(ctx, &rows, `SELECT seq, kind, id, op FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2`, after, limit)
	return rows, classify("read changes", err)
}

// findable is true of messages that search may find; roles are checked by searchable.
const findable = `m.hidden = '' AND NOT m.is_error AND m.role IN ('user', 'assistant', 'approval', 'summary') AND ` + alive + ` AND ` + notReset

func (r *searcher) Docs(ctx context.Context, kind index.Kind, ids []string) ([]index.Doc, error) {
	w := &where{}
	if kind == index.Passage {
		w.and(livingPassage)
		in(w, "p.id", ids)
		return r.passageDocs(ctx, w, "")
	}
	w.and(findable)
	in(w, "m.id", ids)
	return r.messageDocs(ctx, w, "")
}

func (r *searcher) All(ctx context.Context, kind index.Kind, after int64, limit int) (docs []index.Doc, next int64, done bool, err error) {
	w := &where{}
	if kind == index.Passage {
		w.and(livingPassage)
		w.and("p.seq > ?", after)
		docs, err = r.passageDocs(ctx, w, " ORDER BY p.seq LIMIT "+w.arg(limit))
	} else {
		w.and(findable)
		w.and("m.seq > ?", after)
		docs, err = r.messageDocs(ctx, w, " ORDER BY m.seq LIMIT "+w.arg(limit))
	}
	if err != nil || len(docs) == 0 {
		return nil, after, true, err
	}
	return docs, docs[len(docs)-1].Seq, len(docs) < limit, nil
}

func (r *searcher) messageDocs(ctx context.Context, w *where, tail string) ([]index.Doc, error) {
	var rows []messageRow
	if err := r.facts.all(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String()+tail, w.args...); err != nil {
		return nil, classify("read messages", err)
	}
	return convert(rows, func(row *messageRow) (index.Doc, error) {
		m, err := row.message()
		return index.Doc{
			Seq: m.Seq, ID: string(m.ID), Owner: string(m.Agent), Thread: string(m.Conversation), Role: string(m.Role), Name: m.Name, At: int64(row.CreatedAt), Text: m.Said(),
		}, err
	})
}

func (r *searcher) passageDocs(ctx context.Context, w *where, tail string) ([]index.Doc, error) {
	var rows []passageRow
	if err := r.facts.all(ctx, &rows, selectPassages+w.String()+tail, w.args...); err != nil {
		return nil, classify("read passages", err)
	}
	return convert(rows, func(row *passageRow) (index.Doc, error) {
		p, err := row.passage()
		return passageDoc(p, row), err
	})
}

func passageDoc(p core.Passage, row *passageRow) index.Doc {
	return index.Doc{
		Seq: p.Seq, ID: string(p.ID), Owner: string(p.Archive), File: string(p.File), At: int64(row.CreatedAt), Tags: p.Tags, Text: p.Text,
	}
}
