package storage

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/sqlite"
)

type mirrors struct{ v *scope }

type mirrorRow struct {
	Agent     core.AgentID  `db:"agent_id"`
	Path      string        `db:"path"`
	Branch    string        `db:"branch"`
	On        bool          `db:"is_on"`
	CreatedAt sqlite.Micros `db:"created_at"`
}

func (r *mirrorRow) mirror() (core.MemoryMirror, error) {
	return core.MemoryMirror{Agent: r.Agent, Path: r.Path, Branch: r.Branch, On: r.On, CreatedAt: r.CreatedAt.Time()}, nil
}

const selectMirrors = `SELECT m.agent_id, m.path, m.branch, m.is_on, m.created_at FROM mirrors m`

func (s mirrors) Put(ctx context.Context, m core.MemoryMirror) error {
	return s.v.atomic(ctx, "put mirror", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(m.Agent)); err != nil {
			return err
		}
		var other string
		taken, err := q.Find(ctx, &other, `SELECT a.name FROM mirrors m JOIN agents a ON a.id = m.agent_id AND a.deleted_at IS NULL
			WHERE m.path = $1 AND m.agent_id <> $2 AND m.is_on LIMIT 1`, m.Path, m.Agent)
		if err != nil {
			return err
		}
		if taken && m.On {
			return core.E(core.Conflict, "%s mirrors the memory of %s already", m.Path, other).WithHint("choose another folder")
		}
		row := mirrorRow{Agent: m.Agent, Path: m.Path, Branch: m.Branch, On: m.On, CreatedAt: sqlite.ToMicros(m.CreatedAt)}
		_, err = q.Named(
			ctx,
			`INSERT INTO mirrors (agent_id, path, branch, is_on, created_at) VALUES (:agent_id, :path, :branch, :is_on, :created_at)
			ON CONFLICT (agent_id) DO UPDATE SET path = excluded.path, branch = excluded.branch, is_on = excluded.is_on, `+
				`created_at = excluded.created_at`,
			row,
		)
		return err
	})
}

func (s mirrors) Find(ctx context.Context, agent core.AgentID) (core.MemoryMirror, bool, error) {
	ctx, q := s.v.read(ctx)
	var row mirrorRow
	ok, err := q.Find(ctx, &row, selectMirrors+` WHERE m.agent_id = $1`, agent)
	if err != nil || !ok {
		return core.MemoryMirror{}, false, sqlite.NameDamage(err, "the mirror of agent", string(agent))
	}
	m, err := row.mirror()
	return m, true, err
}

func (s mirrors) List(ctx context.Context) ([]core.MemoryMirror, error) {
	ctx, q := s.v.read(ctx)
	return list(ctx, s.v, q, "list mirrors", (*mirrorRow).mirror, selectMirrors+` JOIN agents a ON a.id = m.agent_id
		AND a.deleted_at IS NULL WHERE m.is_on ORDER BY m.created_at, m.agent_id`)
}

func (s mirrors) Clear(ctx context.Context, agent core.AgentID) error {
	return s.v.write(ctx, "clear mirror", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM mirror_files WHERE agent_id = $1`, agent)
		return err
	})
}

type mirrorFileRow struct {
	Agent     core.AgentID `db:"agent_id"`
	Block     core.BlockID `db:"block_id"`
	Path      string       `db:"path"`
	BlockHash string       `db:"block_hash"`
	FileHash  string       `db:"file_hash"`
	NextBlock string       `db:"next_block"`
	NextFile  string       `db:"next_file"`
}

func (s mirrors) Files(ctx context.Context, agent core.AgentID) ([]core.MirrorFile, error) {
	ctx, q := s.v.read(ctx)
	var rows []mirrorFileRow
	err := q.All(ctx, &rows, `SELECT agent_id, block_id, path, block_hash, file_hash, next_block, next_file
		FROM mirror_files WHERE agent_id = $1 ORDER BY path, block_id`, agent)
	if err != nil {
		return nil, sqlite.Classify("list files of mirror", err)
	}
	return sqlite.Convert(rows, func(r *mirrorFileRow) (core.MirrorFile, error) { return core.MirrorFile(*r), nil })
}

func (s mirrors) PutFile(ctx context.Context, f core.MirrorFile) error {
	return s.v.write(ctx, "put file of mirror", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Named(ctx, `INSERT INTO mirror_files (agent_id, block_id, path, block_hash, file_hash, next_block, next_file)
			VALUES (:agent_id, :block_id, :path, :block_hash, :file_hash, :next_block, :next_file)
			ON CONFLICT (agent_id, block_id) DO UPDATE SET path = excluded.path, block_hash = excluded.block_hash,
			file_hash = excluded.file_hash, next_block = excluded.next_block, next_file = excluded.next_file`, mirrorFileRow(f))
		return err
	})
}

func (s mirrors) RemoveFile(ctx context.Context, agent core.AgentID, block core.BlockID) error {
	return s.v.write(ctx, "remove file of mirror", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM mirror_files WHERE agent_id = $1 AND block_id = $2`, agent, block)
		return err
	})
}

func (s mirrors) Stamp(ctx context.Context, agent core.AgentID) (string, error) {
	ctx, q := s.v.read(ctx)
	var rows []struct {
		ID        string `db:"id"`
		Version   int    `db:"version"`
		UpdatedAt int64  `db:"updated_at"`
		Data      string `db:"data"`
	}
	err := q.All(ctx, &rows, `SELECT b.id, b.version, b.updated_at, b.data FROM agent_blocks ab JOIN blocks b ON b.id = ab.block_id
		WHERE ab.agent_id = $1 AND b.deleted_at IS NULL ORDER BY ab.position, b.id`, agent)
	if err != nil {
		return "", sqlite.Classify("stamp blocks of agent", err)
	}
	var out strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&out, "%s %d %d %s\n", r.ID, r.Version, r.UpdatedAt, r.Data)
	}
	if len(rows) == 0 {
		return "", nil
	}
	var forgets int // which change blocks and make no version of them
	if err := q.Get(ctx, &forgets, `SELECT COALESCE(MAX(num), 0) FROM forgets`); err != nil {
		return "", sqlite.Classify("stamp blocks of agent", err)
	}
	fmt.Fprintf(&out, "%d\n", forgets)
	return out.String(), nil
}

// TakeMirrors takes every mirror out of a copy of the facts.
func TakeMirrors(ctx context.Context, tx *sqlx.Tx) ([]core.MemoryMirror, error) {
	var rows []mirrorRow
	if err := tx.SelectContext(ctx, &rows, selectMirrors+` ORDER BY m.created_at, m.agent_id`); err != nil {
		return nil, sqlite.Classify("hold mirrors", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM mirrors`); err != nil {
		return nil, sqlite.Classify("hold mirrors", err)
	}
	return sqlite.Convert(rows, (*mirrorRow).mirror)
}
