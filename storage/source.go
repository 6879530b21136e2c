package storage

import (
	"context"
	"math"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
	"loci/storage/sqlite"
)

// batchBytes bounds the texts that are read at once for the index or for embedding; one that is longer comes alone.
const batchBytes = 8 << 20

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
	rows, _, err := readUpTo(ctx, s.facts, batchBytes, func(row *changeRow) int { return row.Bytes }, selectChanges, after, limit)
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

// readUpTo scans rows while their texts together, as size counts them, have at most so many bytes, and the first in any
// case; more says that it left some.
func readUpTo[R any](
	ctx context.Context,
	q *sqlite.Querier,
	most int,
	size func(*R) int,
	text string,
	args ...any,
) (rows []R, more bool, err error) {
	err = q.With(ctx, text, func(s *sqlx.Stmt) error {
		found, err := s.QueryxContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { _ = found.Close() }() // what was read is complete or Err says so
		for found.Next() {
			var row R
			if err := found.StructScan(&row); err != nil {
				return err
			}
			most -= size(&row)
			if more = most < 0 && len(rows) > 0; more {
				return nil
			}
			rows = append(rows, row)
		}
		return found.Err()
	})
	return rows, more, err
}

// findable is true of messages that search may find; roles are checked by Searchable.
const findable = `m.hidden = '' AND NOT m.is_error AND m.role IN ('user', 'assistant', 'approval', 'summary') AND ` + alive + ` AND ` + notReset

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
		docs, more, err = s.passageDocs(ctx, w, " ORDER BY p.seq LIMIT "+w.Arg(limit), batchBytes)
	} else {
		w.And(findable)
		w.And("m.seq > ?", after)
		docs, more, err = s.messageDocs(ctx, w, " ORDER BY m.seq LIMIT "+w.Arg(limit), batchBytes)
	}
	if err != nil || len(docs) == 0 {
		return nil, after, true, err
	}
	return docs, docs[len(docs)-1].Seq, !more && len(docs) < limit, nil
}

func (s source) messageDocs(ctx context.Context, w *sqlite.Where, tail string, most int) (docs []index.Doc, more bool, err error) {
	rows, more, err := readUpTo(
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
	rows, more, err := readUpTo(
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
		p, err := row.passage()
		return passageDoc(p, row), err
	})
	return docs, more, err
}

func passageDoc(p core.Passage, row *passageRow) index.Doc {
	return index.Doc{
		Seq: p.Seq, ID: string(p.ID), Owner: string(p.Archive), File: string(p.File), At: int64(row.CreatedAt), Tags: p.Tags, Text: p.Text,
	}
}
