// Package vectorstore keeps the vectors of texts, and the list of the texts that wait for one.
package vectorstore

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
	"loci/storage/vectors"
)

// Store is the vectors within one scope. What waits for one is written by triggers, with the text itself.
type Store struct {
	on      *sqlite.Scope
	texts   Texts
	changed <-chan struct{}
}

// Texts reads texts by their numbers; those that are gone are left out.
type Texts func(ctx context.Context, q *sqlite.Querier, kind core.VectorKind, owners []int64) (map[int64]core.EmbeddingTask, error)

var _ core.VectorStore = Store{}

// New returns the vectors within a scope; changed gets a value after a commit.
func New(on *sqlite.Scope, texts Texts, changed <-chan struct{}) Store {
	return Store{on: on, texts: texts, changed: changed}
}

func (s Store) Changed() <-chan struct{} { return s.changed }

func (s Store) Waiting(ctx context.Context, after int64, limit int) ([]core.EmbeddingTask, error) {
	ctx, q := s.on.Read(ctx)
	rows, _, err := sqlite.ReadUpTo(ctx, q, sqlite.BatchBytes, func(row *waitingRow) int { return row.Bytes }, selectWaiting, after, limit)
	if err != nil {
		return nil, sqlite.Classify("list what waits for a vector", err)
	}
	owners := map[core.VectorKind][]int64{}
	for _, r := range rows {
		owners[r.Kind] = append(owners[r.Kind], r.Owner)
	}
	texts := map[core.VectorKind]map[int64]core.EmbeddingTask{}
	for _, kind := range []core.VectorKind{core.VectorPassage, core.VectorMessage} {
		if texts[kind], err = s.texts(ctx, q, kind, owners[kind]); err != nil {
			return nil, sqlite.Classify("read what waits for a vector", err)
		}
	}
	out := make([]core.EmbeddingTask, len(rows))
	for i, r := range rows {
		u := texts[r.Kind][r.Owner] // without a text where it is gone
		u.Ticket, u.Kind, u.Owner = r.Num, r.Kind, r.Owner
		if u.Model == "" {
			u.Model = core.WordsHandle
		}
		out[i] = u
	}
	return out, nil
}

// waitingRow is a ticket with the length of its text.
type waitingRow struct {
	Num   int64           `db:"num"`
	Kind  core.VectorKind `db:"kind"`
	Owner int64           `db:"owner"`
	Bytes int             `db:"bytes"`
}

const selectWaiting = `SELECT v.num, v.kind, v.owner, COALESCE(CASE v.kind
		WHEN 'message' THEN (SELECT octet_length(m.data) + COALESCE(octet_length(m.native), 0) FROM messages m WHERE m.seq = v.owner)
		ELSE (SELECT octet_length(p.text) FROM passages p WHERE p.seq = v.owner)
	END, 0) AS bytes FROM vector_queue v WHERE v.num > $1 ORDER BY v.num LIMIT $2`

