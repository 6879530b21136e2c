package storage

import (
	"context"
	"strings"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

type agents struct{ v *scope }

// agentRow is an agent as it is stored. message_count is only ever incremented, passages is the counter of its archive.
type agentRow struct {
	ID           core.AgentID    `db:"id"`
	Name         string          `db:"name"`
	NameKey      string          `db:"name_key"`
	Type         core.AgentType  `db:"type"`
	Model        core.Handle     `db:"model"`
	Hidden       bool            `db:"hidden"`
	LastStop     core.StopReason `db:"last_stop"`
	LastRunAt    sqlite.Micros   `db:"last_run_at"`
	LastRunMS    int64           `db:"last_run_ms"`
	MessageCount int             `db:"message_count"`
	Passages     int             `db:"passages"`
	Rev          int             `db:"rev"`
	CreatedAt    sqlite.Micros   `db:"created_at"`
	UpdatedAt    sqlite.Micros   `db:"updated_at"`
	Data         string          `db:"data"`
}

type agentData struct {
	Description string             `json:"description,omitempty"`
	System      string             `json:"system,omitempty"`
	ModelAuto   bool               `json:"model_auto,omitempty"`
	Fallback    core.Handle        `json:"fallback,omitempty"`
	Settings    core.ModelSettings `json:"settings,omitzero"`
	Embedding   core.Handle        `json:"embedding,omitempty"`
	Tools       []core.ToolID      `json:"tools,omitempty"`
	ToolRules   []core.ToolRule    `json:"tool_rules,omitempty"`
	Tags        []string           `json:"tags,omitempty"` // in their order; agent_tags is what filters read
	Metadata    map[string]any     `json:"metadata,omitempty"`
	Timezone    string             `json:"timezone,omitempty"`
	Autoclear   bool               `json:"autoclear,omitempty"`
	Recall      int                `json:"recall,omitempty"`
	Terminal    bool               `json:"terminal,omitempty"`
	Extra       map[string]any     `json:"extra,omitempty"`
}

func newAgentRow(a *core.Agent) (agentRow, error) {
	data, err := sqlite.Encode(agentData{
		Description: a.Description,
		System:      a.System,
		ModelAuto:   a.ModelAuto,
		Fallback:    a.Fallback,
		Settings:    a.Settings,
		Embedding:   a.Embedding,
		Tools:       a.Tools,
		ToolRules:   a.ToolRules,
		Tags:        a.Tags,
		Metadata:    a.Metadata,
		Timezone:    a.Timezone,
		Autoclear:   a.Autoclear,
		Recall:      a.Recall,
		Terminal:    a.Terminal,
		Extra:       a.Extra,
	})
	return agentRow{
		ID:        a.ID,
		Name:      a.Name,
		NameKey:   strings.ToLower(a.Name),
		Type:      a.Type,
		Model:     a.Model,
		Hidden:    a.Hidden,
		LastStop:  a.LastStopReason,
		LastRunAt: sqlite.ToMicros(a.LastRunAt),
		LastRunMS: a.LastRunMillis,
		Rev:       a.Rev,
		CreatedAt: sqlite.ToMicros(a.CreatedAt),
		UpdatedAt: sqlite.ToMicros(a.UpdatedAt),
		Data:      data,
	}, err
}

func (r *agentRow) agent() (core.Agent, error) {
	var d agentData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.Agent{}, err
	}
	return core.Agent{
		ID:             r.ID,
		Name:           r.Name,
		Type:           r.Type,
		Description:    d.Description,
		System:         d.System,
		Model:          r.Model,
		ModelAuto:      d.ModelAuto,
		Fallback:       d.Fallback,
		Settings:       d.Settings,
		Embedding:      d.Embedding,
		Tools:          d.Tools,
		ToolRules:      d.ToolRules,
		Tags:           d.Tags,
		Metadata:       d.Metadata,
		Timezone:       d.Timezone,
		Hidden:         r.Hidden,
		Autoclear:      d.Autoclear,
		Recall:         d.Recall,
		Terminal:       d.Terminal,
		Extra:          d.Extra,
		LastStopReason: r.LastStop,
		LastRunAt:      r.LastRunAt.Time(),
		LastRunMillis:  r.LastRunMS,
		MessageCount:   r.MessageCount,
		PassageCount:   r.Passages,
		Rev:            r.Rev,
		CreatedAt:      r.CreatedAt.Time(),
		UpdatedAt:      r.UpdatedAt.Time(),
	}, nil
}

