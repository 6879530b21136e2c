package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

type files struct{ v *scope }

var _ core.FileStore = files{}

type fileRow struct {
	Seq       int64           `db:"seq"`
	ID        core.FileID     `db:"id"`
	Folder    core.FolderID   `db:"folder_id"`
	Name      string          `db:"name"`
	Hash      string          `db:"hash"`
	Status    core.FileStatus `db:"status"`
	Size      int64           `db:"size"`
	Chunks    int             `db:"chunks"`
	Embedded  int             `db:"embedded"`
	CreatedAt sqlite.Micros   `db:"created_at"`
	UpdatedAt sqlite.Micros   `db:"updated_at"`
	Data      string          `db:"data"`
}

type fileData struct {
	Original   string         `json:"original,omitempty"`
	Kind       core.FileKind  `json:"kind,omitempty"`
	MIME       string         `json:"mime,omitempty"`
	Error      string         `json:"error,omitempty"`
	Title      string         `json:"title,omitempty"`
	Lines      int            `json:"lines,omitempty"`
	Chars      int            `json:"chars,omitempty"`
	Pages      int            `json:"pages,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	ModifiedAt sqlite.Micros  `json:"modified_at,omitempty"`
}

func newFileRow(f *core.File) (fileRow, error) {
	data, err := sqlite.Encode(fileData{
		Original: f.Original, Kind: f.Kind, MIME: f.MIME, Error: f.Error, Title: f.Title, Lines: f.Lines, Chars: f.Chars, Pages: f.Pages,
		Metadata: f.Metadata, ModifiedAt: sqlite.ToMicros(f.ModifiedAt),
	})
	return fileRow{
		ID: f.ID, Folder: f.Folder, Name: f.Name, Hash: f.Hash, Status: f.Status, Size: f.Size, Chunks: f.Chunks, Embedded: f.Embedded,
		CreatedAt: sqlite.ToMicros(f.CreatedAt), UpdatedAt: sqlite.ToMicros(f.UpdatedAt), Data: data,
	}, err
}

func (r *fileRow) file() (core.File, error) {
	var d fileData
	err := sqlite.Decode(r.Data, &d)
	return core.File{
		ID:         r.ID,
		Folder:     r.Folder,
		Name:       r.Name,
		Original:   d.Original,
		Kind:       d.Kind,
		MIME:       d.MIME,
		Size:       r.Size,
		Hash:       r.Hash,
		Status:     r.Status,
		Error:      d.Error,
		Title:      d.Title,
		Lines:      d.Lines,
		Chars:      d.Chars,
		Pages:      d.Pages,
		Chunks:     r.Chunks,
		Embedded:   r.Embedded,
		Metadata:   d.Metadata,
		Seq:        r.Seq,
		ModifiedAt: d.ModifiedAt.Time(),
		CreatedAt:  r.CreatedAt.Time(),
		UpdatedAt:  r.UpdatedAt.Time(),
	}, err
}

const fileColumns = `f.seq, f.id, f.folder_id, f.name, f.hash, f.status, f.size, f.chunks, f.embedded, f.created_at, f.updated_at, f.data`

func (s files) Create(ctx context.Context, f *core.File, data []byte) error {
	row, err := newFileRow(f)
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "create file", func(ctx context.Context, q *sqlite.Querier) error {
		if err := countFiles(ctx, q, f.Folder, 1, f.Size); err != nil {
			return err
		}
		err := q.NamedGet(
			ctx,
			&f.Seq,
			`INSERT INTO files (id, folder_id, name, hash, status, size, chunks, embedded, created_at, updated_at, data)
			VALUES (:id, :folder_id, :name, :hash, :status, :size, :chunks, :embedded, :created_at, :updated_at, :data) RETURNING seq`,
			row,
		)
		if err != nil {
			return takenFile(err, f.Name)
		}
		if data == nil {
			return nil
		}
		_, err = q.Exec(ctx, `INSERT INTO file_bytes (file_id, data) VALUES ($1, $2)`, f.ID, data)
		return err
	})
}

// takenFile says which name is taken.
func takenFile(err error, name string) error {
	if sqlite.IsConflict(sqlite.Classify("", err)) {
		return core.E(core.Conflict, "the folder has a file named %q already", name)
	}
	return err
}

// countFiles keeps the counters of a folder.
func countFiles(ctx context.Context, q *sqlite.Querier, folder core.FolderID, files int, bytes int64) error {
	n, err := q.Exec(
		ctx,
		`UPDATE folders SET files = files + $1, bytes = bytes + $2 WHERE id = $3 AND deleted_at IS NULL`,
		files,
		bytes,
		folder,
	)
	if err == nil && n == 0 {
		return sqlite.NotFound("folder", string(folder))
	}
	return err
}

func (s files) Get(ctx context.Context, id core.FileID) (core.File, error) {
	ctx, q := s.v.read(ctx)
	f, err := getFile(ctx, q, id)
	return f, sqlite.Classify("get file", err)
}

func getFile(ctx context.Context, q *sqlite.Querier, id core.FileID) (core.File, error) {
	return sqlite.One(ctx, q, "file", string(id), (*fileRow).file,
		`SELECT `+fileColumns+` FROM files f WHERE f.id = $1 AND f.deleted_at IS NULL`, id)
}

func (s files) Data(ctx context.Context, id core.FileID) ([]byte, error) {
	ctx, q := s.v.read(ctx)
	var data []byte
	ok, err := q.Find(
		ctx,
		&data,
		`SELECT b.data FROM file_bytes b JOIN files f ON f.id = b.file_id WHERE f.id = $1 AND f.deleted_at IS NULL`,
		id,
	)
	if err == nil && !ok {
		return nil, core.E(core.NotFound, "the bytes of file %s are not kept", string(id))
	}
	return data, sqlite.Classify("read the bytes of a file", err)
}

func (s files) Update(ctx context.Context, f *core.File) error {
	row, err := newFileRow(f)
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "update file", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getFile(ctx, q, f.ID)
		if err != nil {
			return err
		}
		return updateFile(ctx, q, &old, &row)
	})
}

// updateFile writes a row in place of another and drops the bytes of what is read, or cannot be.
func updateFile(ctx context.Context, q *sqlite.Querier, old *core.File, row *fileRow) error {
	_, err := q.Named(
		ctx,
		`UPDATE files SET name = :name, hash = :hash, status = :status, size = :size, chunks = :chunks, embedded = :embedded,
		created_at = :created_at, updated_at = :updated_at, data = :data WHERE id = :id`,
		row,
	)
	if err != nil {
		return takenFile(err, row.Name)
	}
	if old.Size != row.Size {
		if err := countFiles(ctx, q, old.Folder, 0, row.Size-old.Size); err != nil {
			return err
		}
	}
	if row.Status == core.FileFailed {
		_, err = q.Exec(ctx, `DELETE FROM file_bytes WHERE file_id = $1`, row.ID)
	}
	return err
}

// Delete marks the file and its passages. The sweeper removes bytes and text.
func (s files) Delete(ctx context.Context, id core.FileID) error {
	return s.v.atomic(ctx, "delete file", func(ctx context.Context, q *sqlite.Querier) error {
		f, err := getFile(ctx, q, id)
		if core.IgnoreDamage(err) != nil {
			return err
		}
		folder, err := getFolder(ctx, q, f.Folder)
		if core.IgnoreDamage(err) != nil {
			return err
		}
		if err := s.dropChunks(ctx, q, folder.Archive, id); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM open_files WHERE file_id = $1`, id); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `UPDATE files SET deleted_at = $1 WHERE id = $2`, s.v.s.now(), id); err != nil {
			return err
		}
		return countFiles(ctx, q, f.Folder, -1, -f.Size)
	})
}

