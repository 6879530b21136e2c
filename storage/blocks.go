package storage

import (
	"context"
	"strconv"

	"loci/core"
	"loci/storage/sqlite"
)

type blocks struct{ v *scope }

type blockRow struct {
	ID           core.BlockID  `db:"id"`
	Label        string        `db:"label"`
	TemplateName string        `db:"template_name"`
	Value        string        `db:"value"`
	Description  string        `db:"description"`
	Limit        int           `db:"limit_chars"`
	Hidden       bool          `db:"hidden"`
	Version      int           `db:"version"`
	CreatedAt    sqlite.Micros `db:"created_at"`
	UpdatedAt    sqlite.Micros `db:"updated_at"`
	Data         string        `db:"data"`
}

type blockData struct {
	ReadOnly bool           `json:"read_only,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
}

func newBlockRow(b *core.Block) (blockRow, error) {
	data, err := sqlite.Encode(blockData{ReadOnly: b.ReadOnly, Metadata: b.Metadata, Tags: b.Tags, Extra: b.Extra})
	name, _ := b.Extra["template_name"].(string)
	return blockRow{
		ID: b.ID, Label: b.Label, TemplateName: name, Value: b.Value, Description: b.Description, Limit: b.Limit, Hidden: b.Hidden,
		Version: b.Version, CreatedAt: sqlite.ToMicros(b.CreatedAt), UpdatedAt: sqlite.ToMicros(b.UpdatedAt), Data: data,
	}, err
}

func (r *blockRow) block() (core.Block, error) {
	var d blockData
	err := sqlite.Decode(r.Data, &d)
	return core.Block{
		ID: r.ID, Label: r.Label, Value: r.Value, Description: r.Description, Limit: r.Limit, ReadOnly: d.ReadOnly, Metadata: d.Metadata,
		Tags: d.Tags, Hidden: r.Hidden, Extra: d.Extra, Version: r.Version, CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, err
}

const selectBlocks = `SELECT b.id, b.label, b.template_name, b.value, b.description, b.limit_chars, b.hidden, b.version, b.created_at,
	b.updated_at, b.data FROM blocks b`

func (s blocks) Create(ctx context.Context, b *core.Block, by core.Author) error {
	return s.v.write(ctx, "create block", func(ctx context.Context, q *sqlite.Querier) error {
		b.Version = 1
		row, err := newBlockRow(b)
		if err != nil {
			return err
		}
		_, err = q.Named(ctx, `INSERT INTO blocks
			(id, label, template_name, value, description, limit_chars, hidden, version, created_at, updated_at, data) VALUES
			(:id, :label, :template_name, :value, :description, :limit_chars, :hidden, :version, :created_at, :updated_at, :data)`, row)
		if err != nil {
			return err
		}
		if err := keepVersion(ctx, q, b, by, row.CreatedAt); err != nil {
			return err
		}
		return sqlite.Retag(ctx, q, "block_tags", "block_id", string(b.ID), b.Tags, true)
	})
}

func keepVersion(ctx context.Context, q *sqlite.Querier, b *core.Block, by core.Author, at sqlite.Micros) error {
	_, err := q.Exec(ctx, `INSERT INTO block_versions
		(block_id, version, value, label, description, limit_chars, author_kind, author_id, step_id, restores, rewind_id, source, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		b.ID, b.Version, b.Value, b.Label, b.Description, b.Limit, by.Kind, by.ID, by.Step, by.Restores, by.Rewind, by.Source, at)
	return err
}

func (s blocks) Get(ctx context.Context, id core.BlockID) (core.Block, error) {
	ctx, q := s.v.read(ctx)
	row, err := getBlock(ctx, q, id)
	if err != nil {
		return core.Block{}, err
	}
	b, err := row.block()
	return b, sqlite.NameDamage(err, "block", string(id))
}

func getBlock(ctx context.Context, q *sqlite.Querier, id core.BlockID) (blockRow, error) {
	var row blockRow
	ok, err := q.Find(ctx, &row, selectBlocks+` WHERE b.id = $1 AND b.deleted_at IS NULL`, id)
	if err == nil && !ok {
		err = sqlite.NotFound("block", string(id))
	}
	return row, sqlite.NameDamage(err, "block", string(id))
}