const selectAgents = `SELECT a.id, a.name, a.name_key, a.type, a.model, a.hidden, a.last_stop, a.last_run_at, a.last_run_ms,
	a.message_count, a.rev, a.created_at, a.updated_at, a.data, COALESCE((SELECT iif(typeof(r.passages) = 'integer', r.passages, 0)
		FROM agent_archives aa JOIN archives r ON r.id = aa.archive_id WHERE aa.agent_id = a.id), 0) AS passages FROM agents a`

func (s agents) Create(ctx context.Context, a *core.Agent) error {
	row, err := newAgentRow(a)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create agent", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Named(ctx, `INSERT INTO agents
			(id, name, name_key, type, model, hidden, last_stop, last_run_at, last_run_ms, rev, created_at, updated_at, data) VALUES
			(:id, :name, :name_key, :type, :model, :hidden, :last_stop, :last_run_at, :last_run_ms, :rev, :created_at, `+
			`:updated_at, :data)`, row)
		if err != nil {
			return err
		}
		return sqlite.Retag(ctx, q, "agent_tags", "agent_id", string(a.ID), a.Tags, true)
	})
}

func (s agents) Get(ctx context.Context, id core.AgentID) (core.Agent, error) {
	ctx, q := s.v.read(ctx)
	return sqlite.One(ctx, q, "agent", string(id), (*agentRow).agent, selectAgents+` WHERE a.id = $1 AND a.deleted_at IS NULL`, id)
}

// Update leaves the message counter alone and never lowers rev: attaching a block may have raised it meanwhile.
func (s agents) Update(ctx context.Context, a *core.Agent) error {
	row, err := newAgentRow(a)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update agent", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Named(ctx, `UPDATE agents SET name = :name, name_key = :name_key, type = :type, model = :model, hidden = :hidden,
			last_stop = :last_stop, last_run_at = :last_run_at, last_run_ms = :last_run_ms,
			rev = CASE WHEN rev > :rev THEN rev ELSE :rev END, updated_at = :updated_at, data = :data
			WHERE id = :id AND deleted_at IS NULL`, row)
		if err != nil {
			return err
		}
		if n == 0 {
			return sqlite.NotFound("agent", string(a.ID))
		}
		return sqlite.Retag(ctx, q, "agent_tags", "agent_id", string(a.ID), a.Tags, false)
	})
}

// Delete marks the agent and its conversations; messages and runs are invisible through them.
func (s agents) Delete(ctx context.Context, id core.AgentID) error {
	return s.v.write(ctx, "delete agent", func(ctx context.Context, q *sqlite.Querier) error {
		now := s.v.s.now()
		n, err := q.Exec(ctx, `UPDATE agents SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, now, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return sqlite.NotFound("agent", string(id))
		}
		for _, text := range []string{
			`DELETE FROM agent_tags WHERE agent_id = $1`,
			`DELETE FROM agent_blocks WHERE agent_id = $1`,
			`DELETE FROM agent_archives WHERE agent_id = $1`,
			`DELETE FROM folder_agents WHERE agent_id = $1`,
			`DELETE FROM open_files WHERE agent_id = $1`,
		} {
			if _, err := q.Exec(ctx, text, id); err != nil {
				return err
			}
		}
		if _, err := q.Exec(
			ctx,
			`UPDATE conversations SET deleted_at = $1 WHERE agent_id = $2 AND deleted_at IS NULL`,
			now,
			id,
		); err != nil {
			return err
		}
		return changed(ctx, q, kindAgent, string(id), opDelete)
	})
}

