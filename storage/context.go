package storage

import (
	"context"
	"slices"
	"strings"

	"loci/core"
	"loci/storage/sqlite"
)

// contextRow is one interval during which a message was part of what a conversation sends, with the message itself.
type contextRow struct {
	messageRow
	InConversation core.ConversationID `db:"in_conversation"`
	Position       int64               `db:"position"`
	Entered        int                 `db:"entered"`
	Left           *int                `db:"left_rev"`
	Why            core.LeftWhy        `db:"why"`
	CutTo          int                 `db:"cut_to"`
}

func (r *contextRow) inContext() (core.InContext, error) {
	m, err := r.message()
	row := core.ContextRow{
		Conversation: r.InConversation, Message: r.ID, Position: r.Position, Entered: r.Entered, Why: r.Why, CutTo: r.CutTo,
	}
	if r.Left != nil {
		row.Left = *r.Left
	}
	return core.InContext{Row: row, Message: m}, err
}

const selectContext = `SELECT ` + messageColumns + `, c.conversation_id AS in_conversation, c.position, c.entered, c."left" AS ` +
	`left_rev, c.why, c.cut_to
	FROM context c JOIN messages m ON m.id = c.message_id`

// Enter opens rows behind everything that ever entered the conversation.
func (s messages) Enter(ctx context.Context, conv core.ConversationID, rev int, ids []core.MessageID, cutTo map[core.MessageID]int) error {
	if len(ids) == 0 {
		return nil
	}
	return s.v.atomic(ctx, "enter context", func(ctx context.Context, q *sqlite.Querier) error {
		var last int64
		if err := q.Get(ctx, &last, `SELECT COALESCE(MAX(position), 0) FROM context WHERE conversation_id = $1`, conv); err != nil {
			return err
		}
		for chunk := range sqlite.Chunks(ids) {
			w := &sqlite.Where{}
			values := make([]string, len(chunk))
			for i, id := range chunk {
				last++
				values[i] = w.Bind("(?, ?, ?, ?, '', ?)", conv, id, last, rev, cutTo[id])
			}
			_, err := q.Exec(
				ctx,
				`INSERT INTO context (conversation_id, message_id, position, entered, why, cut_to) VALUES `+strings.Join(values, ", "),
				w.Args...)
			if err != nil {
				return err
			}
			// A row closed by reset or rewind had hidden its message from search.
			if err := reindex(ctx, q, conv, chunk, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// reindex tells search about messages whose visibility a reset or rewind changed; if again, about those alone that had left
// this or any other conversation by one.
func reindex(ctx context.Context, q *sqlite.Querier, conv core.ConversationID, ids []core.MessageID, again bool) error {
	w := &sqlite.Where{}
	if again {
		w.And("why IN ('reset', 'rewind')")
	} else {
		w.And("conversation_id = ?", conv)
	}
	sqlite.In(w, "message_id", ids)
	_, err := q.Exec(
		ctx,
		`INSERT INTO changes (kind, id, op) SELECT DISTINCT '`+kindMessage+`', message_id, '`+opWrite+`' FROM context`+w.String(),
		w.Args...)
	return err
}

func (s messages) EnterFirst(ctx context.Context, conv core.ConversationID, rev int, id core.MessageID) error {
	return s.v.write(ctx, "enter context", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(
			ctx,
			`INSERT INTO context (conversation_id, message_id, position, entered, why, cut_to) VALUES ($1, $2, 0, $3, '', 0)`,
			conv,
			id,
			rev,
		)
		return err
	})
}

func (s messages) Leave(ctx context.Context, conv core.ConversationID, rev int, why core.LeftWhy, ids []core.MessageID) error {
	if len(ids) == 0 {
		return nil
	}
	return s.v.atomic(
		ctx,
		"leave context",
		func(ctx context.Context, q *sqlite.Querier) error { return leave(ctx, q, conv, rev, why, ids) },
	)
}

// leaveAtOnce is how many rows one statement closes. Their ids are random, so that a few of them lie all over an index:
// a long window costs several times as much where it leaves in small parts.
const leaveAtOnce = 20_000

func leave(ctx context.Context, q *sqlite.Querier, conv core.ConversationID, rev int, why core.LeftWhy, ids []core.MessageID) error {
	for chunk := range slices.Chunk(ids, leaveAtOnce) {
		w := &sqlite.Where{}
		set := w.Bind(`"left" = ?, why = ?`, rev, why)
		w.And(`conversation_id = ? AND "left" IS NULL`, conv)
		sqlite.In(w, "message_id", chunk)
		if _, err := q.Exec(ctx, `UPDATE context SET `+set+w.String(), w.Args...); err != nil {
			return err
		}
	}
	if why != core.LeftReset && why != core.LeftRewind {
		return nil
	}
	for chunk := range sqlite.Chunks(ids) {
		if err := reindex(ctx, q, conv, chunk, false); err != nil {
			return err
		}
	}
	return nil
}

func (s messages) Context(ctx context.Context, conv core.ConversationID) ([]core.InContext, error) {
	return s.rows(ctx, `WHERE c.conversation_id = $1 AND c."left" IS NULL ORDER BY c.position, m.seq`, conv)
}

// ContextAt reads the open rows and those closed later as two ranges, so that a recent rev costs what the window holds
// and not what the history does.
func (s messages) ContextAt(ctx context.Context, conv core.ConversationID, rev int) ([]core.InContext, error) {
	return s.rows(ctx, `WHERE c.conversation_id = $1 AND c.entered <= $2 AND c."left" IS NULL
		UNION ALL `+selectContext+` WHERE c.conversation_id = $1 AND c.entered <= $2 AND c."left" > $2 ORDER BY position, seq`, conv, rev)
}

// Waiting finds few candidates by the index of approval records, and of them those that nothing came after.
func (s messages) Waiting(ctx context.Context, agent core.AgentID) ([]core.InContext, error) {
	rows, err := s.rows(ctx, `WHERE m.role = 'approval' AND m.deleted_at IS NULL AND c."left" IS NULL AND ($1 = '' OR m.agent_id = $1)
		AND EXISTS (SELECT 1 FROM conversations v WHERE v.id = c.conversation_id AND v.deleted_at IS NULL)
		AND NOT EXISTS (SELECT 1 FROM context n JOIN messages x ON x.id = n.message_id WHERE n.conversation_id = c.conversation_id
			AND n."left" IS NULL AND n.position > c.position AND x.role <> 'summary' AND x.hidden <> 'marker') ORDER BY m.seq`, agent)
	return slices.DeleteFunc(rows, func(r core.InContext) bool { return !r.Message.Asks() }), err
}

func (s messages) rows(ctx context.Context, tail string, args ...any) ([]core.InContext, error) {
	ctx, q := s.v.read(ctx)
	var rows []contextRow
	if err := q.All(ctx, &rows, selectContext+" "+tail, args...); err != nil {
		return nil, sqlite.Classify("read context", err)
	}
	return sqlite.Convert(rows, (*contextRow).inContext)
}

func (s messages) ContextIDs(ctx context.Context, conv core.ConversationID) ([]core.MessageID, error) {
	ctx, q := s.v.read(ctx)
	ids := []core.MessageID{}
	err := q.All(ctx, &ids, `SELECT m.id FROM context c JOIN messages m ON m.id = c.message_id
		WHERE c.conversation_id = $1 AND c."left" IS NULL AND m.hidden = '' ORDER BY c.position, m.seq`, conv)
	return ids, sqlite.Classify("list context", err)
}