func (s blocks) Update(ctx context.Context, b *core.Block, by core.Author) error {
	expected := b.Version
	err := s.v.atomic(ctx, "update block", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getBlock(ctx, q, b.ID)
		if err != nil {
			return err
		}
		if old.Version != expected {
			return core.E(core.Conflict, "block %q changed meanwhile: it has version %d, the edit was made on %d", old.Label, old.Version,
				expected).
				WithHint("read it again and repeat the edit")
		}
		b.Version = expected
		kept := old.Value != b.Value || old.Label != b.Label || old.Description != b.Description || old.Limit != b.Limit
		if kept {
			b.Version++
		}
		row, err := newBlockRow(b)
		if err != nil {
			return err
		}
		_, err = q.Named(ctx, `UPDATE blocks SET label = :label, template_name = :template_name, value = :value, description = :description,
			limit_chars = :limit_chars, hidden = :hidden, version = :version, updated_at = :updated_at, data = :data WHERE id = :id`, row)
		if err != nil {
			return err
		}
		if kept {
			at := row.UpdatedAt
			if at == 0 {
				at = s.v.s.now()
			}
			if err := keepVersion(ctx, q, b, by, at); err != nil {
				return err
			}
		}
		if old.Label != b.Label {
			if err := relabel(ctx, q, b); err != nil {
				return err
			}
		}
		return sqlite.Retag(ctx, q, "block_tags", "block_id", string(b.ID), b.Tags, false)
	})
	if err != nil {
		b.Version = expected // so that the same edit can be tried again
	}
	return err
}

// relabel keeps labels unique among the blocks of each agent the block is attached to.
func relabel(ctx context.Context, q *sqlite.Querier, b *core.Block) error {
	_, err := q.Exec(ctx, `UPDATE agent_blocks SET label = $1 WHERE block_id = $2`, b.Label, b.ID)
	if sqlite.IsConflict(sqlite.Classify("", err)) {
		return core.E(core.Conflict, "an agent of this block already has another one labelled %q", b.Label)
	}
	return err
}

