package storage

import (
	"context"
	"math"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
	"loci/storage/sqlite"
)

// source reads the texts that search may find.
type source struct {
	facts *sqlite.Querier // like the store's readers, but callers did not cause these statements
}

var _ index.Source = source{}

func (s source) Bounds(ctx context.Context) (first, last int64, err error) {
	var row struct {
		First int64 `db:"first_seq"`
		Last  int64 `db:"last_seq"`
	}
	err = s.facts.Get(
		ctx,
		&row,
		`SELECT COALESCE((SELECT MIN(seq) FROM changes), 0) AS first_seq, COALESCE((SELECT MAX(seq) FROM changes), 0) AS last_seq`,
	)
	return row.First, row.Last, sqlite.Classify("read changes", err)
}

func (s source) Changes(ctx context.Context, after int64, limit int) ([]index.Change, error) {
	rows, _, err := sqlite.ReadUpTo(ctx, s.facts, sqlite.BatchBytes, func(row *changeRow) int { return row.Bytes }, selectChanges, after,
		limit)
	if err != nil {
		return nil, sqlite.Classify("read changes", err)
	}
	return sqlite.Convert(rows, func(row *changeRow) (index.Change, error) { return row.Change, nil })
}

// changeRow is a change with the length of what it makes the index read.
type changeRow struct {
	index.Change
	Bytes int `db:"bytes"`
}

// selectChanges asks for lengths, which SQLite knows without reading the texts.
const selectChanges = `SELECT c.seq, c.kind, c.id, c.op, COALESCE(CASE c.kind
		WHEN 'message' THEN (SELECT octet_length(m.data) + COALESCE(octet_length(m.native), 0) FROM messages m WHERE m.id = c.id)
		WHEN 'passage' THEN (SELECT octet_length(p.text) FROM passages p WHERE p.id = c.id)
	END, 0) AS bytes FROM changes c WHERE c.seq > $1 ORDER BY c.seq LIMIT $2`

// findable is true of messages that search may find; roles are checked by Searchable.
const findable = `m.hidden = '' AND NOT m.is_error AND m.role IN ('user', 'assistant', 'approval', 'summary') AND ` + alive + ` AND ` +
	notReset

func (s source) Docs(ctx context.Context, kind search.Kind, ids []string) (docs []index.Doc, err error) {
	w := &sqlite.Where{}
	if kind == search.Passage {
		w.And(livingPassage)
		sqlite.In(w, "p.id", ids)
		docs, _, err = s.passageDocs(ctx, w, "", math.MaxInt)
		return docs, err
	}
	w.And(findable)
	sqlite.In(w, "m.id", ids)
	docs, _, err = s.messageDocs(ctx, w, "", math.MaxInt)
	return docs, err
}

func (s source) All(ctx context.Context, kind search.Kind, after int64, limit int) (docs []index.Doc, next int64, done bool, err error) {
	w := &sqlite.Where{}
	var more bool
	if kind == search.Passage {
		w.And(livingPassage)
		w.And("p.seq > ?", after)
		docs, more, err = s.passageDocs(ctx, w, " ORDER BY p.seq LIMIT "+w.Arg(limit), sqlite.BatchBytes)
	} else {
		w.And(findable)
		w.And("m.seq > ?", after)
		docs, more, err = s.messageDocs(ctx, w, " ORDER BY m.seq LIMIT "+w.Arg(limit), sqlite.BatchBytes)
	}
	if err != nil || len(docs) == 0 {
		return nil, after, true, err
	}
	return docs, docs[len(docs)-1].Seq, !more && len(docs) < limit, nil
}

func (s source) messageDocs(ctx context.Context, w *sqlite.Where, tail string, most int) (docs []index.Doc, more bool, err error) {
	rows, more, err := sqlite.ReadUpTo(
		ctx,
		s.facts,
		most,
		(*messageRow).bytes,
		`SELECT `+messageColumns+` FROM messages m`+w.String()+tail,
		w.Args...)
	if err != nil {
		return nil, false, sqlite.Classify("read messages", err)
	}
	docs, err = sqlite.Convert(rows, func(row *messageRow) (index.Doc, error) {
		m, err := row.message()
		return index.Doc{
			Seq:    m.Seq,
			ID:     string(m.ID),
			Owner:  string(m.Agent),
			Thread: string(m.Conversation),
			Role:   string(m.Role),
			Name:   m.Name,
			At:     int64(row.CreatedAt),
			Text:   m.Said(),
		}, err
	})
	return docs, more, err
}

func (s source) passageDocs(ctx context.Context, w *sqlite.Where, tail string, most int) (docs []index.Doc, more bool, err error) {
	rows, more, err := sqlite.ReadUpTo(
		ctx,
		s.facts,
		most,
		func(row *passageRow) int { return len(row.Text) },
		selectPassages+w.String()+tail,
		w.Args...)
	if err != nil {
		return nil, false, sqlite.Classify("read passages", err)
	}
	docs, err = sqlite.Convert(rows, func(row *passageRow) (index.Doc, error) {
		p, _ := row.passage() // its text is whole even where the row is damaged; no search shows it then
		return passageDoc(p, row), nil
	})
	return docs, more, err
}

func passageDoc(p core.Passage, row *passageRow) index.Doc {
	return index.Doc{
		Seq: p.Seq, ID: string(p.ID), Owner: string(p.Archive), File: string(p.File), At: int64(row.CreatedAt), Tags: p.Tags, Text: p.Text,
	}
}

// unembedded reads the texts that wait for a vector.
func unembedded(ctx context.Context, q *sqlite.Querier, kind core.VectorKind, owners []int64) (map[int64]core.EmbeddingTask, error) {
	if kind == core.VectorMessage {
		return messageTexts(ctx, q, owners)
	}
	return passageTexts(ctx, q, owners)
}

func passageTexts(ctx context.Context, q *sqlite.Querier, owners []int64) (map[int64]core.EmbeddingTask, error) {
	out := map[int64]core.EmbeddingTask{}
	for chunk := range sqlite.Chunks(owners) {
		w := &sqlite.Where{}
		w.And(livingPassage)
		sqlite.In(w, "p.seq", chunk)
		var rows []struct {
			Seq     int64          `db:"seq"`
			Archive core.ArchiveID `db:"archive_id"`
			Text    string         `db:"text"`
			Model   core.Handle    `db:"model"`
		}
		err := q.All(ctx, &rows, `SELECT p.seq, p.archive_id, COALESCE(p.text, '') AS text, `+embeddingOfArchive+` AS model
			FROM passages p JOIN archives a ON a.id = p.archive_id`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.Seq] = core.EmbeddingTask{Archive: r.Archive, Text: r.Text, Model: r.Model}
		}
	}
	return out, nil
}

func messageTexts(ctx context.Context, q *sqlite.Querier, owners []int64) (map[int64]core.EmbeddingTask, error) {
	out := map[int64]core.EmbeddingTask{}
	for chunk := range sqlite.Chunks(owners) {
		w := &sqlite.Where{}
		w.And(alive)
		sqlite.In(w, "m.seq", chunk)
		var rows []messageRow
		if err := q.All(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String(), w.Args...); err != nil {
			return nil, err
		}
		for i := range rows {
			m, err := rows[i].message()
			if err != nil {
				return nil, err
			}
			out[m.Seq] = core.EmbeddingTask{Text: m.Said()}
		}
	}
	return out, nil
}
