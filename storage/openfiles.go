package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

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
			ON CONFLICT (agent_id, file_id) DO UPDATE SET open = excluded.open, start_line = excluded.start_line, end_line = `+
				`excluded.end_line,
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
