package storage

import (
	"context"
	"time"

	"loci/core"
)

type conversations struct{ v *view }

type conversationRow struct {
	ID            core.ConversationID `db:"id"`
	Agent         core.AgentID        `db:"agent_id"`
	IsDefault     bool                `db:"is_default"`
	Summary       string              `db:"summary"`
	Hidden        bool                `db:"hidden"`
	Stale         bool                `db:"stale"`
	Rev           int                 `db:"rev"`
	MessageCount  int                 `db:"message_count"`
	LastMessageAt micros              `db:"last_message_at"`
	CreatedAt     micros              `db:"created_at"`
	UpdatedAt     micros              `db:"updated_at"`
	Data          string              `db:"data"`
}

type conversationData struct {
	Model         core.Handle          `json:"model,omitempty"`
	Settings      *core.ModelSettings  `json:"settings,omitempty"`
	SystemMessage core.MessageID       `json:"system_message,omitempty"`
	System        string               `json:"system,omitempty"`
	PinSystem     string               `json:"pin_system,omitempty"`
	PinTools      string               `json:"pin_tools,omitempty"`
	PinRev        int                  `json:"pin_rev,omitempty"`
	PinKey        string               `json:"pin_key,omitempty"`
	Prefix        string               `json:"prefix,omitempty"`
	Cut           int                  `json:"cut,omitempty"`
	Shown         map[core.BlockID]int `json:"shown,omitempty"`
	AskedAt       micros               `json:"asked_at,omitempty"`
	LastFolder    string               `json:"last_folder,omitempty"`
}

func newConversationRow(c *core.Conversation) (conversationRow, error) {
	data, err := encode(conversationData{
		Model: c.Model, Settings: c.Settings, SystemMessage: c.SystemMessage, System: c.System, PinSystem: c.PinSystem, PinTools: c.PinTools,
		PinRev: c.PinRev, PinKey: c.PinKey, Prefix: c.Prefix, Cut: c.Cut, Shown: c.Shown, AskedAt: toMicros(c.AskedAt), LastFolder: c.LastFolder,
	})
	return conversationRow{
		ID: c.ID, Agent: c.Agent, IsDefault: c.ID == core.DefaultConversation(c.Agent), Summary: c.Summary, Hidden: c.Hidden, Stale: c.Stale,
		Rev: c.Rev, LastMessageAt: toMicros(c.LastMessageAt), CreatedAt: toMicros(c.CreatedAt), UpdatedAt: toMicros(c.UpdatedAt), Data: data,
	}, err
}

func (r *conversationRow) conversation() (core.Conversation, error) {
	var d conversationData
	if err := decode(r.Data, &d); err != nil {
		return core.Conversation{}, err
	}
	return core.Conversation{
		ID: r.ID, Agent: r.Agent, Summary: r.Summary, Model: d.Model, Settings: d.Settings, Hidden: r.Hidden, SystemMessage: d.SystemMessage,
		System: d.System, Stale: r.Stale, PinSystem: d.PinSystem, PinTools: d.PinTools, PinRev: d.PinRev, PinKey: d.PinKey, Prefix: d.Prefix,
		Cut: d.Cut, Rev: r.Rev, Shown: d.Shown, AskedAt: d.AskedAt.time(), LastMessageAt: r.LastMessageAt.time(), LastFolder: d.LastFolder,
		MessageCount: r.MessageCount, CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
	}, nil
}

const selectConversations = `SELECT c.id, c.agent_id, c.is_default, c.summary, c.hidden, c.stale, c.rev, c.message_count, c.last_message_at,
	c.created_at, c.updated_at, c.data FROM conversations c`

func (s conversations) Create(ctx context.Context, c *core.Conversation) error {
	row, err := newConversationRow(c)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create conversation", func(ctx context.Context, q *querier) error {
		if err := living(ctx, q, "agents", "agent", string(c.Agent)); err != nil {
			return err
		}
		_, err := q.named(ctx, `INSERT INTO conversations
			(id, agent_id, is_default, summary, hidden, stale, rev, last_message_at, created_at, updated_at, data) VALUES
			(:id, :agent_id, :is_default, :summary, :hidden, :stale, :rev, :last_message_at, :created_at, :updated_at, :data)`, row)
		return err
	})
}

