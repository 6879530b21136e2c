package storage

import (
	"context"
	"errors"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

type conversations struct{ v *scope }

type conversationRow struct {
	ID            core.ConversationID `db:"id"`
	Agent         core.AgentID        `db:"agent_id"`
	IsDefault     bool                `db:"is_default"`
	Summary       string              `db:"summary"`
	Hidden        bool                `db:"hidden"`
	Stale         bool                `db:"stale"`
	Rev           int                 `db:"rev"`
	MessageCount  int                 `db:"message_count"`
	LastMessageAt sqlite.Micros       `db:"last_message_at"`
	CreatedAt     sqlite.Micros       `db:"created_at"`
	UpdatedAt     sqlite.Micros       `db:"updated_at"`
	Data          string              `db:"data"`
}

// ConversationData is what a row of a conversation holds as JSON.
type ConversationData struct {
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
	Told          int64                `json:"told,omitempty"`
	AskedAt       sqlite.Micros        `json:"asked_at,omitempty"`
	LastFolder    string               `json:"last_folder,omitempty"`
}

func newConversationRow(c *core.Conversation) (conversationRow, error) {
	data, err := sqlite.Encode(ConversationData{
		Model:         c.Model,
		Settings:      c.Settings,
		SystemMessage: c.SystemMessage,
		System:        c.System,
		PinSystem:     c.PinSystem,
		PinTools:      c.PinTools,
		PinRev:        c.PinRev,
		PinKey:        c.PinKey,
		Prefix:        c.Prefix,
		Cut:           c.Cut,
		Shown:         c.Shown,
		Told:          c.Told,
		AskedAt:       sqlite.ToMicros(c.AskedAt),
		LastFolder:    c.LastFolder,
	})
	return conversationRow{
		ID:            c.ID,
		Agent:         c.Agent,
		IsDefault:     c.ID == core.DefaultConversation(c.Agent),
		Summary:       c.Summary,
		Hidden:        c.Hidden,
		Stale:         c.Stale,
		Rev:           c.Rev,
		LastMessageAt: sqlite.ToMicros(c.LastMessageAt),
		CreatedAt:     sqlite.ToMicros(c.CreatedAt),
		UpdatedAt:     sqlite.ToMicros(c.UpdatedAt),
		Data:          data,
	}, err
}

func (r *conversationRow) conversation() (core.Conversation, error) {
	var d ConversationData
	err := sqlite.Decode(r.Data, &d)
	return core.Conversation{
		ID:            r.ID,
		Agent:         r.Agent,
		Summary:       r.Summary,
		Model:         d.Model,
		Settings:      d.Settings,
		Hidden:        r.Hidden,
		SystemMessage: d.SystemMessage,
		System:        d.System,
		Stale:         r.Stale,
		PinSystem:     d.PinSystem,
		PinTools:      d.PinTools,
		PinRev:        d.PinRev,
		PinKey:        d.PinKey,
		Prefix:        d.Prefix,
		Cut:           d.Cut,
		Rev:           r.Rev,
		Shown:         d.Shown,
		Told:          d.Told,
		AskedAt:       d.AskedAt.Time(),
		LastMessageAt: r.LastMessageAt.Time(),
		LastFolder:    d.LastFolder,
		MessageCount:  r.MessageCount,
		CreatedAt:     r.CreatedAt.Time(),
		UpdatedAt:     r.UpdatedAt.Time(),
	}, err
}

const selectConversations = `SELECT c.id, c.agent_id, c.is_default, c.summary, c.hidden, c.stale, c.rev, c.message_count, c.last_message_at,
	c.created_at, c.updated_at, c.data FROM conversations c`

func (s conversations) Create(ctx context.Context, c *core.Conversation) error {
	row, err := newConversationRow(c)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "create conversation", func(ctx context.Context, q *sqlite.Querier) error {
		if err := living(ctx, q, "agents", "agent", string(c.Agent)); err != nil {
			return err
		}
		_, err := q.Named(ctx, `INSERT INTO conversations
			(id, agent_id, is_default, summary, hidden, stale, rev, last_message_at, created_at, updated_at, data) VALUES
			(:id, :agent_id, :is_default, :summary, :hidden, :stale, :rev, :last_message_at, :created_at, :updated_at, :data)`, row)
		return err
	})
}

