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
		`INSERT INTO changes (kind, id, op) SELECT $1, id, $2 FROM passages WHERE file_id = $3 AND file_id <> '' AND `+
			`deleted_at IS NULL ORDER BY place`,
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
	err = sqlite.Decode(text, &doc)
	return doc, sqlite.NameDamage(err, "the text of file", string(id))
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
