package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

type rewinds struct{ v *scope }

type rewindRow struct {
	Number       int64               `db:"number"`
	ID           core.RewindID       `db:"id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Step         core.StepID         `db:"step_id"`
	Undoes       core.RewindID       `db:"undoes"`
	Rev          int                 `db:"rev"`
	CreatedAt    sqlite.Micros       `db:"created_at"`
	Data         string              `db:"data"`
}

type rewindData struct {
	Before  bool             `json:"before,omitempty"`
	Shared  bool             `json:"shared,omitempty"`
	State   string           `json:"state"`
	Blocks  []core.BlockID   `json:"blocks,omitempty"`
	Revived []core.BlockID   `json:"revived,omitempty"`
	Taken   []core.PassageID `json:"taken,omitempty"`
	Brought []core.PassageID `json:"brought,omitempty"`
	Missing []string         `json:"missing,omitempty"`
	By      string           `json:"by,omitempty"`
}

func (r *rewindRow) rewind() (core.Rewind, error) {
	var d rewindData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.Rewind{}, err
	}
	return core.Rewind{
		ID:           r.ID,
		Number:       r.Number,
		Agent:        r.Agent,
		Conversation: r.Conversation,
		Step:         r.Step,
		Undoes:       r.Undoes,
		Before:       d.Before,
		Shared:       d.Shared,
		Rev:          r.Rev,
		State:        d.State,
		Blocks:       d.Blocks,
		Revived:      d.Revived,
		Taken:        d.Taken,
		Brought:      d.Brought,
		Missing:      d.Missing,
		By:           d.By,
		CreatedAt:    r.CreatedAt.Time(),
	}, nil
}

const selectRewinds = `SELECT w.number, w.id, w.agent_id, w.conversation_id, w.step_id, w.undoes, w.rev, ` +
	`w.created_at, w.data FROM rewinds w`

func (s rewinds) Create(ctx context.Context, r *core.Rewind) error {
	data, err := sqlite.Encode(rewindData{
		Before:  r.Before,
		Shared:  r.Shared,
		State:   r.State,
		Blocks:  r.Blocks,
		Revived: r.Revived,
		Taken:   r.Taken,
		Brought: r.Brought,
		Missing: r.Missing,
		By:      r.By,
	})
	if err != nil {
		return err
	}
	row := rewindRow{
		ID:           r.ID,
		Agent:        r.Agent,
		Conversation: r.Conversation,
		Step:         r.Step,
		Undoes:       r.Undoes,
		Rev:          r.Rev,
		CreatedAt:    sqlite.ToMicros(r.CreatedAt),
		Data:         data,
	}
	return s.v.atomic(ctx, "create rewind", func(ctx context.Context, q *sqlite.Querier) error {
		err := q.NamedGet(ctx, &r.Number, `INSERT INTO rewinds
			(id, agent_id, conversation_id, step_id, undoes, rev, after_step, created_at, data) VALUES
			(:id, :agent_id, :conversation_id, :step_id, :undoes, :rev, (SELECT COALESCE(MAX(num), 0) FROM steps), :created_at, :data)
			RETURNING number`, row)
		if err != nil {
			return err
		}
		for _, p := range []struct {
			ids   []core.PassageID
			taken bool
		}{{r.Taken, true}, {r.Brought, false}} {
			for _, id := range p.ids {
				_, err := q.Exec(ctx, `INSERT INTO rewind_passages (passage_id, rewind, taken) VALUES ($1, $2, $3)`, id, r.Number, p.taken)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s rewinds) Get(ctx context.Context, id core.RewindID) (core.Rewind, error) {
	ctx, q := s.v.read(ctx)
	var row rewindRow
	ok, err := q.Find(
		ctx,
		&row,
		selectRewinds+` JOIN conversations c ON c.id = w.conversation_id AND c.deleted_at IS NULL WHERE w.id = $1`,
		id,
	)
	if err != nil {
		return core.Rewind{}, sqlite.Classify("get rewind", err)
	}
	if !ok {
		return core.Rewind{}, sqlite.NotFound("rewind", string(id))
	}
	return row.rewind()
}

func (s rewinds) List(ctx context.Context, conv core.ConversationID, p core.Page) ([]core.Rewind, error) {
	ctx, q := s.v.read(ctx)
	o := sqlite.Order{Table: "rewinds", Cursor: "id", Major: "number", Minor: "id", Alias: "w.", Noun: "rewind"}
	w := &sqlite.Where{}
	w.And("w.conversation_id = ?", conv)
	tail, err := o.Paged(ctx, q, w, p, 50)
	if err != nil {
		return nil, err
	}
	var rows []rewindRow
	if err := q.All(ctx, &rows, selectRewinds+w.String()+tail, w.Args...); err != nil {
		return nil, sqlite.Classify("list rewinds", err)
	}
	return sqlite.Convert(rows, (*rewindRow).rewind)
}

// Passages compares what is there with what was: a passage was there if its step was before the point, and the last
// rewind before the point that touched it did not take it.
func (s rewinds) Passages(
	ctx context.Context,
	agent core.AgentID,
	archives []core.ArchiveID,
	at core.RewindPoint,
) (take, bring []core.PassageID, err error) {
	if len(archives) == 0 {
		return nil, nil, nil
	}
	ctx, q := s.v.read(ctx)
	var before struct {
		Step   int64 `db:"step"`   // the last step before the point
		Rewind int64 `db:"rewind"` // the first rewind that is not
	}
	var ok bool
	if at.Step != "" {
		ok, err = q.Find(
			ctx,
			&before,
			`SELECT s.num - 1 AS step, COALESCE((SELECT MAX(number) FROM rewinds WHERE after_step < s.num), 0) + 1 AS rewind
			FROM steps s WHERE s.id = $1`,
			at.Step,
		)
	} else {
		ok, err = q.Find(ctx, &before, `SELECT after_step AS step, number AS rewind FROM rewinds WHERE id = $1`, at.Rewind)
	}
	if err != nil {
		return nil, nil, sqlite.Classify("find a point in the past", err)
	}
	if !ok {
		return nil, nil, core.E(core.NotFound, "there is no step or rewind %s%s", at.Step, at.Rewind)
	}
	const last = `COALESCE((SELECT r.taken FROM rewind_passages r WHERE r.passage_id = p.id AND r.rewind < ? ORDER BY ` +
		`r.rewind DESC LIMIT 1), FALSE)`
	w := &sqlite.Where{}
	columns := w.Bind(
		`SELECT p.id, p.deleted_at IS NULL AS living, s.num <= ? AND NOT `+last+` AS wanted, EXISTS (SELECT 1 FROM rewind_passages r
		WHERE r.passage_id = p.id AND r.taken AND r.rewind = (SELECT MAX(x.rewind) FROM rewind_passages x WHERE x.passage_id = `+
			`p.id)) AS taken
		FROM steps s JOIN passages p ON p.step_id = s.id AND p.step_id <> ''`,
		before.Step,
		before.Rewind,
	)
	w.And("s.agent_id = ? AND p.agent_id = ?", agent, agent)
	w.And("(s.num > ? OR p.id IN (SELECT passage_id FROM rewind_passages))", before.Step)
	sqlite.In(w, "p.archive_id", archives)
	var rows []struct {
		ID     core.PassageID `db:"id"`
		Living bool           `db:"living"`
		Wanted bool           `db:"wanted"`
		Taken  bool           `db:"taken"` // what deleted it was a rewind
	}
	if err := q.All(ctx, &rows, columns+w.String()+` ORDER BY p.seq`, w.Args...); err != nil {
		return nil, nil, sqlite.Classify("compare passages", err)
	}
	for _, r := range rows {
		switch {
		case r.Living && !r.Wanted:
			take = append(take, r.ID)
		case !r.Living && r.Wanted && r.Taken:
			bring = append(bring, r.ID)
		}
	}
	return take, bring, nil
}

// Revive counts a deleted passage in again.
func (s passages) Revive(ctx context.Context, id core.PassageID) error {
	return s.v.atomic(ctx, "revive passage", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE passages SET deleted_at = NULL WHERE id = $1 AND deleted_at IS NOT NULL`, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return core.E(core.NotFound, "there is no deleted passage %s", string(id))
		}
		p, err := getPassage(ctx, q, id)
		if err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `UPDATE archives SET passages = passages + 1 WHERE id = $1`, p.Archive); err != nil {
			return err
		}
		if err := countTags(ctx, q, p.Archive, nil, p.Tags); err != nil {
			return err
		}
		if err := sqlite.Retag(ctx, q, "passage_tags", "passage_id", string(id), p.Tags, false); err != nil {
			return err
		}
		return changed(ctx, q, kindPassage, string(id), opWrite)
	})
}

