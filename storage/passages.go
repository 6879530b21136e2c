package storage

import (
	"context"
	"slices"

	"loci/core"
	"loci/storage/passagelog"
	"loci/storage/sqlite"
)

type passages struct {
	passagelog.Reader
	v *scope
}

type passageRow struct {
	Seq       int64          `db:"seq"`
	ID        core.PassageID `db:"id"`
	Archive   core.ArchiveID `db:"archive_id"`
	Text      string         `db:"text"`
	Agent     core.AgentID   `db:"agent_id"`
	Step      core.StepID    `db:"step_id"`
	File      core.FileID    `db:"file_id"`
	Place     int            `db:"place"`
	CreatedAt sqlite.Micros  `db:"created_at"`
	UpdatedAt sqlite.Micros  `db:"updated_at"`
	Data      string         `db:"data"`
}

// PassageData is what a row of a passage holds as JSON.
type PassageData struct {
	Tags     []string       `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Source   string         `json:"source,omitempty"`
}

func newPassageRow(p *core.Passage) (passageRow, error) {
	data, err := sqlite.Encode(PassageData{Tags: p.Tags, Metadata: p.Metadata, Source: p.Source})
	return passageRow{
		ID: p.ID, Archive: p.Archive, Text: p.Text, Agent: p.Agent, Step: p.Step, File: p.File, Place: p.Place,
		CreatedAt: sqlite.ToMicros(p.CreatedAt), UpdatedAt: sqlite.ToMicros(p.UpdatedAt), Data: data,
	}, err
}

// passage is the passage; of a damaged one, what stands outside of its data.
func (r *passageRow) passage() (core.Passage, error) {
	var d PassageData
	err := sqlite.Decode(r.Data, &d)
	return core.Passage{
		ID: r.ID, Archive: r.Archive, Text: r.Text, Tags: d.Tags, Metadata: d.Metadata, Agent: r.Agent, Step: r.Step, File: r.File,
		Source: d.Source, Place: r.Place, Seq: r.Seq, CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, err
}

// selectPassages takes the data away where a number is none or a text is missing, as messageColumns do: one such row must not
// end the index.
//
//nolint:gosec // G101: a passage is no password
const selectPassages = `SELECT p.seq, COALESCE(p.id, '') AS id, COALESCE(p.archive_id, '') AS archive_id, COALESCE(p.text, '') AS text,
	COALESCE(p.agent_id, '') AS agent_id, COALESCE(p.step_id, '') AS step_id, COALESCE(p.file_id, '') AS file_id,
	iif(typeof(p.place) = 'integer', p.place, 0) AS place, iif(typeof(p.created_at) = 'integer', p.created_at, 0) AS created_at,
	iif(typeof(p.updated_at) = 'integer', p.updated_at, 0) AS updated_at,
	COALESCE(iif(typeof(p.place) = 'integer' AND typeof(p.created_at) = 'integer' AND typeof(p.updated_at) = 'integer' AND
		p.text IS NOT NULL, p.data, ''), '') AS data FROM passages p`

// livingPassage is true of passages that are not deleted and whose archive is not.
//
//nolint:gosec // G101: a passage is no password
const livingPassage = `p.deleted_at IS NULL AND EXISTS (SELECT 1 FROM archives v WHERE v.id = p.archive_id AND v.deleted_at IS NULL)`

func (s passages) Insert(ctx context.Context, ps ...*core.Passage) error {
	if len(ps) == 0 {
		return nil
	}
	return s.v.atomic(ctx, "insert passages", func(ctx context.Context, q *sqlite.Querier) error {
		for _, p := range ps {
			if err := insertPassage(ctx, q, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func insertPassage(ctx context.Context, q *sqlite.Querier, p *core.Passage) error {
	row, err := newPassageRow(p)
	if err != nil {
		return err
	}
	n, err := q.Exec(
		ctx,
		`UPDATE archives SET passages = passages + 1 WHERE id = $1 AND deleted_at IS NULL AND (folder_id = '' OR $2 <> '')`,
		p.Archive,
		p.File,
	)
	if err != nil {
		return err
	}
	if n == 0 {
		return sqlite.NotFound("archive", string(p.Archive))
	}
	err = q.NamedGet(
		ctx,
		&p.Seq,
		`INSERT INTO passages (id, archive_id, text, agent_id, step_id, file_id, place, created_at, updated_at, data)
		VALUES (:id, :archive_id, :text, :agent_id, :step_id, :file_id, :place, :created_at, :updated_at, :data) RETURNING seq`,
		row,
	)
	if err != nil {
		return err
	}
	if err := countTags(ctx, q, p.Archive, nil, p.Tags); err != nil {
		return err
	}
	if err := sqlite.Retag(ctx, q, "passage_tags", "passage_id", string(p.ID), p.Tags, true); err != nil {
		return err
	}
	return changed(ctx, q, kindPassage, string(p.ID), opWrite)
}

// countTags keeps the counters of an archive's tags when a passage's change.
func countTags(ctx context.Context, q *sqlite.Querier, archive core.ArchiveID, old, tags []string) error {
	count := func(tag string, by int) error {
		_, err := q.Exec(ctx, `INSERT INTO archive_tags (archive_id, tag, uses) VALUES ($1, $2, $3)
			ON CONFLICT (archive_id, tag) DO UPDATE SET uses = archive_tags.uses + excluded.uses`, archive, tag, by)
		return err
	}
	for _, tag := range distinct(tags) {
		if !slices.Contains(old, tag) {
			if err := count(tag, 1); err != nil {
				return err
			}
		}
	}
	for _, tag := range distinct(old) {
		if !slices.Contains(tags, tag) {
			if err := count(tag, -1); err != nil {
				return err
			}
		}
	}
	return nil
}

func distinct(tags []string) []string {
	out := make([]string, 0, len(tags))
	for _, tag := range tags {
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

func (s passages) Get(ctx context.Context, id core.PassageID) (core.Passage, error) {
	ctx, q := s.v.read(ctx)
	p, err := getPassage(ctx, q, id)
	return p, sqlite.Classify("get passage", err)
}

func getPassage(ctx context.Context, q *sqlite.Querier, id core.PassageID) (core.Passage, error) {
	return sqlite.One(ctx, q, "passage", string(id), (*passageRow).passage, selectPassages+` WHERE p.id = $1 AND `+livingPassage, id)
}

// getNote returns a passage that may be changed: a chunk changes with its file.
func getNote(ctx context.Context, q *sqlite.Querier, id core.PassageID) (core.Passage, error) {
	p, err := getPassage(ctx, q, id)
	if core.IgnoreDamage(err) == nil && p.File != "" {
		err = core.E(core.Conflict, "passage %s is a part of file %s", string(p.ID), string(p.File)).WithHint("change or delete the file")
	}
	return p, err
}

func (s passages) Update(ctx context.Context, p *core.Passage, by core.Author) error {
	return s.v.atomic(ctx, "update passage", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getNote(ctx, q, p.ID)
		if err != nil {
			return err
		}
		if passagelog.Changes(&old, p) {
			if err := passagelog.Keep(ctx, q, &old, p, false, by, s.v.s.now()); err != nil {
				return err
			}
		}
		return rewritten(ctx, q, &old, p)
	})
}

// rewritten writes what a passage is now over what it was.
func rewritten(ctx context.Context, q *sqlite.Querier, old, p *core.Passage) error {
	row, err := newPassageRow(p)
	if err != nil {
		return err
	}
	_, err = q.Named(
		ctx,
		`UPDATE passages SET text = :text, created_at = :created_at, updated_at = :updated_at, data = :data WHERE id = :id`,
		row,
	)
	if err != nil {
		return err
	}
	return tagged(ctx, q, p, old.Tags)
}

// tagged writes the tags of a passage that had others, and has it indexed.
func tagged(ctx context.Context, q *sqlite.Querier, p *core.Passage, old []string) error {
	if err := countTags(ctx, q, p.Archive, old, p.Tags); err != nil {
		return err
	}
	if err := sqlite.Retag(ctx, q, "passage_tags", "passage_id", string(p.ID), p.Tags, false); err != nil {
		return err
	}
	return changed(ctx, q, kindPassage, string(p.ID), opWrite)
}

func (s passages) Delete(ctx context.Context, id core.PassageID) error {
	return s.v.atomic(ctx, "delete passage", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getNote(ctx, q, id)
		if core.IgnoreDamage(err) != nil {
			return err
		}
		return s.remove(ctx, q, &old)
	})
}

// remove marks a passage as deleted and no longer counts it.
func (s passages) remove(ctx context.Context, q *sqlite.Querier, p *core.Passage) error {
	if _, err := q.Exec(ctx, `UPDATE passages SET deleted_at = $1 WHERE id = $2`, s.v.s.now(), p.ID); err != nil {
		return err
	}
	if _, err := q.Exec(ctx, `UPDATE archives SET passages = passages - 1 WHERE id = $1`, p.Archive); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `UPDATE archive_tags SET uses = uses - 1
		WHERE archive_id = $1 AND tag IN (SELECT tag FROM passage_tags WHERE passage_id = $2)`, p.Archive, p.ID)
	if err != nil {
		return err
	}
	if err := sqlite.Retag(ctx, q, "passage_tags", "passage_id", string(p.ID), nil, false); err != nil {
		return err
	}
	return changed(ctx, q, kindPassage, string(p.ID), opDelete)
}

func (s passages) Retire(ctx context.Context, id core.PassageID, by core.Author) error {
	return s.v.atomic(ctx, "retire passage", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getNote(ctx, q, id)
		if err != nil {
			return err
		}
		if err := passagelog.Keep(ctx, q, &old, &old, true, by, s.v.s.now()); err != nil {
			return err
		}
		return s.remove(ctx, q, &old)
	})
}

func (s passages) Restore(ctx context.Context, id core.PassageID, version int, by core.Author) error {
	return s.v.atomic(ctx, "restore passage", func(ctx context.Context, q *sqlite.Querier) error {
		old, living, err := passagelog.Open(ctx, q, id)
		if err != nil {
			return err
		}
		then, err := passagelog.At(ctx, q, &old, version)
		if err != nil {
			return err
		}
		is, now := old, s.v.s.now()
		is.Text, is.Tags, is.Metadata, is.UpdatedAt = then.Text, then.Tags, then.Metadata, now.Time()
		by.Restores = version
		if err := passagelog.Keep(ctx, q, &old, &is, then.Gone, by, now); err != nil {
			return err
		}
		switch {
		case then.Gone && !living:
			return nil
		case then.Gone:
			return s.remove(ctx, q, &old)
		case !living:
			if err := revive(ctx, q, &old); err != nil {
				return err
			}
		}
		return rewritten(ctx, q, &old, &is)
	})
}

func (s passages) filter(f core.PassageFilter) *sqlite.Where { return s.filterBy(f, "") }

// filterBy with unindexed behind the columns of scopes keeps a statement that names its passages from going through all
// of a scope instead.
func (passages) filterBy(f core.PassageFilter, behind string) *sqlite.Where {
	w := &sqlite.Where{}
	w.And(livingPassage)
	sqlite.In(w, "p.archive_id"+behind, f.Archives)
	sqlite.In(w, "p.file_id"+behind, f.Files)
	if len(f.Archives)+len(f.Files) == 0 {
		w.And("p.archive_id NOT IN (SELECT id FROM archives WHERE folder_id <> '')")
	}
	sqlite.Tagged(w, "p.id", "passage_tags", "passage_id", f.Tags, f.AllTags)
	if !f.From.IsZero() {
		w.And("p.created_at >= ?", sqlite.ToMicros(f.From))
	}
	if !f.Until.IsZero() {
		w.And("p.created_at < ?", sqlite.ToMicros(f.Until))
	}
	if f.Contains != "" {
		w.And(`LOWER(p.text) LIKE LOWER(?) ESCAPE '\'`, sqlite.Contains(f.Contains))
	}
	return w
}

