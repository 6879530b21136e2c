package storage

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/sqlite"
)

type archives struct{ v *scope }

type archiveRow struct {
	ID        core.ArchiveID `db:"id"`
	Name      string         `db:"name"`
	Folder    core.FolderID  `db:"folder_id"`
	Passages  int            `db:"passages"`
	CreatedAt sqlite.Micros  `db:"created_at"`
	UpdatedAt sqlite.Micros  `db:"updated_at"`
	Data      string         `db:"data"`
}

type archiveData struct {
	Description string         `json:"description,omitempty"`
	Embedding   core.Handle    `json:"embedding,omitempty"`
	Wanted      core.Handle    `json:"wanted,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

func newArchiveRow(a *core.Archive) (archiveRow, error) {
	data, err := sqlite.Encode(archiveData{Description: a.Description, Embedding: a.Embedding, Wanted: a.Wanted, Metadata: a.Metadata})
	return archiveRow{
		ID:        a.ID,
		Name:      a.Name,
		Folder:    a.Folder,
		CreatedAt: sqlite.ToMicros(a.CreatedAt),
		UpdatedAt: sqlite.ToMicros(a.UpdatedAt),
		Data:      data,
	}, err
}

// archive is the archive; of a damaged one, what stands outside of its data.
func (r *archiveRow) archive() (core.Archive, error) {
	var d archiveData
	err := sqlite.Decode(r.Data, &d)
	return core.Archive{
		ID:          r.ID,
		Name:        r.Name,
		Description: d.Description,
		Embedding:   d.Embedding,
		Wanted:      d.Wanted,
		Metadata:    d.Metadata,
		Folder:      r.Folder,
		Passages:    r.Passages,
		CreatedAt:   r.CreatedAt.Time(),
		UpdatedAt:   r.UpdatedAt.Time(),
	}, err
}

// embeddingOfArchive is the model of an archive a, empty for the built-in one; so is that of a damaged archive.
const embeddingOfArchive = `COALESCE(iif(json_valid(a.data), json_extract(a.data, '$.embedding'), ''), '')`

const selectArchives = `SELECT a.id, a.name, a.folder_id, a.passages, a.created_at, a.updated_at, a.data FROM archives a`

func (s archives) Create(ctx context.Context, a *core.Archive) error {
	row, err := newArchiveRow(a)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create archive", func(ctx context.Context, q *sqlite.Querier) error {
		return insertArchive(ctx, q, row)
	})
}

func insertArchive(ctx context.Context, q *sqlite.Querier, row archiveRow) error {
	_, err := q.Named(ctx, `INSERT INTO archives (id, name, folder_id, created_at, updated_at, data)
		VALUES (:id, :name, :folder_id, :created_at, :updated_at, :data)`, row)
	return err
}

func (s archives) Get(ctx context.Context, id core.ArchiveID) (core.Archive, error) {
	ctx, q := s.v.read(ctx)
	return sqlite.One(ctx, q, "archive", string(id), (*archiveRow).archive, selectArchives+` WHERE a.id = $1 AND a.deleted_at IS NULL`, id)
}

// Update leaves the counter of passages and the folder alone.
func (s archives) Update(ctx context.Context, a *core.Archive) error {
	row, err := newArchiveRow(a)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update archive", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Named(
			ctx,
			`UPDATE archives SET name = :name, updated_at = :updated_at, data = :data WHERE id = :id AND deleted_at IS NULL`,
			row,
		)
		if err == nil && n == 0 {
			return sqlite.NotFound("archive", string(a.ID))
		}
		return err
	})
}

// Delete marks the archive and detaches it; its passages are invisible through it.
func (s archives) Delete(ctx context.Context, id core.ArchiveID) error {
	return s.v.write(ctx, "delete archive", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(
			ctx,
			`UPDATE archives SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL AND folder_id = ''`,
			s.v.s.now(),
			id,
		)
		if err != nil {
			return err
		}
		if n == 0 {
			return sqlite.NotFound("archive", string(id))
		}
		for _, text := range []string{
			`UPDATE agents SET rev = rev + 1 WHERE id IN (SELECT agent_id FROM agent_archives WHERE archive_id = $1)`,
			`DELETE FROM agent_archives WHERE archive_id = $1`,
		} {
			if _, err := q.Exec(ctx, text, id); err != nil {
				return err
			}
		}
		return changed(ctx, q, kindArchive, string(id), opDelete)
	})
}

func (s archives) List(ctx context.Context, name string, agent core.AgentID, p core.Page) ([]core.Archive, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "archives", Cursor: "id", Major: "created_at", Minor: "id", Alias: "a.", Noun: "archive"}
	w := &sqlite.Where{}
	w.And("a.deleted_at IS NULL")
	w.And("a.folder_id = ''")
	if name != "" {
		w.And("a.name = ?", name)
	}
	if agent != "" {
		w.And("EXISTS (SELECT 1 FROM agent_archives aa WHERE aa.archive_id = a.id AND aa.agent_id = ?)", agent)
	}
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list archives", (*archiveRow).archive, selectArchives+w.String()+tail, w.Args...)
}

func (s archives) OfAgent(ctx context.Context, agent core.AgentID) (core.Archive, bool, error) {
	ctx, q := s.v.read(ctx)
	var row archiveRow
	ok, err := q.Find(
		ctx,
		&row,
		selectArchives+` JOIN agent_archives aa ON aa.archive_id = a.id WHERE aa.agent_id = $1 AND a.deleted_at IS NULL`,
		agent,
	)
	if err != nil || !ok {
		return core.Archive{}, false, sqlite.Classify("find archive of agent", err)
	}
	a, _ := row.archive() // an agent goes on with one whose description and embedding cannot be read
	return a, true, nil
}

func (s archives) Attach(ctx context.Context, agent core.AgentID, archive core.ArchiveID) error {
	return s.v.write(ctx, "attach archive", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(agent)); err != nil {
			return err
		}
		if err := living(ctx, q, "archives", "archive", string(archive), "folder_id = ''"); err != nil {
			return err
		}
		var has core.ArchiveID
		switch ok, err := q.Find(ctx, &has, `SELECT archive_id FROM agent_archives WHERE agent_id = $1`, agent); {
		case err != nil:
			return err
		case ok && has == archive:
			return nil
		case ok:
			return core.E(core.Conflict, "agent %s already has an archive, %s", string(agent), string(has)).
				WithHint("detach that one first")
		}
		if _, err := q.Exec(ctx, `INSERT INTO agent_archives (agent_id, archive_id) VALUES ($1, $2)`, agent, archive); err != nil {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s archives) Detach(ctx context.Context, agent core.AgentID, archive core.ArchiveID) error {
	return s.v.write(ctx, "detach archive", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM agent_archives WHERE agent_id = $1 AND archive_id = $2`, agent, archive)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.E(core.NotFound, "archive %s is not attached to agent %s", string(archive), string(agent))
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s archives) AgentsOf(ctx context.Context, archive core.ArchiveID) ([]core.AgentID, error) {
	ctx, q := s.v.read(ctx)
	ids := []core.AgentID{}
	err := q.All(ctx, &ids, `SELECT g.id FROM agent_archives aa JOIN agents g ON g.id = aa.agent_id
		WHERE aa.archive_id = $1 AND g.deleted_at IS NULL ORDER BY g.created_at, g.id`, archive)
	return ids, sqlite.Classify("list agents of archive", err)
}