func (s agents) filter(f core.AgentFilter) *sqlite.Where {
	w := &sqlite.Where{}
	w.And("a.deleted_at IS NULL")
	if !f.Hidden {
		w.And("NOT a.hidden")
	}
	if f.Name != "" {
		w.And("a.name = ?", f.Name)
	}
	if f.Query != "" {
		w.And(`a.name_key LIKE ? ESCAPE '\'`, sqlite.Contains(strings.ToLower(f.Query)))
	}
	if f.LastStop != "" {
		w.And("a.last_stop = ?", f.LastStop)
	}
	if f.Archive != "" {
		w.And("EXISTS (SELECT 1 FROM agent_archives aa WHERE aa.agent_id = a.id AND aa.archive_id = ?)", f.Archive)
	}
	if f.Block != "" {
		w.And("EXISTS (SELECT 1 FROM agent_blocks ab WHERE ab.agent_id = a.id AND ab.block_id = ?)", f.Block)
	}
	sqlite.Tagged(w, "a.id", "agent_tags", "agent_id", f.Tags, f.MatchAllTags)
	return w
}

func (s agents) List(ctx context.Context, f core.AgentFilter, p core.Page) ([]core.Agent, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "agents", Cursor: "id", Minor: "id", Alias: "a.", Noun: "agent"}
	switch p.OrderBy {
	case "", "created_at":
		o.Major = "created_at"
	case "updated_at":
		o.Major = "updated_at"
	case "last_run_completion":
		o.Major = "last_run_at"
	default:
		return nil, core.E(core.Invalid, "agents cannot be ordered by %q", p.OrderBy).
			WithHint("use created_at, updated_at or last_run_completion")
	}
	w := s.filter(f)
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list agents", (*agentRow).agent, selectAgents+w.String()+tail, w.Args...)
}

func (s agents) Count(ctx context.Context, f core.AgentFilter) (int, error) {
	ctx, q := s.v.read(ctx)
	w := s.filter(f)
	var n int
	err := q.Get(ctx, &n, `SELECT COUNT(*) FROM agents a`+w.String(), w.Args...)
	return n, sqlite.Classify("count agents", err)
}

// Tags pages by the tag itself: the cursor is its text.
func (s agents) Tags(ctx context.Context, text string, p core.Page) ([]string, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	if text != "" {
		w.And(`LOWER(tag) LIKE ? ESCAPE '\'`, sqlite.Contains(strings.ToLower(text)))
	}
	direction, later, earlier := " ASC", ">", "<"
	if p.Desc {
		direction, later, earlier = " DESC", "<", ">"
	}
	if p.After != "" {
		w.And("tag "+later+" ?", p.After)
	}
	if p.Before != "" {
		w.And("tag "+earlier+" ?", p.Before)
	}
	limit := 50
	if p.Limit > 0 {
		limit = p.Limit
	}
	tags := []string{}
	err := q.All(ctx, &tags, `SELECT DISTINCT tag FROM agent_tags`+w.String()+` ORDER BY tag`+direction+` LIMIT `+w.Arg(limit), w.Args...)
	return tags, sqlite.Classify("list tags", err)
}

func (s agents) Finished(ctx context.Context, id core.AgentID, reason core.StopReason, at time.Time, took time.Duration) error {
	return s.v.write(ctx, "finish run of agent", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE agents SET last_stop = $1, last_run_at = $2, last_run_ms = $3 WHERE id = $4 AND deleted_at IS NULL`,
			reason, sqlite.ToMicros(at), took.Milliseconds(), id)
		if err == nil && n == 0 {
			return sqlite.NotFound("agent", string(id))
		}
		return err
	})
}

// raiseRev says that the settings or attachments of an agent changed.
func raiseRev(ctx context.Context, q *sqlite.Querier, id core.AgentID) error {
	_, err := q.Exec(ctx, `UPDATE agents SET rev = rev + 1 WHERE id = $1`, id)
	return err
}

// living fails with not_found unless the noun exists and is not deleted.
func living(ctx context.Context, q *sqlite.Querier, table, noun, id string, also ...string) error {
	var one int
	conds := append([]string{"id = $1", "deleted_at IS NULL"}, also...)
	ok, err := q.Find(ctx, &one, `SELECT 1 FROM `+table+` WHERE `+strings.Join(conds, " AND "), id)
	if err == nil && !ok {
		return sqlite.NotFound(noun, id)
	}
	return err
}