func (s blocks) Lineage(ctx context.Context, id core.BlockID) ([]core.BlockLink, error) {
	ctx, q := s.v.read(ctx)
	links := []core.BlockLink{}
	err := q.All(ctx, &links, `SELECT version, restores FROM block_versions WHERE block_id = $1 ORDER BY version`, id)
	return links, sqlite.Classify("read the line of a block", err)
}

// Revive takes the mark of a deleted block away. One that the sweeper has removed is made anew from its version; what
// versions do not hold (tags, metadata) is gone then.
func (s blocks) Revive(ctx context.Context, id core.BlockID, version int, by core.BlockAuthor) (core.Block, error) {
	var block core.Block
	err := s.v.atomic(ctx, "revive block", func(ctx context.Context, q *sqlite.Querier) error {
		if _, err := getBlock(ctx, q, id); core.KindOf(err) != core.NotFound {
			if err == nil {
				err = core.E(core.Conflict, "block %s is not deleted", string(id))
			}
			return err
		}
		kept, err := getVersion(ctx, q, id, version)
		if err != nil {
			return err
		}
		var newest int
		if err := q.Get(ctx, &newest, `SELECT MAX(version) FROM block_versions WHERE block_id = $1`, id); err != nil {
			return err
		}
		var old blockRow
		marked, err := q.Find(ctx, &old, selectBlocks+` WHERE b.id = $1`, id)
		if err != nil {
			return err
		}
		if marked {
			if block, err = old.block(); err != nil {
				return err
			}
		}
		now := s.v.s.now()
		block.ID, block.Version, block.UpdatedAt = id, newest+1, now.Time()
		block.Value, block.Label, block.Description, block.Limit = kept.Value, kept.Label, kept.Description, kept.Limit
		if !marked {
			block.CreatedAt = kept.At
		}
		row, err := newBlockRow(&block)
		if err != nil {
			return err
		}
		_, err = q.Named(ctx, `INSERT INTO blocks
			(id, label, template_name, value, description, limit_chars, hidden, version, created_at, updated_at, data) VALUES
			(:id, :label, :template_name, :value, :description, :limit_chars, :hidden, :version, :created_at, :updated_at, :data)
			ON CONFLICT (id) DO UPDATE SET label = :label, value = :value, description = :description, limit_chars = :limit_chars,
			version = :version, updated_at = :updated_at, deleted_at = NULL`, row)
		if err != nil {
			return err
		}
		if err := keepVersion(ctx, q, &block, by, now); err != nil {
			return err
		}
		return sqlite.Retag(ctx, q, "block_tags", "block_id", string(id), block.Tags, false)
	})
	return block, err
}