func (s conversations) Get(ctx context.Context, id core.ConversationID) (core.Conversation, error) {
	ctx, q := s.v.read(ctx)
	c, err := sqlite.One(ctx, q, "conversation", string(id), (*conversationRow).conversation,
		selectConversations+` WHERE c.id = $1 AND c.deleted_at IS NULL`, id)
	if errors.Is(err, core.ErrDamaged) {
		err = core.E(core.Internal, "%w; its agent can be talked to in another one", err).
			WithHint("loci --agent %s --conversation new", string(c.Agent))
	}
	return c, err
}

// Update leaves the message counter alone, and the time of the last message where none is given.
func (s conversations) Update(ctx context.Context, c *core.Conversation) error {
	row, err := newConversationRow(c)
	if err != nil {
		return err
	}
	return s.v.write(ctx, "update conversation", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Named(ctx, `UPDATE conversations SET summary = :summary, hidden = :hidden, stale = :stale, rev = :rev,
			last_message_at = CASE WHEN :last_message_at = 0 THEN last_message_at ELSE :last_message_at END,
			updated_at = :updated_at, data = :data WHERE id = :id AND deleted_at IS NULL`, row)
		if err == nil && n == 0 {
			return sqlite.NotFound("conversation", string(c.ID))
		}
		return err
	})
}

func (s conversations) Delete(ctx context.Context, id core.ConversationID) error {
	return s.v.write(ctx, "delete conversation", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE conversations SET deleted_at = $1 WHERE id = $2 AND deleted_at IS NULL`, s.v.s.now(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return sqlite.NotFound("conversation", string(id))
		}
		_, err = q.Exec(ctx, `UPDATE agents SET message_count = message_count - (SELECT message_count FROM conversations WHERE id = $1)
			WHERE id = (SELECT agent_id FROM conversations WHERE id = $1)`, id)
		if err != nil {
			return err
		}
		return changed(ctx, q, kindConversation, string(id), opDelete)
	})
}

func (s conversations) List(ctx context.Context, f core.ConversationFilter, p core.Page) ([]core.Conversation, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "conversations", Cursor: "id", Minor: "id", Alias: "c.", Noun: "conversation"}
	switch p.OrderBy {
	case "", "created_at":
		o.Major = "created_at"
	case "updated_at":
		o.Major = "updated_at"
	case "last_message_at", "last_run_completion":
		o.Major = "last_message_at"
	default:
		return nil, core.E(core.Invalid, "conversations cannot be ordered by %q", p.OrderBy).
			WithHint("use created_at, updated_at or last_message_at")
	}
	w := &sqlite.Where{}
	w.And("c.deleted_at IS NULL AND NOT c.is_default")
	if f.Agent != "" {
		w.And("c.agent_id = ?", f.Agent)
	}
	if !f.Hidden {
		w.And("NOT c.hidden")
	}
	if f.SummarySearch != "" {
		w.And(`LOWER(c.summary) LIKE LOWER(?) ESCAPE '\'`, sqlite.Contains(f.SummarySearch))
	}
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	return page(ctx, s.v, q, "list conversations", (*conversationRow).conversation, selectConversations+w.String()+tail, w.Args...)
}

func (s conversations) MarkStale(ctx context.Context, ids ...core.AgentID) error {
	if len(ids) == 0 {
		return nil
	}
	return s.v.write(ctx, "mark conversations stale", func(ctx context.Context, q *sqlite.Querier) error {
		for chunk := range sqlite.Chunks(ids) {
			w := &sqlite.Where{}
			w.And("deleted_at IS NULL")
			sqlite.In(w, "id", chunk) // the id of a default conversation is its agent's
			if _, err := q.Exec(ctx, `UPDATE conversations SET stale = TRUE`+w.String(), w.Args...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s conversations) LastMessage(ctx context.Context, id core.ConversationID) (time.Time, error) {
	ctx, q := s.v.read(ctx)
	var at sqlite.Micros
	_, err := q.Find(ctx, &at, `SELECT created_at FROM messages WHERE conversation_id = $1 AND role IN ('user', 'assistant')
		AND hidden = '' AND deleted_at IS NULL ORDER BY seq DESC LIMIT 1`, id)
	return at.Time(), sqlite.Classify("get last message", err)
}
