package storage

import (
	"context"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/sqlite"
)

type folders struct{ v *scope }

var _ core.FolderStore = folders{}

// folderRow is a folder with what its archive says: which model embeds its chunks stands there.
type folderRow struct {
	ID        core.FolderID  `db:"id"`
	Name      string         `db:"name"`
	Archive   core.ArchiveID `db:"archive_id"`
	Embedding core.Handle    `db:"embedding"`
	Mirrored  bool           `db:"mirrored"`
	Files     int            `db:"files"`
	Bytes     int64          `db:"bytes"`
	CreatedAt sqlite.Micros  `db:"created_at"`
	UpdatedAt sqlite.Micros  `db:"updated_at"`
	Data      string         `db:"data"`
}

// FolderData is what a row of a folder holds as JSON.
type FolderData struct {
	Description  string         `json:"description,omitempty"`
	Instructions string         `json:"instructions,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	Mirror       *core.Mirror   `json:"mirror,omitempty"`
}

func newFolderRow(f *core.Folder) (folderRow, error) {
	data, err := sqlite.Encode(FolderData{Description: f.Description, Instructions: f.Instructions, Metadata: f.Metadata, Mirror: f.Mirror})
	return folderRow{
		ID: f.ID, Name: f.Name, Archive: f.Archive, Embedding: f.Embedding, Mirrored: f.Mirror != nil,
		CreatedAt: sqlite.ToMicros(f.CreatedAt), UpdatedAt: sqlite.ToMicros(f.UpdatedAt), Data: data,
	}, err
}

func (r *folderRow) folder() (core.Folder, error) {
	var d FolderData
	err := sqlite.Decode(r.Data, &d)
	return core.Folder{
		ID: r.ID, Name: r.Name, Description: d.Description, Instructions: d.Instructions, Metadata: d.Metadata, Embedding: r.Embedding,
		Archive: r.Archive, Mirror: d.Mirror, Files: r.Files, Bytes: r.Bytes, CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, err
}

const folderColumns = `d.id, d.name, d.archive_id, ` + embeddingOfArchive + ` AS embedding, d.mirrored, d.files, d.bytes,
	d.created_at, d.updated_at, d.data`

const selectFolders = `SELECT ` + folderColumns + ` FROM folders d JOIN archives a ON a.id = d.archive_id`

func (s folders) Create(ctx context.Context, f *core.Folder) error {
	f.Archive = core.NewArchiveID()
	row, err := newFolderRow(f)
	if err != nil {
		return err
	}
	archive, err := newArchiveRow(&core.Archive{
		ID: f.Archive, Name: f.Name, Embedding: f.Embedding, Folder: f.ID, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	})
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "create folder", func(ctx context.Context, q *sqlite.Querier) error {
		if err := insertArchive(ctx, q, archive); err != nil {
			return err
		}
		_, err := q.Named(ctx, `INSERT INTO folders (id, name, archive_id, mirrored, created_at, updated_at, data)
			VALUES (:id, :name, :archive_id, :mirrored, :created_at, :updated_at, :data)`, row)
		return takenFolder(err, f.Name)
	})
}

// takenFolder says which name is taken.
func takenFolder(err error, name string) error {
	if sqlite.IsConflict(sqlite.Classify("", err)) {
		return core.E(core.Conflict, "there is a folder named %q already", name).WithHint("choose another name")
	}
	return err
}

func (s folders) Get(ctx context.Context, id core.FolderID) (core.Folder, error) {
	ctx, q := s.v.read(ctx)
	f, err := getFolder(ctx, q, id)
	return f, sqlite.Classify("get folder", err)
}

func getFolder(ctx context.Context, q *sqlite.Querier, id core.FolderID) (core.Folder, error) {
	return sqlite.One(ctx, q, "folder", string(id), (*folderRow).folder, selectFolders+` WHERE d.id = $1 AND d.deleted_at IS NULL`, id)
}

// Update leaves counters and archive alone. Another embedding is the archive's matter, which embeds its chunks anew.
func (s folders) Update(ctx context.Context, f *core.Folder) error {
	row, err := newFolderRow(f)
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "update folder", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getFolder(ctx, q, f.ID)
		if err != nil {
			return err
		}
		_, err = q.Named(
			ctx,
			`UPDATE folders SET name = :name, mirrored = :mirrored, updated_at = :updated_at, data = :data WHERE id = :id`,
			row,
		)
		if err != nil || old.Name == f.Name && old.Embedding == f.Embedding {
			return takenFolder(err, f.Name)
		}
		archive, err := newArchiveRow(&core.Archive{ID: old.Archive, Name: f.Name, Embedding: f.Embedding, UpdatedAt: f.UpdatedAt})
		if err != nil {
			return err
		}
		_, err = q.Named(ctx, `UPDATE archives SET name = :name, updated_at = :updated_at, data = :data WHERE id = :id`, archive)
		return err
	})
}

// Delete marks the folder, its files and its archive; chunks are invisible through that.
func (s folders) Delete(ctx context.Context, id core.FolderID) error {
	return s.v.atomic(ctx, "delete folder", func(ctx context.Context, q *sqlite.Querier) error {
		f, err := getFolder(ctx, q, id)
		if core.IgnoreDamage(err) != nil {
			return err
		}
		for _, text := range []string{
			`UPDATE agents SET rev = rev + 1 WHERE id IN (SELECT agent_id FROM folder_agents WHERE folder_id = $1)`,
			`DELETE FROM folder_agents WHERE folder_id = $1`,
			`DELETE FROM open_files WHERE file_id IN (SELECT id FROM files WHERE folder_id = $1)`,
		} {
			if _, err := q.Exec(ctx, text, id); err != nil {
				return err
			}
		}
		now := s.v.s.now()
		for _, text := range []string{
			`UPDATE files SET deleted_at = $1 WHERE folder_id = $2 AND deleted_at IS NULL`,
			`UPDATE folders SET deleted_at = $1 WHERE id = $2`,
			`UPDATE archives SET deleted_at = $1 WHERE folder_id = $2`,
		} {
			if _, err := q.Exec(ctx, text, now, id); err != nil {
				return err
			}
		}
		return changed(ctx, q, kindArchive, string(f.Archive), opDelete)
	})
}

func (s folders) filter(f core.FolderFilter) *sqlite.Where {
	w := &sqlite.Where{}
	w.And("d.deleted_at IS NULL")
	if f.Name != "" {
		w.And("d.name = ?", f.Name)
	}
	if f.Agent != "" {
		w.And("EXISTS (SELECT 1 FROM folder_agents fa WHERE fa.folder_id = d.id AND fa.agent_id = ?)", f.Agent)
	}
	if f.Mirrored {
		w.And("d.mirrored")
	}
	return w
}

func (s folders) List(ctx context.Context, f core.FolderFilter, p core.Page) ([]core.Folder, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "folders", Cursor: "id", Major: "created_at", Minor: "id", Alias: "d.", Noun: "folder"}
	w := s.filter(f)
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list folders", (*folderRow).folder, selectFolders+w.String()+tail, w.Args...)
}

func (s folders) Count(ctx context.Context, f core.FolderFilter) (int, error) {
	ctx, q := s.v.read(ctx)
	w := s.filter(f)
	var n int
	err := q.Get(ctx, &n, `SELECT COUNT(*) FROM folders d`+w.String(), w.Args...)
	return n, sqlite.Classify("count folders", err)
}

func (s folders) Attach(ctx context.Context, agent core.AgentID, folder core.FolderID) error {
	return s.v.write(ctx, "attach folder", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(agent)); err != nil {
			return err
		}
		if err := living(ctx, q, "folders", "folder", string(folder)); err != nil {
			return err
		}
		n, err := q.Exec(ctx, `INSERT INTO folder_agents (agent_id, folder_id, position)
			SELECT $1, $2, COALESCE(MAX(position), 0) + 1 FROM folder_agents WHERE agent_id = $1
			ON CONFLICT (agent_id, folder_id) DO NOTHING`, agent, folder)
		if err != nil || n == 0 {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s folders) Detach(ctx context.Context, agent core.AgentID, folder core.FolderID) error {
	return s.v.write(ctx, "detach folder", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM folder_agents WHERE agent_id = $1 AND folder_id = $2`, agent, folder)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.E(core.NotFound, "folder %s is not attached to agent %s", string(folder), string(agent))
		}
		_, err = q.Exec(
			ctx,
			`DELETE FROM open_files WHERE agent_id = $1 AND file_id IN (SELECT id FROM files WHERE folder_id = $2)`,
			agent,
			folder,
		)
		if err != nil {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s folders) OfAgent(ctx context.Context, agent core.AgentID) ([]core.Folder, error) {
	ctx, q := s.v.read(ctx)
	return list(ctx, s.v, q, "list folders of agent", (*folderRow).folder, selectFolders+` JOIN folder_agents fa ON fa.folder_id = d.id
		WHERE fa.agent_id = $1 AND d.deleted_at IS NULL ORDER BY fa.position`, agent)
}

