package storage

import (
	"context"

	"loci/core"
)

type folders struct{ v *view }

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
	CreatedAt micros         `db:"created_at"`
	UpdatedAt micros         `db:"updated_at"`
	Data      string         `db:"data"`
}

type folderData struct {
	Description  string         `json:"description,omitempty"`
	Instructions string         `json:"instructions,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	Mirror       *core.Mirror   `json:"mirror,omitempty"`
}

func newFolderRow(f *core.Folder) (folderRow, error) {
	data, err := encode(folderData{Description: f.Description, Instructions: f.Instructions, Metadata: f.Metadata, Mirror: f.Mirror})
	return folderRow{
		ID: f.ID, Name: f.Name, Archive: f.Archive, Embedding: f.Embedding, Mirrored: f.Mirror != nil,
		CreatedAt: toMicros(f.CreatedAt), UpdatedAt: toMicros(f.UpdatedAt), Data: data,
	}, err
}

func (r *folderRow) folder() (core.Folder, error) {
	var d folderData
	if err := decode(r.Data, &d); err != nil {
		return core.Folder{}, err
	}
	return core.Folder{
		ID: r.ID, Name: r.Name, Description: d.Description, Instructions: d.Instructions, Metadata: d.Metadata, Embedding: r.Embedding,
		Archive: r.Archive, Mirror: d.Mirror, Files: r.Files, Bytes: r.Bytes, CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
	}, nil
}

const folderColumns = `d.id, d.name, d.archive_id, COALESCE(json_extract(a.data, '$.embedding'), '') AS embedding, d.mirrored, d.files, d.bytes,
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
	return s.v.atomic(ctx, "create folder", func(ctx context.Context, q *querier) error {
		if err := insertArchive(ctx, q, archive); err != nil {
			return err
		}
		_, err := q.named(ctx, `INSERT INTO folders (id, name, archive_id, mirrored, created_at, updated_at, data)
			VALUES (:id, :name, :archive_id, :mirrored, :created_at, :updated_at, :data)`, row)
		return takenFolder(err, f.Name)
	})
}

// takenFolder says which name is taken.
func takenFolder(err error, name string) error {
	if isConflict(classify("", err)) {
		return core.E(core.Conflict, "there is a folder named %q already", name).WithHint("choose another name")
	}
	return err
}

func (s folders) Get(ctx context.Context, id core.FolderID) (core.Folder, error) {
	ctx, q := s.v.read(ctx)
	f, err := getFolder(ctx, q, id)
	return f, classify("get folder", err)
}

func getFolder(ctx context.Context, q *querier, id core.FolderID) (core.Folder, error) {
	var row folderRow
	ok, err := q.find(ctx, &row, selectFolders+` WHERE d.id = $1 AND d.deleted_at IS NULL`, id)
	if err != nil {
		return core.Folder{}, err
	}
	if !ok {
		return core.Folder{}, notFound("folder", string(id))
	}
	return row.folder()
}

// Update leaves counters and archive alone. Another embedding is the archive's matter, which embeds its chunks anew.
func (s folders) Update(ctx context.Context, f *core.Folder) error {
	row, err := newFolderRow(f)
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "update folder", func(ctx context.Context, q *querier) error {
		old, err := getFolder(ctx, q, f.ID)
		if err != nil {
			return err
		}
		_, err = q.named(ctx, `UPDATE folders SET name = :name, mirrored = :mirrored, updated_at = :updated_at, data = :data WHERE id = :id`, row)
		if err != nil || old.Name == f.Name && old.Embedding == f.Embedding {
			return takenFolder(err, f.Name)
		}
		archive, err := newArchiveRow(&core.Archive{ID: old.Archive, Name: f.Name, Embedding: f.Embedding, UpdatedAt: f.UpdatedAt})
		if err != nil {
			return err
		}
		_, err = q.named(ctx, `UPDATE archives SET name = :name, updated_at = :updated_at, data = :data WHERE id = :id`, archive)
		return err
	})
}