// unindexed behind a column of text makes an expression of it, for which there is no index.
const unindexed = ` || ''`

func (s passages) List(ctx context.Context, f core.PassageFilter, p core.Page) ([]core.Passage, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "passages", Cursor: "id", Major: "created_at", Minor: "seq", Alias: "p.", Noun: "passage"}
	w := s.filter(f)
	tail, err := o.Paged(ctx, q, w, p, 100)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list passages", (*passageRow).passage, selectPassages+w.String()+tail, w.Args...)
}

func (s passages) TopTags(ctx context.Context, archive core.ArchiveID, limit int) ([]core.TagCount, error) {
	ctx, q := s.v.read(ctx)
	var rows []struct {
		Tag  string `db:"tag"`
		Uses int    `db:"uses"`
	}
	err := q.All(
		ctx,
		&rows,
		`SELECT tag, uses FROM archive_tags WHERE archive_id = $1 AND uses > 0 ORDER BY uses DESC, tag LIMIT $2`,
		archive,
		limit,
	)
	if err != nil {
		return nil, sqlite.Classify("list tags of archive", err)
	}
	out := make([]core.TagCount, len(rows))
	for i, r := range rows {
		out[i] = core.TagCount{Tag: r.Tag, Count: r.Uses}
	}
	return out, nil
}

func (s passages) Among(ctx context.Context, f core.PassageFilter, ids []core.PassageID) ([]core.Passage, error) {
	ctx, q := s.v.read(ctx)
	w := s.filterBy(f, unindexed)
	sqlite.In(w, "p.id", ids)
	return list(ctx, s.v, q, "search", (*passageRow).passage, selectPassages+w.String(), w.Args...)
}
