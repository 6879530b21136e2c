package storage

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"loci/core"
	"loci/storage/deflate"
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
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.File{}, err
	}
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
	}, nil
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
	var row fileRow
	ok, err := q.Find(ctx, &row, `SELECT `+fileColumns+` FROM files f WHERE f.id = $1 AND f.deleted_at IS NULL`, id)
	if err != nil {
		return core.File{}, err
	}
	if !ok {
		return core.File{}, sqlite.NotFound("file", string(id))
	}
	return row.file()
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

func (s files) Fill(ctx context.Context, f *core.File, doc core.Document, chunks []core.Passage) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return core.E(core.Internal, "encode a document: %w", err)
	}
	body, err := deflate.Compress(string(text))
	if err != nil {
		return err
	}
	f.Chunks, f.Embedded = len(chunks), 0
	row, err := newFileRow(f)
	if err != nil {
		return err
	}
	return s.v.atomic(ctx, "store the text of a file", func(ctx context.Context, q *sqlite.Querier) error {
		old, err := getFile(ctx, q, f.ID)
		if err != nil {
			return err
		}
		if old.Hash != f.Hash {
			return core.E(core.Conflict, "file %s has changed while it was read", string(f.ID))
		}
		folder, err := getFolder(ctx, q, old.Folder)
		if err != nil {
			return err
		}
		if err := s.dropChunks(ctx, q, folder.Archive, f.ID); err != nil {
			return err
		}
		if err := updateFile(ctx, q, &old, &row); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM file_bytes WHERE file_id = $1`, f.ID); err != nil {
			return err
		}
		_, err = q.Exec(
			ctx,
			`INSERT INTO file_texts (file_id, body) VALUES ($1, $2) ON CONFLICT (file_id) DO UPDATE SET body = excluded.body`,
			f.ID,
			body,
		)
		if err != nil {
			return err
		}
		for i := range chunks {
			chunks[i].Archive, chunks[i].File, chunks[i].Place = folder.Archive, f.ID, i
		}
		return insertChunks(ctx, q, folder.Archive, f.ID, chunks)
	})
}

// insertChunks inserts all passages of a file. A large one has tens of thousands, and everybody else who writes waits:
// what a statement costs by itself, the journal of its triggers above all, is paid for many of them together.
func insertChunks(ctx context.Context, q *sqlite.Querier, archive core.ArchiveID, file core.FileID, all []core.Passage) error {
	for rest := all; len(rest) > 0; {
		n := 1 // two texts of statements, however many chunks there are
		if len(rest) >= chunksAtOnce {
			n = chunksAtOnce
		}
		if err := insertSome(ctx, q, all, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for i := range all {
		if len(all[i].Tags) == 0 {
			continue
		}
		if err := countTags(ctx, q, archive, nil, all[i].Tags); err != nil {
			return err
		}
		if err := sqlite.Retag(ctx, q, "passage_tags", "passage_id", string(all[i].ID), all[i].Tags, true); err != nil {
			return err
		}
	}
	if _, err := q.Exec(ctx, `UPDATE archives SET passages = passages + $1 WHERE id = $2`, len(all), archive); err != nil {
		return err
	}
	_, err := q.Exec(
		ctx,
		`INSERT INTO changes (kind, id, op) SELECT $1, id, $2 FROM passages WHERE file_id = $3 AND file_id <> '' AND deleted_at IS NULL ORDER BY place`,
		kindPassage,
		opWrite,
		file,
	)
	return err
}

// chunksAtOnce is how many passages of a file one statement inserts.
const chunksAtOnce = 50

// insertSome inserts some of all chunks, which have their places, with one statement.
func insertSome(ctx context.Context, q *sqlite.Querier, all, some []core.Passage) error {
	w, values := &sqlite.Where{}, make([]string, len(some))
	for i := range some {
		row, err := newPassageRow(&some[i])
		if err != nil {
			return err
		}
		values[i] = sqlite.List(w, []any{
			row.ID, row.Archive, row.Text, row.Agent, row.Step, row.File, row.Place, row.CreatedAt, row.UpdatedAt, row.Data,
		})
	}
	var seq int64
	var place int
	return q.Each(
		ctx,
		`INSERT INTO passages (id, archive_id, text, agent_id, step_id, file_id, place, created_at, updated_at, data) VALUES `+
			strings.Join(values, ", ")+` RETURNING seq, place`,
		w.Args,
		[]any{&seq, &place},
		func() error {
			all[place].Seq = seq
			return nil
		},
	)
}

// dropChunks marks the passages of a file as deleted. Triggers take their vectors away.
func (s files) dropChunks(ctx context.Context, q *sqlite.Querier, archive core.ArchiveID, id core.FileID) error {
	if _, err := q.Exec(
		ctx,
		`INSERT INTO changes (kind, id, op) SELECT $1, id, $2 FROM passages WHERE file_id = $3 AND file_id <> '' AND deleted_at IS NULL`,
		kindPassage,
		opDelete,
		id,
	); err != nil {
		return err
	}
	for _, text := range []string{
		`UPDATE archive_tags SET uses = uses - (SELECT COUNT(*) FROM passages p JOIN passage_tags t ON t.passage_id = p.id
			WHERE p.file_id = $1 AND p.file_id <> '' AND p.deleted_at IS NULL AND t.tag = archive_tags.tag) WHERE archive_id = $2`,
		`UPDATE archives SET passages = passages - (SELECT COUNT(*) FROM passages p
			WHERE p.file_id = $1 AND p.file_id <> '' AND p.deleted_at IS NULL) WHERE id = $2`,
	} {
		if _, err := q.Exec(ctx, text, id, archive); err != nil {
			return err
		}
	}
	_, err := q.Exec(ctx, `DELETE FROM passage_tags WHERE passage_id IN (SELECT id FROM passages WHERE file_id = $1 AND file_id <> '')`, id)
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, `UPDATE passages SET deleted_at = $1 WHERE file_id = $2 AND file_id <> '' AND deleted_at IS NULL`, s.v.s.now(), id)
	return err
}

func (s files) Document(ctx context.Context, id core.FileID) (core.Document, error) {
	ctx, q := s.v.read(ctx)
	var body []byte
	ok, err := q.Find(
		ctx,
		&body,
		`SELECT t.body FROM file_texts t JOIN files f ON f.id = t.file_id WHERE f.id = $1 AND f.deleted_at IS NULL`,
		id,
	)
	if err != nil {
		return core.Document{}, sqlite.Classify("read the text of a file", err)
	}
	if !ok {
		return core.Document{}, core.E(core.NotFound, "file %s has no text yet", string(id))
	}
	text, err := deflate.Decompress(body)
	if err != nil {
		return core.Document{}, err
	}
	var doc core.Document
	return doc, sqlite.Decode(text, &doc)
}

func (s files) Documents(ctx context.Context, ids []core.FileID, word string) ([]core.FileDocument, error) {
	ctx, q := s.v.read(ctx)
	texts := deflate.NewDecompressor()
	defer texts.Close()
	var out []core.FileDocument
	var id core.FileID
	var body sql.RawBytes
	for chunk := range sqlite.Chunks(ids) {
		w := &sqlite.Where{}
		w.And("f.deleted_at IS NULL")
		sqlite.In(w, "t.file_id", chunk)
		err := q.Each(
			ctx,
			`SELECT t.file_id, t.body FROM file_texts t JOIN files f ON f.id = t.file_id`+w.String(),
			w.Args,
			[]any{&id, &body},
			func() error {
				text, err := texts.Decompress(body)
				if err != nil {
					return err
				}
				one := core.FileDocument{File: id}
				if one.Without = word != "" && !holdsWord(text, word); !one.Without {
					err = sqlite.Decode(string(text), &one.Doc)
				}
				out = append(out, one)
				return err
			},
		)
		if err != nil {
			return nil, sqlite.Classify("read the texts of files", err)
		}
	}
	return out, nil
}

// holdsWord reports whether an encoded text may hold a word of ASCII letters and digits, upper and lower case alike. Such
// a word stands the same in JSON. Two letters beyond ASCII count as one within.
func holdsWord(text []byte, word string) bool {
	lower, upper := word[0]|0x20, word[0]
	if upper >= 'a' && upper <= 'z' {
		upper -= 0x20
	}
	if word[0] < 'A' {
		lower = word[0] // a digit
	}
	for i := 0; i+len(word) <= len(text); i++ {
		if c := text[i]; c != lower && c != upper {
			continue
		}
		if strings.EqualFold(string(text[i:i+len(word)]), word) {
			return true
		}
	}
	return strings.ContainsAny(strings.ToLower(word), "ks") && bytes.ContainsAny(text, "\u017f\u212a")
}

// Delete marks the file and its passages. The sweeper removes bytes and text.
func (s files) Delete(ctx context.Context, id core.FileID) error {
	return s.v.atomic(ctx, "delete file", func(ctx context.Context, q *sqlite.Querier) error {
		f, err := getFile(ctx, q, id)
		if err != nil {
			return err
		}
		folder, err := getFolder(ctx, q, f.Folder)
		if err != nil {
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
	var rows []fileRow
	if err := q.All(ctx, &rows, `SELECT `+fileColumns+` FROM files f`+w.String()+tail, w.Args...); err != nil {
		return nil, sqlite.Classify("list files", err)
	}
	return sqlite.Convert(rows, (*fileRow).file)
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
		var rows []settled
		err := q.All(reading, &rows, selectSettled, core.FileEmbedding, after, settleBatch, core.VectorPassage)
		if err != nil {
			return left, sqlite.Classify("look for files that are embedded", err)
		}
		var moved []settled
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

// settled is a file on its way to its vectors.
type settled struct {
	Seq      int64 `db:"seq"`
	Chunks   int   `db:"chunks"`
	Embedded int   `db:"embedded"`
	Waiting  int   `db:"waiting"`
}

const waitingChunks = `(SELECT COUNT(*) FROM passages p JOIN vector_queue v ON v.kind = $4 AND v.owner = p.seq WHERE p.file_id = f.id AND p.file_id <> '' AND p.deleted_at IS NULL)`

const selectSettled = `SELECT f.seq, f.chunks, f.embedded, ` + waitingChunks + ` AS waiting FROM files f
	WHERE f.status = $1 AND f.status IN ('pending', 'parsing', 'embedding') AND f.deleted_at IS NULL AND f.seq > $2 ORDER BY f.seq LIMIT $3`

// settle writes how far files are, as it is at the writing.
func (s files) settle(ctx context.Context, moved []settled) error {
	if len(moved) == 0 {
		return nil
	}
	return s.v.atomic(ctx, "complete files", func(ctx context.Context, q *sqlite.Querier) error {
		now := s.v.s.now()
		for _, r := range moved {
			_, err := q.Exec(ctx, `UPDATE files AS f SET embedded = f.chunks - `+waitingChunks+`,
				status = CASE WHEN `+waitingChunks+` = 0 THEN $3 ELSE f.status END, updated_at = CASE WHEN `+waitingChunks+` = 0 THEN $5 ELSE f.updated_at END
				WHERE f.seq = $1 AND f.status = $2 AND f.deleted_at IS NULL`, r.Seq, core.FileEmbedding, core.FileCompleted, core.VectorPassage, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type openFileRow struct {
	File   core.FileID   `db:"file_id"`
	Open   bool          `db:"open"`
	Start  int           `db:"start_line"`
	End    int           `db:"end_line"`
	UsedAt sqlite.Micros `db:"used_at"`
}

func (r *openFileRow) openFile() (core.OpenFile, error) {
	return core.OpenFile{File: r.File, Open: r.Open, Start: r.Start, End: r.End, UsedAt: r.UsedAt.Time()}, nil
}

func (s files) Opened(ctx context.Context, agent core.AgentID) ([]core.OpenFile, error) {
	ctx, q := s.v.read(ctx)
	var rows []openFileRow
	err := q.All(
		ctx,
		&rows,
		`SELECT o.file_id, o.open, o.start_line, o.end_line, o.used_at FROM open_files o JOIN files f ON f.id = o.file_id
		JOIN folder_agents fa ON fa.agent_id = o.agent_id AND fa.folder_id = f.folder_id
		WHERE o.agent_id = $1 AND f.deleted_at IS NULL ORDER BY o.used_at DESC, f.seq`,
		agent,
	)
	if err != nil {
		return nil, sqlite.Classify("list opened files", err)
	}
	return sqlite.Convert(rows, (*openFileRow).openFile)
}

func (s files) Open(ctx context.Context, agent core.AgentID, o core.OpenFile) error {
	return s.v.write(ctx, "open file", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(agent)); err != nil {
			return err
		}
		if err := living(ctx, q, "files", "file", string(o.File)); err != nil {
			return err
		}
		_, err := q.Exec(
			ctx,
			`INSERT INTO open_files (agent_id, file_id, open, start_line, end_line, used_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (agent_id, file_id) DO UPDATE SET open = excluded.open, start_line = excluded.start_line, end_line = excluded.end_line,
			used_at = excluded.used_at`,
			agent,
			o.File,
			o.Open,
			o.Start,
			o.End,
			sqlite.ToMicros(o.UsedAt),
		)
		return err
	})
}

func (s files) Close(ctx context.Context, agent core.AgentID, files ...core.FileID) error {
	if len(files) == 0 {
		return nil
	}
	return s.v.write(ctx, "close files", func(ctx context.Context, q *sqlite.Querier) error {
		for chunk := range sqlite.Chunks(files) {
			w := &sqlite.Where{}
			w.And("agent_id = ?", agent)
			sqlite.In(w, "file_id", chunk)
			if _, err := q.Exec(ctx, `UPDATE open_files SET open = FALSE`+w.String(), w.Args...); err != nil {
				return err
			}
		}
		return nil
	})
}