func (s Store) Put(ctx context.Context, done ...core.EmbeddingResult) error {
	units := make([][]float32, len(done))
	for i, d := range done {
		if d.Vector == nil {
			continue
		}
		unit, ok := vectors.Unit(d.Vector)
		if !ok || len(unit) > vectors.MaxDim {
			return core.E(core.Invalid, "a vector of %s has a number that is none, no length, or too many dimensions", d.Model)
		}
		units[i] = unit
	}
	return s.on.Atomic(ctx, "put vectors", func(ctx context.Context, q *sqlite.Querier) error {
		sets := map[core.VectorCount]int64{} // looked up once
		for i, d := range done {
			n, err := q.Exec(ctx, `DELETE FROM vector_queue WHERE num = $1 AND kind = $2 AND owner = $3`, d.Ticket, d.Kind, d.Owner)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := putVector(ctx, q, sets, d.EmbeddingTask, units[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// putVector replaces what vectors of other models the owner has.
func putVector(ctx context.Context, q *sqlite.Querier, sets map[core.VectorCount]int64, u core.EmbeddingTask, unit []float32) error {
	key := core.VectorCount{Kind: u.Kind, Model: u.Model, Dim: len(unit)}
	set, known := sets[key]
	if unit != nil && !known {
		err := q.Get(ctx, &set, `INSERT INTO vector_sets (kind, model, dim) VALUES ($1, $2, $3)
			ON CONFLICT (kind, model, dim) DO UPDATE SET dim = excluded.dim RETURNING id`, key.Kind, key.Model, key.Dim)
		if err != nil {
			return err
		}
		sets[key] = set
	}
	if _, err := q.Exec(
		ctx,
		`DELETE FROM vectors WHERE owner = $1 AND set_id IN (SELECT id FROM vector_sets WHERE kind = $2 AND id <> $3)`,
		u.Owner,
		u.Kind,
		set,
	); err != nil ||
		unit == nil {
		return err
	}
	_, err := q.Exec(
		ctx,
		`INSERT INTO vectors (set_id, owner, data) VALUES ($1, $2, $3) ON CONFLICT (set_id, owner) DO NOTHING`,
		set,
		u.Owner,
		vectors.Bytes(unit),
	)
	return err
}

func (s Store) Move(ctx context.Context, limit int) (more bool, err error) {
	reading, q := s.on.Read(ctx)
	if err := q.Get(reading, &more, `SELECT EXISTS (SELECT 1 FROM vector_moves)`); err != nil || !more {
		return false, sqlite.Classify("look for archives to move", err) // without a commit, which would wake who asks
	}
	err = s.on.Atomic(ctx, "move an archive to another model", func(ctx context.Context, q *sqlite.Querier) error {
		var at struct {
			Archive core.ArchiveID `db:"archive_id"`
			At      int64          `db:"after_at"`
			Seq     int64          `db:"after_seq"`
		}
		if more, err = q.Find(
			ctx,
			&at,
			`SELECT archive_id, after_at, after_seq FROM vector_moves ORDER BY archive_id LIMIT 1`,
		); err != nil ||
			!more {
			return err
		}
		var rows []struct {
			Seq int64 `db:"seq"`
			At  int64 `db:"created_at"`
		}
		err := q.All(
			ctx,
			&rows,
			`SELECT seq, created_at FROM passages WHERE archive_id = $1 AND (created_at, seq) > ($2, $3) AND deleted_at IS NULL
			ORDER BY created_at, seq LIMIT $4`,
			at.Archive,
			at.At,
			at.Seq,
			limit,
		)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := requeue(ctx, q, r.Seq); err != nil {
				return err
			}
		}
		if len(rows) < limit {
			_, err = q.Exec(ctx, `DELETE FROM vector_moves WHERE archive_id = $1`, at.Archive)
			return err
		}
		last := rows[len(rows)-1]
		_, err = q.Exec(ctx, `UPDATE vector_moves SET after_at = $1, after_seq = $2 WHERE archive_id = $3`, last.At, last.Seq, at.Archive)
		return err
	})
	return more, err
}

// requeue gives a passage a new ticket.
func requeue(ctx context.Context, q *sqlite.Querier, owner int64) error {
	if _, err := q.Exec(ctx, `DELETE FROM vector_queue WHERE kind = $1 AND owner = $2`, core.VectorPassage, owner); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `INSERT INTO vector_queue (kind, owner) VALUES ($1, $2)`, core.VectorPassage, owner)
	return err
}

func (s Store) Progress(ctx context.Context) (core.VectorProgress, error) {
	ctx, q := s.on.Read(ctx)
	var p struct {
		Waiting int `db:"waiting"`
		Moving  int `db:"moving"`
	}
	err := q.Get(ctx, &p, `SELECT (SELECT COUNT(*) FROM vector_queue) AS waiting, (SELECT COUNT(*) FROM vector_moves) AS moving`)
	return core.VectorProgress(p), sqlite.Classify("read the progress of embedding", err)
}

func (s Store) Made(ctx context.Context) ([]core.VectorCount, error) {
	ctx, q := s.on.Read(ctx)
	var rows []struct {
		Kind  core.VectorKind `db:"kind"`
		Model core.Handle     `db:"model"`
		Dim   int             `db:"dim"`
		Count int             `db:"n"`
	}
	err := q.All(
		ctx,
		&rows,
		`SELECT s.kind, s.model, s.dim, (SELECT COUNT(*) FROM vectors v WHERE v.set_id = s.id) AS n FROM vector_sets s ORDER BY s.id`,
	)
	out := make([]core.VectorCount, len(rows))
	for i, r := range rows {
		out[i] = core.VectorCount(r)
	}
	return out, sqlite.Classify("count vectors", err)
}