// EmbeddingModels lists the models, other than the built-in one, that a copy of the facts would have texts sent to: those
// of its archives, those that archives of its agents would get, and those that made vectors. Every archive is stored anew
// as it was read, so that nothing that reads it otherwise finds another model in it.
func EmbeddingModels(ctx context.Context, tx *sqlx.Tx) ([]core.Handle, error) {
	var models []core.Handle
	if err := tx.SelectContext(ctx, &models, `SELECT DISTINCT model FROM vector_sets`); err != nil {
		return nil, sqlite.Classify("list embeddings", err)
	}
	var rows []archiveRow
	if err := tx.SelectContext(ctx, &rows, selectArchives); err != nil {
		return nil, sqlite.Classify("list embeddings", err)
	}
	for i := range rows {
		a, err := rows[i].archive()
		if err != nil {
			return nil, err
		}
		models = append(models, a.Embedding)
		row, err := newArchiveRow(&a)
		if err != nil {
			return nil, err
		}
		if row.Data == rows[i].Data {
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE archives SET data = $1 WHERE id = $2`, row.Data, row.ID); err != nil {
			return nil, sqlite.Classify("list embeddings", err)
		}
	}
	ofAgents, err := agentEmbeddings(ctx, tx)
	if err != nil {
		return nil, err
	}
	models = append(models, ofAgents...)
	slices.Sort(models)
	models = slices.DeleteFunc(models, func(h core.Handle) bool { return h == "" || h == core.WordsHandle })
	return slices.Compact(models), nil
}

func agentEmbeddings(ctx context.Context, tx *sqlx.Tx) ([]core.Handle, error) {
	var rows []agentRow
	if err := tx.SelectContext(ctx, &rows, selectAgents); err != nil {
		return nil, sqlite.Classify("list embeddings of agents", err)
	}
	models := make([]core.Handle, len(rows))
	for i := range rows {
		a, err := rows[i].agent()
		if err != nil {
			return nil, err
		}
		models[i] = a.Embedding
	}
	return models, nil
}