func (s files) filter(f core.FileFilter) *sqlite.Where {
	w := &sqlite.Where{}
	w.And("f.deleted_at IS NULL")
	sqlite.In(w, "f.folder_id", f.Folders)
	sqlite.In(w, "f.status", f.Status)
	sqlite.In(w, "f.name", f.Names)
	if f.Hash != "" {
		w.And("f.hash = ?", f.Hash)
	}
	return w
}

func (s files) List(ctx context.Context, f core.FileFilter, p core.Page) ([]core.File, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "files", Cursor: "id", Minor: "seq", Alias: "f.", Noun: "file"}
	switch p.OrderBy {
	case "", "created_at":
		o.Major = "seq"
	case "name":
		o.Major = "name"
	default:
		return nil, core.E(core.Invalid, "files cannot be ordered by %q", p.OrderBy).WithHint("use created_at or name")
	}
	w := s.filter(f)
	tail, err := o.Paged(ctx, q, w, p, 100)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list files", (*fileRow).file, `SELECT `+fileColumns+` FROM files f`+w.String()+tail, w.Args...)
}

func (s files) Count(ctx context.Context, f core.FileFilter) (int, error) {
	ctx, q := s.v.read(ctx)
	w := s.filter(f)
	var n int
	err := q.Get(ctx, &n, `SELECT COUNT(*) FROM files f`+w.String(), w.Args...)
	return n, sqlite.Classify("count files", err)
}