func (s folders) AgentsOf(ctx context.Context, folder core.FolderID) ([]core.AgentID, error) {
	ctx, q := s.v.read(ctx)
	ids := []core.AgentID{}
	err := q.All(ctx, &ids, `SELECT g.id FROM folder_agents fa JOIN agents g ON g.id = fa.agent_id
		WHERE fa.folder_id = $1 AND g.deleted_at IS NULL ORDER BY g.created_at, g.id`, folder)
	return ids, sqlite.Classify("list agents of folder", err)
}

// TakeFolderMirrors lets no folder of a copy of the facts follow a directory, and returns those that did, as they were. It
// looks at every folder: the column that says which of them follow a directory is of the same origin.
func TakeFolderMirrors(ctx context.Context, tx *sqlx.Tx) ([]core.Folder, error) {
	var rows []folderRow
	if err := tx.SelectContext(ctx, &rows, selectFolders+` ORDER BY d.created_at, d.id`); err != nil {
		return nil, sqlite.Classify("hold folders", err)
	}
	var out []core.Folder
	for i := range rows {
		f, err := rows[i].folder()
		if err != nil {
			return nil, err
		}
		if f.Mirror == nil {
			continue
		}
		out = append(out, f)
		f.Mirror = nil
		row, err := newFolderRow(&f)
		if err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE folders SET data = $1 WHERE id = $2`, row.Data, row.ID); err != nil {
			return nil, sqlite.Classify("hold folders", err)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE folders SET mirrored = 0`)
	return out, sqlite.Classify("hold folders", err)
}
