package migrations

import (
	"context"
	"database/sql"

	"loci/core"
	"loci/core/ingest"
	"loci/storage/deflate"
	"loci/storage/sqlite"
)

// renumberFiles is the migration after which the lines of text, code, CSV and JSON have their own numbers: how many lines
// such a file has, what agents have open of it and where its passages stand was kept in other numbers before. Everything
// that is kept is in one transaction with the mark that it was done. Snapshots of agents are left alone, since their hashes
// name them; they say themselves how they count.
func renumberFiles(ctx context.Context, tx *sql.Tx) error {
	var ids []core.FileID
	err := eachRow(ctx, tx, func(rows *sql.Rows) error {
		var id core.FileID
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT f.id FROM files f JOIN file_texts t ON t.file_id = f.id WHERE f.deleted_at IS NULL
		AND CASE WHEN json_valid(f.data) THEN f.data ->> '$.kind' IN ('text', 'code', 'csv', 'json') END ORDER BY f.seq`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := renumberFile(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// renumberFile passes over a text that cannot be read: it must not keep the home from opening.
func renumberFile(ctx context.Context, tx *sql.Tx, id core.FileID) error {
	var body []byte
	if err := tx.QueryRowContext(ctx, `SELECT body FROM file_texts WHERE file_id = $1`, id).Scan(&body); err != nil {
		return err
	}
	text, err := deflate.Decompress(body)
	if err != nil {
		return nil //nolint:nilerr // told by whoever opens the file
	}
	var doc core.Document
	if err := sqlite.Decode(text, &doc); err != nil {
		return nil //nolint:nilerr // as above
	}
	numbers, changed := ingest.NewRenumbering(doc)
	if !changed {
		return nil
	}
	if _, err := tx.ExecContext(
		ctx,
		`UPDATE files SET data = json_set(data, '$.lines', $1) WHERE id = $2`,
		ingest.CountLines(numbers.Lines()),
		id,
	); err != nil {
		return err
	}
	if err := renumberOpened(ctx, tx, id, numbers); err != nil {
		return err
	}
	return renumberPassages(ctx, tx, id, doc, numbers)
}

// renumberOpened maps what agents have open of a file. Their prompts show it by its old numbers, and are compiled anew.
func renumberOpened(ctx context.Context, tx *sql.Tx, id core.FileID, numbers ingest.Renumbering) error {
	type openRange struct {
		agent      core.AgentID
		start, end int
	}
	var all []openRange
	err := eachRow(ctx, tx, func(rows *sql.Rows) error {
		var o openRange
		err := rows.Scan(&o.agent, &o.start, &o.end)
		all = append(all, o)
		return err
	}, `SELECT agent_id, start_line, end_line FROM open_files WHERE file_id = $1`, id)
	if err != nil {
		return err
	}
	for _, o := range all {
		start, end := numbers.Range(o.start, o.end)
		if _, err := tx.ExecContext(
			ctx,
			`UPDATE open_files SET start_line = $1, end_line = $2 WHERE agent_id = $3 AND file_id = $4`,
			start,
			end,
			o.agent,
			id,
		); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE conversations SET stale = TRUE WHERE deleted_at IS NULL
		AND id IN (SELECT agent_id FROM open_files WHERE file_id = $1 AND open)`, id) // the id of a default conversation is its agent's
	return err
}

// renumberPassages writes anew on which lines the passages of a file stand.
func renumberPassages(ctx context.Context, tx *sql.Tx, id core.FileID, doc core.Document, numbers ingest.Renumbering) error {
	type chunkLines struct {
		passage    core.Passage
		line, last int
	}
	var all []chunkLines
	err := eachRow(ctx, tx, func(rows *sql.Rows) error {
		var p chunkLines
		err := rows.Scan(&p.passage.ID, &p.passage.Text, &p.passage.Place, &p.line, &p.last)
		all = append(all, p)
		return err
	}, `SELECT id, text, place, data ->> '$.metadata.line', data ->> '$.metadata.end_line' FROM passages
		WHERE file_id = $1 AND file_id <> '' AND deleted_at IS NULL AND CASE WHEN json_valid(data)
		THEN json_type(data, '$.metadata.line') = 'integer' AND json_type(data, '$.metadata.end_line') = 'integer' END`, id)
	if err != nil || len(all) == 0 {
		return err
	}
	update, err := tx.PrepareContext(
		ctx,
		`UPDATE passages SET data = json_set(data, '$.metadata.line', $1, '$.metadata.end_line', $2) WHERE id = $3`,
	)
	if err != nil {
		return err
	}
	defer func() { _ = update.Close() }()
	lines, chunks := numbers.Lines(), ingest.Chunks(doc, 0)
	for _, p := range all {
		first, last := numbers.Range(p.line, p.last)
		if start, end, ok := ingest.Locate(doc, chunks, p.passage); ok {
			first, last = ingest.LineAt(lines, start), ingest.LineAt(lines, end-1)
		}
		if _, err := update.ExecContext(ctx, first, last, p.passage.ID); err != nil {
			return err
		}
	}
	return nil
}

// eachRow reads the rows of a query one by one.
func eachRow(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
