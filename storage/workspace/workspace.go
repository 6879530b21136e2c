// Package workspace stores what is known of the folders that people work in: which agent used one last, what conversations
// have read of its files, and what calls changed there.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package workspace

import (
	"context"
	"io/fs"
	"strconv"

	"loci/core"
	"loci/storage/passagelog"
	"loci/storage/sqlite"
)

// Store is the workspaces within a scope.
type Store struct{ On *sqlite.Scope }

var _ core.WorkspaceStore = Store{}

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

func (s Store) find(ctx context.Context, tail string, args ...any) (core.Workspace, bool, error) {
	ctx, q := s.On.Read(ctx)
	var row workspaceRow
	ok, err := q.Find(ctx, &row, selectWorkspaces+tail, args...)
	if err != nil || !ok {
		return core.Workspace{}, false, sqlite.Classify("find workspace", err)
	}
	return core.Workspace{Path: row.Path, Agent: row.Agent, Conversation: row.Conversation, UsedAt: row.UsedAt.Time()}, true, nil
}

// Find implements core.WorkspaceStore.
func (s Store) Find(ctx context.Context, path string) (core.Workspace, bool, error) {
	return s.find(ctx, ` WHERE w.path = $1`, path)
}

// Last implements core.WorkspaceStore.
func (s Store) Last(ctx context.Context) (core.Workspace, bool, error) {
	return s.find(ctx, ` ORDER BY w.used_at DESC, w.path LIMIT 1`)
}