// Delete marks the folder, its files and its archive; chunks are invisible through that.
func (s folders) Delete(ctx context.Context, id core.FolderID) error {
	return s.v.atomic(ctx, "delete folder", func(ctx context.Context, q *querier) error {
		f, err := getFolder(ctx, q, id)
		if err != nil {
			return err
		}
		for _, text := range []string{
			`UPDATE agents SET rev = rev + 1 WHERE id IN (SELECT agent_id FROM folder_agents WHERE folder_id = $1)`,
			`DELETE FROM folder_agents WHERE folder_id = $1`,
			`DELETE FROM open_files WHERE file_id IN (SELECT id FROM files WHERE folder_id = $1)`,
		} {
			if _, err := q.exec(ctx, text, id); err != nil {
				return err
			}
		}
		now := s.v.s.now()
		for _, text := range []string{
			`UPDATE files SET deleted_at = $1 WHERE folder_id = $2 AND deleted_at IS NULL`,
			`UPDATE folders SET deleted_at = $1 WHERE id = $2`,
			`UPDATE archives SET deleted_at = $1 WHERE folder_id = $2`,
		} {
			if _, err := q.exec(ctx, text, now, id); err != nil {
				return err
			}
		}
		return changed(ctx, q, kindArchive, string(f.Archive), opDelete)
	})
}

func (s folders) filter(f core.FolderFilter) *where {
	w := &where{}
	w.and("d.deleted_at IS NULL")
	if f.Name != "" {
		w.and("d.name = ?", f.Name)
	}
	if f.Agent != "" {
		w.and("EXISTS (SELECT 1 FROM folder_agents fa WHERE fa.folder_id = d.id AND fa.agent_id = ?)", f.Agent)
	}
	if f.Mirrored {
		w.and("d.mirrored")
	}
	return w
}

func (s folders) List(ctx context.Context, f core.FolderFilter, p core.Page) ([]core.Folder, error) {
	ctx, q := s.v.read(ctx)
	o := order{table: "folders", cursor: "id", major: "created_at", minor: "id", alias: "d.", noun: "folder"}
	w := s.filter(f)
	tail, err := o.paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	var rows []folderRow
	if err := q.all(ctx, &rows, selectFolders+w.String()+tail, w.args...); err != nil {
		return nil, classify("list folders", err)
	}
	return convert(rows, (*folderRow).folder)
}

func (s folders) Count(ctx context.Context, f core.FolderFilter) (int, error) {
	ctx, q := s.v.read(ctx)
	w := s.filter(f)
	var n int
	err := q.get(ctx, &n, `SELECT COUNT(*) FROM folders d`+w.String(), w.args...)
	return n, classify("count folders", err)
}

func (s folders) Attach(ctx context.Context, agent core.AgentID, folder core.FolderID) error {
	return s.v.write(ctx, "attach folder", func(ctx context.Context, q *querier) error {
		if err := living(ctx, q, "agents", "agent", string(agent)); err != nil {
			return err
		}
		if err := living(ctx, q, "folders", "folder", string(folder)); err != nil {
			return err
		}
		n, err := q.exec(ctx, `INSERT INTO folder_agents (agent_id, folder_id, position)
			SELECT $1, $2, COALESCE(MAX(position), 0) + 1 FROM folder_agents WHERE agent_id = $1
			ON CONFLICT (agent_id, folder_id) DO NOTHING`, agent, folder)
		if err != nil || n == 0 {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s folders) Detach(ctx context.Context, agent core.AgentID, folder core.FolderID) error {
	return s.v.write(ctx, "detach folder", func(ctx context.Context, q *querier) error {
		n, err := q.exec(ctx, `DELETE FROM folder_agents WHERE agent_id = $1 AND folder_id = $2`, agent, folder)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.E(core.NotFound, "folder %s is not attached to agent %s", string(folder), string(agent))
		}
		_, err = q.exec(ctx, `DELETE FROM open_files WHERE agent_id = $1 AND file_id IN (SELECT id FROM files WHERE folder_id = $2)`, agent, folder)
		if err != nil {
			return err
		}
		return raiseRev(ctx, q, agent)
	})
}

func (s folders) OfAgent(ctx context.Context, agent core.AgentID) ([]core.Folder, error) {
	ctx, q := s.v.read(ctx)
	var rows []folderRow
	err := q.all(ctx, &rows, selectFolders+` JOIN folder_agents fa ON fa.folder_id = d.id
		WHERE fa.agent_id = $1 AND d.deleted_at IS NULL ORDER BY fa.position`, agent)
	if err != nil {
		return nil, classify("list folders of agent", err)
	}
	return convert(rows, (*folderRow).folder)
}

func (s folders) AgentsOf(ctx context.Context, folder core.FolderID) ([]core.AgentID, error) {
	ctx, q := s.v.read(ctx)
	ids := []core.AgentID{}
	err := q.all(ctx, &ids, `SELECT g.id FROM folder_agents fa JOIN agents g ON g.id = fa.agent_id
		WHERE fa.folder_id = $1 AND g.deleted_at IS NULL ORDER BY g.created_at, g.id`, folder)
	return ids, classify("list agents of folder", err)
}