func (s blocks) Delete(ctx context.Context, id core.BlockID) error {
	return s.v.write(ctx, "delete block", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE blocks SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, s.v.s.now(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return sqlite.NotFound("block", string(id))
		}
		for _, text := range []string{
			`UPDATE agents SET rev = rev + 1 WHERE id IN (SELECT agent_id FROM agent_blocks WHERE block_id = $1)`,
			`DELETE FROM agent_blocks WHERE block_id = $1`,
			`DELETE FROM block_tags WHERE block_id = $1`,
		} {
			if _, err := q.Exec(ctx, text, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s blocks) filter(f core.BlockFilter) *sqlite.Where {
	w := &sqlite.Where{}
	w.And("b.deleted_at IS NULL")
	if f.Label != "" {
		w.And("b.label = ?", f.Label)
	}
	if f.Name != "" {
		w.And("b.template_name = ?", f.Name)
	}
	for _, s := range []struct{ column, text string }{
		{"label", f.LabelSearch}, {"value", f.ValueSearch}, {"description", f.DescriptionSearch},
	} {
		if s.text != "" {
			w.And(`LOWER(b.`+s.column+`) LIKE LOWER(?) ESCAPE '\'`, sqlite.Contains(s.text))
		}
	}
	sqlite.In(w, "b.id", f.IDs)
	if f.Agent != "" {
		w.And("EXISTS (SELECT 1 FROM agent_blocks ab WHERE ab.block_id = b.id AND ab.agent_id = ?)", f.Agent)
	}
	const sharers = "(SELECT COUNT(*) FROM agent_blocks ab JOIN agents a ON a.id = ab.agent_id WHERE ab.block_id = b.id " +
		"AND a.deleted_at IS NULL)"
	if f.SharersOver.Set() {
		w.And(sharers+" > ?", f.SharersOver.Value)
	}
	if f.SharersUnder.Set() {
		w.And(sharers+" < ?", f.SharersUnder.Value)
	}
	sqlite.In(w, sharers, f.Sharers)
	sqlite.Tagged(w, "b.id", "block_tags", "block_id", f.Tags, f.MatchAllTags)
	return w
}

func (s blocks) List(ctx context.Context, f core.BlockFilter, p core.Page) ([]core.Block, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "blocks", Cursor: "id", Major: "created_at", Minor: "id", Alias: "b.", Noun: "block"}
	w := s.filter(f)
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list blocks", (*blockRow).block, selectBlocks+w.String()+tail, w.Args...)
}

func (s blocks) Count(ctx context.Context, f core.BlockFilter) (int, error) {
	ctx, q := s.v.read(ctx)
	w := s.filter(f)
	var n int
	err := q.Get(ctx, &n, `SELECT COUNT(*) FROM blocks b`+w.String(), w.Args...)
	return n, sqlite.Classify("count blocks", err)
}

func (s blocks) Attach(ctx context.Context, agent core.AgentID, block core.BlockID) error {
	return s.v.write(ctx, "attach block", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(agent)); err != nil {
			return err
		}
		row, err := getBlock(ctx, q, block)
		if err != nil {
			return err
		}
		n, err := q.Exec(ctx, `INSERT INTO agent_blocks (agent_id, block_id, label, position)
			SELECT $1, $2, $3, COALESCE(MAX(position), 0) + 1 FROM agent_blocks WHERE agent_id = $1
			ON CONFLICT (agent_id, block_id) DO NOTHING`, agent, block, row.Label)
		if sqlite.IsConflict(sqlite.Classify("", err)) {
			return core.E(core.Conflict, "the agent already has a block labelled %q", row.Label)
		}
		if err != nil || n == 0 {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s blocks) Detach(ctx context.Context, agent core.AgentID, block core.BlockID) error {
	return s.v.write(ctx, "detach block", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM agent_blocks WHERE agent_id = $1 AND block_id = $2`, agent, block)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.E(core.NotFound, "block %s is not attached to agent %s", string(block), string(agent))
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s blocks) OfAgent(ctx context.Context, agent core.AgentID) ([]core.Block, error) {
	ctx, q := s.v.read(ctx)
	return list(ctx, s.v, q, "list blocks of agent", (*blockRow).block, selectBlocks+` JOIN agent_blocks ab ON ab.block_id = b.id
		WHERE ab.agent_id = $1 AND b.deleted_at IS NULL ORDER BY ab.position`, agent)
}

func (s blocks) ByLabel(ctx context.Context, agent core.AgentID, label string) (core.Block, error) {
	ctx, q := s.v.read(ctx)
	var row blockRow
	ok, err := q.Find(ctx, &row, selectBlocks+` JOIN agent_blocks ab ON ab.block_id = b.id
		WHERE ab.agent_id = $1 AND ab.label = $2 AND b.deleted_at IS NULL`, agent, label)
	if err != nil {
		return core.Block{}, sqlite.NameDamage(err, "block", string(row.ID))
	}
	if !ok {
		return core.Block{}, core.E(core.NotFound, "agent %s has no block labelled %q", string(agent), label)
	}
	b, err := row.block()
	return b, sqlite.NameDamage(err, "block", string(b.ID))
}

func (s blocks) AgentsOf(ctx context.Context, block core.BlockID) ([]core.AgentID, error) {
	ctx, q := s.v.read(ctx)
	ids := []core.AgentID{}
	err := q.All(ctx, &ids, `SELECT a.id FROM agent_blocks ab JOIN agents a ON a.id = ab.agent_id
		WHERE ab.block_id = $1 AND a.deleted_at IS NULL ORDER BY a.created_at, a.id`, block)
	return ids, sqlite.Classify("list agents of block", err)
}

type versionRow struct {
	Block       core.BlockID    `db:"block_id"`
	Version     int             `db:"version"`
	Value       string          `db:"value"`
	Label       string          `db:"label"`
	Description string          `db:"description"`
	Limit       int             `db:"limit_chars"`
	AuthorKind  core.AuthorKind `db:"author_kind"`
	AuthorID    string          `db:"author_id"`
	Step        core.StepID     `db:"step_id"`
	Restores    int             `db:"restores"`
	Rewind      core.RewindID   `db:"rewind_id"`
	Source      string          `db:"source"`
	At          sqlite.Micros   `db:"at"`
}

func (r *versionRow) version() (core.BlockVersion, error) {
	return core.BlockVersion{
		Block: r.Block, Version: r.Version, Value: r.Value, Label: r.Label, Description: r.Description, Limit: r.Limit,
		Author: core.Author{
			Kind: r.AuthorKind, ID: r.AuthorID, Step: r.Step, Restores: r.Restores, Rewind: r.Rewind, Source: r.Source,
		},
		At: r.At.Time(),
	}, nil
}

const selectVersions = `SELECT block_id, version, value, label, description, limit_chars, author_kind, author_id, step_id, restores,
	rewind_id, source, at FROM block_versions`

func (s blocks) Version(ctx context.Context, id core.BlockID, version int) (core.BlockVersion, error) {
	ctx, q := s.v.read(ctx)
	v, err := getVersion(ctx, q, id, version)
	return v, sqlite.Classify("get block version", err)
}

func getVersion(ctx context.Context, q *sqlite.Querier, id core.BlockID, version int) (core.BlockVersion, error) {
	var row versionRow
	ok, err := q.Find(ctx, &row, selectVersions+` WHERE block_id = $1 AND version = $2`, id, version)
	if err != nil {
		return core.BlockVersion{}, sqlite.NameDamage(err, "version "+strconv.Itoa(version)+" of block", string(id))
	}
	if !ok {
		return core.BlockVersion{}, core.E(core.NotFound, "block %s has no version %d", string(id), version)
	}
	return row.version()
}

func (s blocks) Versions(ctx context.Context, id core.BlockID, p core.Page) ([]core.BlockVersion, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	w.And("block_id = ?", id)
	tail, err := sqlite.PagedVersions(ctx, q, w, "block_versions", "block_id", string(id), p)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list block versions", (*versionRow).version, selectVersions+w.String()+tail, w.Args...)
}
