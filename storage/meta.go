package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

type meta struct{ v *scope }

func (s meta) Get(ctx context.Context, key string) (string, bool, error) {
	ctx, q := s.v.read(ctx)
	var value string
	ok, err := q.Find(ctx, &value, `SELECT value FROM meta WHERE key = $1`, key)
	return value, ok, sqlite.Classify("get meta", err)
}

func (s meta) Put(ctx context.Context, key, value string) error {
	return s.v.write(ctx, "put meta", func(ctx context.Context, q *sqlite.Querier) error { return putMeta(ctx, q, key, value) })
}

func putMeta(ctx context.Context, q *sqlite.Querier, key, value string) error {
	_, err := q.Exec(
		ctx,
		`INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key,
		value,
	)
	return err
}

type workspaces struct{ v *scope }

type workspaceRow struct {
	Path         string              `db:"path"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	UsedAt       sqlite.Micros       `db:"used_at"`
}

// selectWorkspaces shows no agent that is deleted; where only the conversation is, the agent's default one takes its place.
const selectWorkspaces = `SELECT w.path, w.agent_id, w.used_at,
	CASE WHEN EXISTS (SELECT 1 FROM conversations c WHERE c.id = w.conversation_id AND c.deleted_at IS NULL)
		THEN w.conversation_id ELSE w.agent_id END AS conversation_id
	FROM workspaces w JOIN agents a ON a.id = w.agent_id AND a.deleted_at IS NULL`

func (s workspaces) find(ctx context.Context, tail string, args ...any) (core.Workspace, bool, error) {
	ctx, q := s.v.read(ctx)
	var row workspaceRow
	ok, err := q.Find(ctx, &row, selectWorkspaces+tail, args...)
	if err != nil || !ok {
		return core.Workspace{}, false, sqlite.Classify("find workspace", err)
	}
	return core.Workspace{Path: row.Path, Agent: row.Agent, Conversation: row.Conversation, UsedAt: row.UsedAt.Time()}, true, nil
}

func (s workspaces) Find(ctx context.Context, path string) (core.Workspace, bool, error) {
	return s.find(ctx, ` WHERE w.path = $1`, path)
}

func (s workspaces) Last(ctx context.Context) (core.Workspace, bool, error) {
	return s.find(ctx, ` ORDER BY w.used_at DESC, w.path LIMIT 1`)
}

func (s workspaces) Put(ctx context.Context, w core.Workspace) error {
	return s.v.write(ctx, "put workspace", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO workspaces (path, agent_id, conversation_id, used_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (path) DO UPDATE SET agent_id = excluded.agent_id, conversation_id = excluded.conversation_id, used_at = `+
			`excluded.used_at`,
			w.Path, w.Agent, w.Conversation, sqlite.ToMicros(w.UsedAt))
		return err
	})
}