func (s conversations) Get(ctx context.Context, id core.ConversationID) (core.Conversation, error) {
	ctx, q := s.v.read(ctx)
	var row conversationRow
	ok, err := q.find(ctx, &row, selectConversations+` WHERE c.id = $1 AND c.deleted_at IS NULL`, id)
	if err != nil {
		return core.Conversation{}, classify("get conversation", err)
	}
	if !ok {
		return core.Conversation{}, notFound("conversation", string(id))
	}
	return row.conversation()
}

// Update leaves the message counter alone, and the time of the last message where none is given.
func (s conversations) Update(ctx context.Context, c *core.Conversation) error {
	row, err := newConversationRow(c)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update conversation", func(ctx context.Context, q *querier) error {
		n, err := q.named(ctx, `UPDATE conversations SET summary = :summary, hidden = :hidden, stale = :stale, rev = :rev,
			last_message_at = CASE WHEN :last_message_at = 0 THEN last_message_at ELSE :last_message_at END,
			updated_at = :updated_at, data = :data WHERE id = :id AND deleted_at IS NULL`, row)
		if err == nil && n == 0 {
			return notFound("conversation", string(c.ID))
		}
		return err
	})
}

func (s conversations) Delete(ctx context.Context, id core.ConversationID) error {
	return s.v.write(ctx, "delete conversation", func(ctx context.Context, q *querier) error {
		n, err := q.exec(ctx, `UPDATE conversations SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, s.v.s.now(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return notFound("conversation", string(id))
		}
		_, err = q.exec(ctx, `UPDATE agents SET message_count = message_count - (SELECT message_count FROM conversations WHERE id = $1)
			WHERE id = (SELECT agent_id FROM conversations WHERE id = $1)`, id)
		if err != nil {
			return err
		}
		return changed(ctx, q, kindConversation, string(id), opDelete)
	})
}

func (s conversations) List(ctx context.Context, f core.ConversationFilter, p core.Page) ([]core.Conversation, error) {
	ctx, q := s.v.read(ctx)
	o := order{table: "conversations", cursor: "id", minor: "id", alias: "c.", noun: "conversation"}
	switch p.OrderBy {
	case "", "created_at":
		o.major = "created_at"
	case "updated_at":
		o.major = "updated_at"
	case "last_message_at", "last_run_completion":
		o.major = "last_message_at"
	default:
		return nil, core.E(core.Invalid, "conversations cannot be ordered by %q", p.OrderBy).WithHint("use created_at, updated_at or last_message_at")
	}
	w := &where{}
	w.and("c.deleted_at IS NULL AND NOT c.is_default")
	if f.Agent != "" {
		w.and("c.agent_id = ?", f.Agent)
	}
	if !f.Hidden {
		w.and("NOT c.hidden")
	}
	if f.SummarySearch != "" {
		w.and(`LOWER(c.summary) LIKE LOWER(?) ESCAPE '\'`, contains(f.SummarySearch))
	}
	tail, err := o.paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	var rows []conversationRow
	if err := q.all(ctx, &rows, selectConversations+w.String()+tail, w.args...); err != nil {
		return nil, classify("list conversations", err)
	}
	return convert(rows, (*conversationRow).conversation)
}

func (s conversations) MarkStale(ctx context.Context, ids ...core.AgentID) error {
	if len(ids) == 0 {
		return nil
	}
	return s.v.write(ctx, "mark conversations stale", func(ctx context.Context, q *querier) error {
		for chunk := range chunks(ids) {
			w := &where{}
			w.and("deleted_at IS NULL")
			in(w, "id", chunk) // the id of a default conversation is its agent's
			if _, err := q.exec(ctx, `UPDATE conversations SET stale = TRUE`+w.String(), w.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s conversations) LastMessage(ctx context.Context, id core.ConversationID) (time.Time, error) {
	ctx, q := s.v.read(ctx)
	var at micros
	_, err := q.find(ctx, &at, `SELECT created_at FROM messages WHERE conversation_id = $1 AND role IN ('user', 'assistant')
		AND hidden = '' AND deleted_at IS NULL ORDER BY seq DESC LIMIT 1`, id)
	return at.time(), classify("get last message", err)
}