// interval is a context row without its message.
type interval struct {
	Message  core.MessageID `db:"message_id"`
	Position int64          `db:"position"`
	Entered  int            `db:"entered"`
	Left     *int           `db:"left_rev"`
	Why      core.LeftWhy   `db:"why"`
	CutTo    int            `db:"cut_to"`
}

// openAt reports whether the message was in the context at a rev by this row.
func (i *interval) openAt(rev int) bool { return i != nil && (i.Left == nil || *i.Left > rev) }

// shownAt is why a list showed a message that was not in the context at a rev; empty: it did not.
func (i *interval) shownAt(rev int) core.LeftWhy {
	if i == nil || i.openAt(rev) || i.Why != core.LeftEviction && i.Why != core.LeftCompaction {
		return ""
	}
	return i.Why
}

// Restore writes what differs between now and then, and nothing else: rows are closed and opened, never changed.
func (s messages) Restore(ctx context.Context, conv core.ConversationID, rev, to int) error {
	return s.v.atomic(ctx, "restore context", func(ctx context.Context, q *sqlite.Querier) error {
		var rows []interval
		err := q.All(ctx, &rows, `SELECT message_id, position, entered, "left" AS left_rev, why, cut_to FROM context
			WHERE conversation_id = $1 AND position <> 0 AND message_id IN
				(SELECT message_id FROM context WHERE conversation_id = $1 AND (entered > $2 OR "left" > $2))
			ORDER BY message_id, entered`, conv, to)
		if err != nil {
			return err
		}
		w := &contextChange{conv: conv, rev: rev, close: map[core.LeftWhy][]core.MessageID{}}
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n].Message == rows[0].Message {
				n++
			}
			w.add(rows[:n], to)
			rows = rows[n:]
		}
		return w.write(ctx, q)
	})
}