// Put implements core.WorkspaceStore.
func (s Store) Put(ctx context.Context, w core.Workspace) error {
	return s.On.Write(ctx, "put workspace", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO workspaces (path, agent_id, conversation_id, used_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (path) DO UPDATE SET agent_id = excluded.agent_id, conversation_id = excluded.conversation_id, used_at = `+
			`excluded.used_at`,
			w.Path, w.Agent, w.Conversation, sqlite.ToMicros(w.UsedAt))
		return err
	})
}

// Read implements core.WorkspaceStore.
func (s Store) Read(ctx context.Context, conversation core.ConversationID, path string) (core.FileRead, bool, error) {
	ctx, q := s.On.Read(ctx)
	var row struct {
		Hash string        `db:"hash"`
		At   sqlite.Micros `db:"at"`
	}
	ok, err := q.Find(ctx, &row, `SELECT hash, at FROM file_reads WHERE conversation_id = $1 AND path = $2`, conversation, path)
	if err != nil || !ok {
		return core.FileRead{}, false, sqlite.Classify("find what was read", err)
	}
	return core.FileRead{Conversation: conversation, Path: path, Hash: row.Hash, At: row.At.Time()}, true, nil
}

// NoteRead implements core.WorkspaceStore.
func (s Store) NoteRead(ctx context.Context, r core.FileRead) error {
	return s.On.Write(ctx, "note what was read", func(ctx context.Context, q *sqlite.Querier) error { return noteRead(ctx, q, r) })
}

func noteRead(ctx context.Context, q *sqlite.Querier, r core.FileRead) error {
	_, err := q.Exec(ctx, `INSERT INTO file_reads (conversation_id, path, hash, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (conversation_id, path) DO UPDATE SET hash = excluded.hash, at = excluded.at`,
		r.Conversation, r.Path, r.Hash, sqlite.ToMicros(r.At))
	return err
}

type changeRow struct {
	Seq          int64               `db:"num"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Run          core.RunID          `db:"run_id"`
	Step         core.StepID         `db:"step_id"`
	Call         string              `db:"call_id"`
	Rewind       core.RewindID       `db:"rewind_id"`
	Workspace    string              `db:"workspace"`
	Path         string              `db:"path"`
	BeforeKind   core.PathKind       `db:"before_kind"`
	Before       string              `db:"before_hash"`
	Mode         fs.FileMode         `db:"mode"`
	AfterKind    core.PathKind       `db:"after_kind"`
	After        string              `db:"after_hash"`
	AfterMode    fs.FileMode         `db:"after_mode"`
	Folders      int                 `db:"folders"`
	Source       string              `db:"source"`
	At           sqlite.Micros       `db:"at"`
}

func (r *changeRow) change() core.FileChange {
	return core.FileChange{
		Seq: r.Seq, Agent: r.Agent, Conversation: r.Conversation, Run: r.Run, Step: r.Step, Call: r.Call, Rewind: r.Rewind,
		Workspace: r.Workspace, Path: r.Path, Before: core.FileState{Kind: r.BeforeKind, Mode: r.Mode, Hash: r.Before},
		After: core.FileState{Kind: r.AfterKind, Mode: r.AfterMode, Hash: r.After}, Folders: r.Folders, Source: r.Source,
		At: r.At.Time(),
	}
}

// NoteChange implements core.WorkspaceStore.
func (s Store) NoteChange(ctx context.Context, c *core.FileChange) error {
	return s.On.Atomic(ctx, "note a change of a file", func(ctx context.Context, q *sqlite.Querier) error {
		if err := noteChange(ctx, q, c); err != nil {
			return err
		}
		return noteRead(ctx, q, core.FileRead{Conversation: c.Conversation, Path: c.Absolute(), Hash: c.After.Hash, At: c.At})
	})
}

// NoteChanges implements core.WorkspaceStore.
func (s Store) NoteChanges(ctx context.Context, cs []core.FileChange) error {
	return s.On.Atomic(ctx, "note changes of files", func(ctx context.Context, q *sqlite.Querier) error {
		for i := range cs {
			if err := noteChange(ctx, q, &cs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func noteChange(ctx context.Context, q *sqlite.Querier, c *core.FileChange) error {
	return q.Get(ctx, &c.Seq, `INSERT INTO file_changes (agent_id, conversation_id, run_id, step_id, call_id, rewind_id, workspace, path,
		before_kind, before_hash, mode, after_kind, after_hash, after_mode, folders, at, source)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) RETURNING num`,
		c.Agent, c.Conversation, c.Run, c.Step, c.Call, c.Rewind, c.Workspace, c.Path, c.Before.Kind, c.Before.Hash, c.Before.Mode,
		c.After.Kind, c.After.Hash, c.After.Mode, c.Folders, sqlite.ToMicros(c.At), c.Source)
}

// Changes implements core.WorkspaceStore.
func (s Store) Changes(ctx context.Context, f core.FileChanges) ([]core.FileChange, error) {
	ctx, q := s.On.Read(ctx)
	w := &sqlite.Where{}
	if f.Agent != "" {
		w.And("agent_id = ?", f.Agent)
	}
	if f.Conversation != "" {
		w.And("conversation_id = ?", f.Conversation)
	}
	if f.Step != "" {
		w.And("step_id = ?", f.Step)
	}
	if f.Rewind != "" {
		w.And("rewind_id = ?", f.Rewind)
	}
	if f.Downloaded != nil {
		w.And("workspace = ? AND path = ? AND source <> ''", f.Downloaded.Workspace, f.Downloaded.Path)
	}
	if f.Since != (core.RewindPoint{}) {
		p, err := passagelog.Find(ctx, q, f.Since)
		if err != nil {
			return nil, err
		}
		w.And(`(EXISTS (SELECT 1 FROM steps s WHERE s.id = step_id AND s.num > ?)
			OR EXISTS (SELECT 1 FROM rewinds r WHERE r.id = rewind_id AND r.number >= ?))`, p.Step, p.Rewind)
	}
	if f.Older > 0 {
		w.And("num < ?", f.Older)
	}
	limit := core.MaxFileChanges
	if f.Limit > 0 {
		limit = min(limit, f.Limit)
	}
	var rows []changeRow
	err := q.All(ctx, &rows, `SELECT * FROM file_changes`+w.String()+` ORDER BY num DESC LIMIT `+strconv.Itoa(limit), w.Args...)
	if err != nil {
		return nil, sqlite.Classify("list changes of files", err)
	}
	out := make([]core.FileChange, len(rows))
	for i := range rows {
		out[i] = rows[i].change()
	}
	return out, nil
}
