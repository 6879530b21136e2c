package storage

import (
	"context"
	"encoding/json"
	"slices"

	"loci/core"
	"loci/storage/images"
	"loci/storage/sqlite"
)

type messages struct{ v *scope }

type messageRow struct {
	Seq          int64               `db:"seq"`
	ID           core.MessageID      `db:"id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Run          core.RunID          `db:"run_id"`
	Step         core.StepID         `db:"step_id"`
	Role         core.Role           `db:"role"`
	Hidden       core.HiddenKind     `db:"hidden"`
	IsError      bool                `db:"is_error"`
	Tokens       int                 `db:"tokens"`
	CreatedAt    sqlite.Micros       `db:"created_at"`
	Preface      string              `db:"preface"`
	Native       *string             `db:"native"`
	Data         string              `db:"data"`
}

// MessageData is what a row of a message holds as JSON.
type MessageData struct {
	Content  []core.Content    `json:"content,omitempty"`
	Returns  []core.ToolReturn `json:"returns,omitempty"`
	Name     string            `json:"name,omitempty"`
	OTID     string            `json:"otid,omitempty"`
	SenderID string            `json:"sender_id,omitempty"`
	Model    core.Handle       `json:"model,omitempty"`

	Compaction *core.CompactionStats `json:"compaction,omitempty"`
	Recalled   []string              `json:"recalled,omitempty"`
	Joins      core.MessageID        `json:"joins,omitempty"`
	Approval   *core.Approval        `json:"approval,omitempty"`
	RedactedAt sqlite.Micros         `json:"redacted_at,omitempty"`
}

func newMessageData(m *core.Message) MessageData {
	return MessageData{
		Content: m.Content, Returns: m.Returns, Name: m.Name, OTID: m.OTID, SenderID: m.SenderID, Model: m.Model, Compaction: m.Compaction,
		Recalled: m.Recalled, Joins: m.Joins, Approval: m.Approval, RedactedAt: sqlite.ToMicros(m.RedactedAt),
	}
}

// into sets the fields of a message that the data holds.
func (d *MessageData) into(m *core.Message) {
	m.Content, m.Returns, m.Name, m.OTID, m.SenderID, m.Model = d.Content, d.Returns, d.Name, d.OTID, d.SenderID, d.Model
	m.Compaction, m.Recalled, m.Joins, m.Approval, m.RedactedAt = d.Compaction, d.Recalled, d.Joins, d.Approval, d.RedactedAt.Time()
}

func newMessageRow(m *core.Message) (messageRow, error) {
	row := messageRow{
		ID: m.ID, Agent: m.Agent, Conversation: m.Conversation, Run: m.Run, Step: m.Step, Role: m.Role, Hidden: m.Hidden,
		IsError: m.IsError, Tokens: m.Tokens, CreatedAt: sqlite.ToMicros(m.CreatedAt), Preface: m.Preface,
	}
	var err error
	if m.Native != nil {
		native, err := sqlite.Encode(m.Native)
		if err != nil {
			return row, err
		}
		row.Native = &native
	}
	row.Data, err = sqlite.Encode(newMessageData(m))
	return row, err
}

// bytes is the length of what may be long.
func (r *messageRow) bytes() int {
	n := len(r.Data) + len(r.Preface)
	if r.Native != nil {
		n += len(*r.Native)
	}
	return n
}

// damagedText takes the place of what cannot be read, so that the thread around it can.
const damagedText = "[This message is damaged and cannot be read. `loci doctor` names it.]"

// message is the message, or one that says that it is damaged.
func (r *messageRow) message() (core.Message, error) {
	m, err := r.decode()
	if err != nil {
		m = r.outline()
		m.Content = []core.Content{core.Text(damagedText)}
	}
	return m, nil
}

// outline is what a row says of a message without its data.
func (r *messageRow) outline() core.Message {
	return core.Message{
		ID: r.ID, Agent: r.Agent, Conversation: r.Conversation, Run: r.Run, Step: r.Step, Role: r.Role, Preface: r.Preface,
		Hidden: r.Hidden, IsError: r.IsError, Tokens: r.Tokens, Seq: r.Seq, CreatedAt: r.CreatedAt.Time(),
	}
}

func (r *messageRow) decode() (core.Message, error) {
	var d MessageData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.Message{}, err
	}
	m := r.outline()
	d.into(&m)
	if r.Native != nil {
		m.Native = &core.Native{}
		if err := sqlite.Decode(*r.Native, m.Native); err != nil {
			return core.Message{}, err
		}
	}
	return m, nil
}

// readable is false of messages with a number that is none: SQLite keeps a text in any column.
const readable = `typeof(m.tokens) = 'integer' AND typeof(m.created_at) = 'integer' AND m.is_error IN (0, 1)`

// messageColumns take the data away where a number is none, so that one such row counts as damaged and no list fails by it;
// where there is nothing instead of a text, it is an empty one.
const messageColumns = `m.seq, COALESCE(m.id, '') AS id, COALESCE(m.agent_id, '') AS agent_id,
	COALESCE(m.conversation_id, '') AS conversation_id, COALESCE(m.run_id, '') AS run_id, COALESCE(m.step_id, '') AS step_id,
	COALESCE(m.role, '') AS role, COALESCE(m.hidden, '') AS hidden,
	COALESCE(m.is_error IN (1), FALSE) AS is_error, iif(typeof(m.tokens) = 'integer', m.tokens, 0) AS tokens,
	iif(typeof(m.created_at) = 'integer', m.created_at, 0) AS created_at, COALESCE(m.preface, '') AS preface, m.native,
	COALESCE(iif(` + readable + `, m.data, ''), '') AS data`

// alive is true of messages that are not deleted and whose conversation, or a fork that shares them, is not.
const alive = `m.deleted_at IS NULL AND (EXISTS (SELECT 1 FROM conversations v WHERE v.id = m.conversation_id AND v.deleted_at IS NULL)
	OR EXISTS (SELECT 1 FROM context y JOIN conversations v ON v.id = y.conversation_id WHERE y.message_id = m.id ` +
	`AND v.deleted_at IS NULL))`

func (s messages) Insert(ctx context.Context, msgs ...*core.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	return s.v.atomic(ctx, "insert messages", func(ctx context.Context, q *sqlite.Querier) error {
		counts := counters{}
		for _, m := range msgs {
			row, err := newMessageRow(m)
			if err != nil {
				return err
			}
			err = q.NamedGet(ctx, &m.Seq, `INSERT INTO messages
				(id, agent_id, conversation_id, run_id, step_id, role, hidden, is_error, tokens, created_at, preface, native, data) VALUES
				(:id, :agent_id, :conversation_id, :run_id, :step_id, :role, :hidden, :is_error, :tokens, :created_at, :preface, `+
				`:native, :data)
				RETURNING seq`, row)
			if err != nil {
				return err
			}
			if err := images.NoteUses(ctx, q, string(m.ID), m); err != nil {
				return err
			}
			counts.add(m)
			if m.Hidden == core.NotHidden && m.Role.Searchable() {
				if err := changed(ctx, q, kindMessage, string(m.ID), opWrite); err != nil {
					return err
				}
			}
		}
		return counts.write(ctx, q)
	})
}

// counter is what an insert adds to a conversation.
type counter struct {
	agent   core.AgentID
	visible int
	last    sqlite.Micros // of a user or assistant message
}

type counters struct {
	order []core.ConversationID
	of    map[core.ConversationID]*counter
}

func (c *counters) add(m *core.Message) {
	n := c.of[m.Conversation]
	if n == nil {
		if c.of == nil {
			c.of = map[core.ConversationID]*counter{}
		}
		n = &counter{agent: m.Agent}
		c.of[m.Conversation] = n
		c.order = append(c.order, m.Conversation)
	}
	if m.Hidden != core.NotHidden {
		return
	}
	n.visible++
	if m.Role == core.RoleUser || m.Role == core.RoleAssistant {
		n.last = max(n.last, sqlite.ToMicros(m.CreatedAt))
	}
}

// write raises the counters; a conversation that is gone takes no messages.
func (c *counters) write(ctx context.Context, q *sqlite.Querier) error {
	for _, id := range c.order {
		n := c.of[id]
		changed, err := q.Exec(ctx, `UPDATE conversations SET message_count = message_count + $1,
			last_message_at = CASE WHEN last_message_at < $2 THEN $2 ELSE last_message_at END WHERE id = $3 AND deleted_at IS NULL`,
			n.visible, n.last, id)
		if err != nil {
			return err
		}
		if changed == 0 {
			return sqlite.NotFound("conversation", string(id))
		}
		if _, err := q.Exec(ctx, `UPDATE agents SET message_count = message_count + $1 WHERE id = $2`, n.visible, n.agent); err != nil {
			return err
		}
	}
	return nil
}

func (s messages) Get(ctx context.Context, id core.MessageID) (core.Message, error) {
	ctx, q := s.v.read(ctx)
	return sqlite.One(ctx, q, "message", string(id), (*messageRow).message,
		`SELECT `+messageColumns+` FROM messages m WHERE m.id = $1 AND `+alive, id)
}

// SetText replaces the text of a message and the estimate of its size.
func (s messages) SetText(ctx context.Context, id core.MessageID, text string) error {
	return s.v.write(ctx, "set text of message", func(ctx context.Context, q *sqlite.Querier) error {
		var row messageRow
		ok, err := q.Find(ctx, &row, `SELECT `+messageColumns+` FROM messages m WHERE m.id = $1 AND `+alive, id)
		if err != nil {
			return err
		}
		if !ok {
			return sqlite.NotFound("message", string(id))
		}
		var d MessageData
		if err := json.Unmarshal([]byte(row.Data), &d); err != nil {
			return core.E(core.Internal, "decode message %s: %w", id, err)
		}
		d.Content = []core.Content{core.Text(text)}
		data, err := sqlite.Encode(d)
		if err != nil {
			return err
		}
		if _, err := q.Exec(
			ctx,
			`UPDATE messages SET data = $1, tokens = $2 WHERE id = $3`,
			data,
			core.EstimateTokens(text),
			id,
		); err != nil {
			return err
		}
		if row.Hidden == core.NotHidden && row.Role.Searchable() {
			return changed(ctx, q, kindMessage, string(id), opWrite)
		}
		return nil
	})
}

// filter adds what a list and a search have in common.
func (s messages) filter(w *sqlite.Where, f core.MessageFilter) {
	w.And("m.hidden = ? AND "+alive, f.Hidden)
	if f.Agent != "" {
		w.And("m.agent_id = ?", f.Agent)
	}
	if f.Run != "" {
		w.And("m.run_id = ? AND m.run_id <> ''", f.Run) // as the index has it
	}
	if f.Step != "" {
		w.And("m.step_id = ? AND m.step_id <> ''", f.Step)
	}
	sqlite.In(w, "m.role", f.Roles)
	if !f.From.IsZero() {
		w.And("m.created_at >= ?", sqlite.ToMicros(f.From))
	}
	if !f.Until.IsZero() {
		w.And("m.created_at < ?", sqlite.ToMicros(f.Until))
	}
	if !f.IncludeErr {
		w.And("NOT m.is_error")
	}
}

// shown is true of the newest row of a message in a conversation, if a list may show it.
const shown = `c.entered = (SELECT MAX(x.entered) FROM context x WHERE x.conversation_id = c.conversation_id AND x.message_id = ` +
	`c.message_id)
	AND (c."left" IS NULL OR c.why IN ('eviction', 'compaction'))`

func (s messages) List(ctx context.Context, f core.MessageFilter, p core.Page) ([]core.Message, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	from, key, backwards := ` FROM messages m`, "m.seq", "m.seq DESC"
	if f.Conversation != "" {
		// A fork shows messages of the conversation it came from: the context rows say what belongs to it.
		from, key, backwards = ` FROM context c JOIN messages m ON m.id = c.message_id`, "c.position, m.seq", "c.position DESC, m.seq DESC"
		w.And("c.conversation_id = ?", f.Conversation)
		w.And("EXISTS (SELECT 1 FROM conversations o WHERE o.id = c.conversation_id AND o.deleted_at IS NULL)")
		w.And(shown)
	}
	s.filter(w, f)
	for _, cursor := range []struct {
		id  string
		cmp string
	}{{p.After, ">"}, {p.Before, "<"}} {
		if cursor.id == "" {
			continue
		}
		at, err := s.place(ctx, q, f.Conversation, cursor.id)
		if err != nil {
			return nil, err
		}
		if f.Conversation == "" {
			w.And("m.seq "+cursor.cmp+" ?", at.Seq)
		} else {
			w.And("c.position "+cursor.cmp+"= ? AND (c.position, m.seq) "+cursor.cmp+" (?, ?)", at.Position, at.Position, at.Seq)
		}
	}
	sort := " ORDER BY " + key
	if p.Desc {
		sort = " ORDER BY " + backwards
	}
	limit := 100
	if p.Limit > 0 {
		limit = p.Limit
	}
	var rows []messageRow
	if err := q.All(ctx, &rows, `SELECT `+messageColumns+from+w.String()+sort+` LIMIT `+w.Arg(limit), w.Args...); err != nil {
		return nil, sqlite.Classify("list messages", err)
	}
	if p.Desc {
		slices.Reverse(rows)
	}
	return sqlite.Convert(rows, (*messageRow).message)
}

// spot is where a message stands in a list.
type spot struct {
	Seq      int64 `db:"seq"`
	Position int64 `db:"position"`
}

func (s messages) place(ctx context.Context, q *sqlite.Querier, conv core.ConversationID, id string) (spot, error) {
	var at spot
	var ok bool
	var err error
	if conv == "" {
		ok, err = q.Find(ctx, &at, `SELECT seq, 0 AS position FROM messages WHERE id = $1`, id)
	} else {
		ok, err = q.Find(ctx, &at, `SELECT m.seq, c.position FROM context c JOIN messages m ON m.id = c.message_id
			WHERE c.conversation_id = $1 AND c.message_id = $2 ORDER BY c.entered DESC LIMIT 1`, conv, id)
	}
	if err != nil {
		return at, sqlite.Classify("find cursor", err)
	}
	if !ok {
		return at, core.E(core.NotFound, "the cursor %s does not exist: no such message", id)
	}
	return at, nil
}

// notReset is false of messages whose newest row in their own conversation was closed by reset or rewind, unless a fork
// shows them. The plus keeps the index of what left a conversation out: all that was compacted away stands there.
const notReset = `(NOT EXISTS (SELECT 1 FROM context c WHERE c.conversation_id = m.conversation_id AND c.message_id = m.id
	AND +c."left" IS NOT NULL AND c.why NOT IN ('eviction', 'compaction')
	AND c.entered = (SELECT MAX(x.entered) FROM context x WHERE x.conversation_id = c.conversation_id AND x.message_id = c.message_id))
	OR EXISTS (SELECT 1 FROM context c JOIN conversations v ON v.id = c.conversation_id AND v.deleted_at IS NULL
		WHERE c.message_id = m.id AND c.conversation_id <> m.conversation_id AND ` + shown + `))`

func (s messages) Newest(ctx context.Context, f core.MessageFilter, before int64, limit int) ([]core.Message, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	s.filter(w, f)
	if f.Conversation != "" {
		w.And("m.conversation_id = ?", f.Conversation)
	}
	if before > 0 {
		w.And("m.seq < ?", before)
	}
	w.And(notReset)
	var rows []messageRow
	err := q.All(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String()+` ORDER BY m.seq DESC LIMIT `+w.Arg(limit), w.Args...)
	if err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return sqlite.Convert(rows, (*messageRow).message)
}

func (s messages) Among(ctx context.Context, f core.MessageFilter, ids []core.MessageID) ([]core.Message, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	sqlite.In(w, "m.id", ids)
	if f.Agent != "" {
		w.And("m.agent_id"+unindexed+" = ?", f.Agent)
		f.Agent = ""
	}
	s.filter(w, f)
	w.And(notReset)
	var rows []messageRow
	if err := q.All(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String(), w.Args...); err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return sqlite.Convert(rows, (*messageRow).message)
}