// settleBatch is how many files one look of Settle takes.
const settleBatch = 500

// Settle reads first: who is asked often mostly finds nothing to write.
func (s files) Settle(ctx context.Context) (left int, err error) {
	var after int64
	for {
		reading, q := s.v.read(ctx)
		var rows []fileProgress
		err := q.All(reading, &rows, selectSettled, core.FileEmbedding, after, settleBatch, core.VectorPassage)
		if err != nil {
			return left, sqlite.Classify("look for files that are embedded", err)
		}
		var moved []fileProgress
		for _, r := range rows {
			after = r.Seq
			if r.Waiting > 0 {
				left++
			}
			if r.Waiting == 0 || r.Chunks-r.Waiting != r.Embedded {
				moved = append(moved, r)
			}
		}
		if err := s.settle(ctx, moved); err != nil {
			return left, err
		}
		if len(rows) < settleBatch {
			return left, nil
		}
	}
}

// fileProgress is a file on its way to its vectors.
type fileProgress struct {
	Seq      int64 `db:"seq"`
	Chunks   int   `db:"chunks"`
	Embedded int   `db:"embedded"`
	Waiting  int   `db:"waiting"`
}

const waitingChunks = `(SELECT COUNT(*) FROM passages p JOIN vector_queue v ON v.kind = $4 AND v.owner = p.seq WHERE p.file_id = f.id ` +
	`AND p.file_id <> '' AND p.deleted_at IS NULL)`

const selectSettled = `SELECT f.seq, f.chunks, f.embedded, ` + waitingChunks + ` AS waiting FROM files f
	WHERE f.status = $1 AND f.status IN ('pending', 'parsing', 'embedding') AND f.deleted_at IS NULL AND f.seq > $2 ORDER BY f.seq LIMIT $3`

// settle writes how far files are, as it is at the writing.
func (s files) settle(ctx context.Context, moved []fileProgress) error {
	if len(moved) == 0 {
		return nil
	}
	return s.v.atomic(ctx, "complete files", func(ctx context.Context, q *sqlite.Querier) error {
		now := s.v.s.now()
		for _, r := range moved {
			_, err := q.Exec(ctx, `UPDATE files AS f SET embedded = f.chunks - `+waitingChunks+`,
				status = CASE WHEN `+waitingChunks+` = 0 THEN $3 ELSE f.status END, updated_at = CASE WHEN `+waitingChunks+
				` = 0 THEN $5 ELSE f.updated_at END
				WHERE f.seq = $1 AND f.status = $2 AND f.deleted_at IS NULL`, r.Seq, core.FileEmbedding, core.FileCompleted,
				core.VectorPassage, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
