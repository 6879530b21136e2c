package view

import (
	"context"
	"database/sql"
	"encoding/json"

	"loci/core"
	"loci/storage/sqlite"
	"loci/storage/vectors"
)

// vectorSource reads the vectors of one set for its index.
type vectorSource struct {
	facts *sqlite.Querier
	set   int64
	kind  core.VectorKind
}

func (v *vectorSource) Bounds(ctx context.Context) (vectors.Bounds, error) {
	var b struct {
		Last   int64 `db:"last_id"`
		Gone   int64 `db:"gone"`
		Pruned int64 `db:"pruned"`
	}
	err := v.facts.Get(ctx, &b, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0) AS last_id,
		COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'vector_gone'), 0) AS gone,
		COALESCE((SELECT pruned FROM vector_sets WHERE id = $1), 0) AS pruned`, v.set)
	return vectors.Bounds(b), sqlite.Classify("read the vectors' bounds", err)
}

func (v *vectorSource) Rows(ctx context.Context, after int64, limit int, yield func(vectors.Row) error) error {
	text := `SELECT v.id, v.owner, v.data, p.archive_id, '', '',
		iif(typeof(p.created_at) = 'integer', p.created_at, 0) FROM vectors v CROSS JOIN passages p ON p.seq = v.owner`
	if v.kind == core.VectorMessage {
		text = `SELECT v.id, v.owner, v.data, m.agent_id, m.conversation_id, m.role,
			iif(typeof(m.created_at) = 'integer', m.created_at, 0) FROM vectors v CROSS JOIN messages m ON m.seq = v.owner`
	}
	var group, thread, role string
	var r vectors.Row
	var data sql.RawBytes
	return v.facts.Each(ctx, text+` WHERE v.set_id = $1 AND v.id > $2 ORDER BY v.id LIMIT $3`, []any{v.set, after, limit},
		[]any{&r.ID, &r.Owner, &data, &group, &thread, &role, &r.At}, func() error {
			r.Data, r.Group, r.Thread, r.Role = data, vectors.Key(group), vectors.Key(thread), roleBit(core.Role(role))
			return yield(r)
		})
}

func (v *vectorSource) Gone(ctx context.Context, after int64, limit int) (ids []int64, last int64, err error) {
	var rows []struct {
		Seq int64 `db:"seq"`
		Set int64 `db:"set_id"`
		ID  int64 `db:"vector_id"`
	}
	err = v.facts.All(ctx, &rows, `SELECT seq, set_id, vector_id FROM vector_gone WHERE seq > $1 ORDER BY seq LIMIT $2`, after, limit)
	last = after
	for _, r := range rows {
		last = r.Seq
		if r.Set == v.set {
			ids = append(ids, r.ID)
		}
	}
	return ids, last, sqlite.Classify("read deleted vectors", err)
}

func (v *vectorSource) Vectors(ctx context.Context, ids []int64, yield func(id int64, data []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	var id int64
	var data sql.RawBytes
	return v.facts.Each(
		ctx,
		`SELECT v.id, v.data FROM json_each($1) j CROSS JOIN vectors v ON v.id = j.value`,
		[]any{string(list)},
		[]any{&id, &data},
		func() error { yield(id, data); return nil },
	)
}

// tagSet is a tag's passages, kept up with the changes.
type tagSet struct {
	set  *vectors.Owners
	upTo int64 // the last change it has
	used int64
}

const (
	mostTags  = 64   // sets that are kept
	tagBehind = 2000 // changes from which on a set is read anew
)

// tag returns the passages with a tag.
func (n *vectorSets) tag(ctx context.Context, tag string) (*vectors.Owners, error) {
	n.tagMu.Lock()
	defer n.tagMu.Unlock()
	n.clock++
	t := n.tags[tag]
	if t == nil {
		t = &tagSet{}
		n.tags[tag] = t
		if len(n.tags) > mostTags {
			oldest := tag
			for name, other := range n.tags {
				if other.used < n.tags[oldest].used || oldest == tag {
					oldest = name
				}
			}
			delete(n.tags, oldest)
		}
	}
	t.used = n.clock
	if err := n.follow(ctx, tag, t); err != nil {
		delete(n.tags, tag)
		return nil, sqlite.Classify("read the passages with a tag", err)
	}
	return t.set.Clone(), nil
}

// follow brings a tag's set up to date.
func (n *vectorSets) follow(ctx context.Context, tag string, t *tagSet) error {
	var last int64
	if err := n.facts.Get(ctx, &last, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)`); err != nil {
		return err
	}
	if t.set == nil || last-t.upTo > tagBehind {
		t.set, t.upTo = &vectors.Owners{}, last
		var seq int64
		return n.facts.Each(
			ctx,
			`SELECT p.seq FROM passage_tags t CROSS JOIN passages p ON p.id = t.passage_id WHERE t.tag = $1`,
			[]any{tag},
			[]any{&seq},
			func() error { t.set.Add(seq); return nil },
		)
	}
	if last == t.upTo {
		return nil
	}
	var rows []struct {
		Seq int64 `db:"seq"`
		Has bool  `db:"has"`
	}
	err := n.facts.All(ctx, &rows, `SELECT p.seq, EXISTS (SELECT 1 FROM passage_tags t WHERE t.passage_id = p.id AND t.tag = $1) AS has
		FROM changes c CROSS JOIN passages p ON p.id = c.id WHERE c.seq > $2 AND c.seq <= $3 AND c.kind = 'passage'`, tag, t.upTo, last)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Has {
			t.set.Add(r.Seq)
		} else {
			t.set.Remove(r.Seq)
		}
	}
	t.upTo = last
	return nil
}