// contextChange is what a restored context needs written.
type contextChange struct {
	conv    core.ConversationID
	rev     int
	close   map[core.LeftWhy][]core.MessageID
	rows    []interval
	reindex []core.MessageID
}

// add compares the newest row of a message with the one of then; rows are those of one message, oldest first.
func (w *contextChange) add(rows []interval, to int) {
	now := &rows[len(rows)-1]
	var then *interval
	for i := range rows {
		if rows[i].Entered <= to {
			then = &rows[i]
		}
	}
	open, isOpen := then.openAt(to), now.Left == nil
	why := then.shownAt(to)
	if why == "" {
		why = core.LeftRewind
	}
	switch {
	case open && isOpen && then.Position == now.Position && then.CutTo == now.CutTo:
		return
	case open:
		if isOpen {
			w.close[core.LeftRewind] = append(w.close[core.LeftRewind], now.Message)
		}
		w.rows = append(w.rows, interval{Message: now.Message, Position: then.Position, Entered: w.rev, CutTo: then.CutTo})
	case isOpen:
		w.close[why] = append(w.close[why], now.Message)
	case then.shownAt(to) != now.shownAt(w.rev):
		position, cut := now.Position, now.CutTo
		if then != nil {
			position, cut = then.Position, then.CutTo
		}
		w.rows = append(w.rows, interval{Message: now.Message, Position: position, Entered: w.rev, Left: &w.rev, Why: why, CutTo: cut})
	default:
		return
	}
	w.reindex = append(w.reindex, now.Message)
}

func (w *contextChange) write(ctx context.Context, q *sqlite.Querier) error {
	for why, ids := range w.close {
		if err := leave(ctx, q, w.conv, w.rev, why, ids); err != nil {
			return err
		}
	}
	for _, r := range w.rows {
		_, err := q.Exec(ctx, `INSERT INTO context (conversation_id, message_id, position, entered, "left", why, cut_to)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, w.conv, r.Message, r.Position, r.Entered, r.Left, r.Why, r.CutTo)
		if err != nil {
			return err
		}
	}
	for chunk := range sqlite.Chunks(w.reindex) {
		if err := reindex(ctx, q, w.conv, chunk, false); err != nil {
			return err
		}
	}
	return nil
}
