package storage

import (
	"context"

	"loci/core"
	"loci/storage/passagelog"
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
	Unfinished   bool                `db:"unfinished"`
	Data         string              `db:"data"`
}

type rewindData struct {
	What    []core.RewindPart `json:"what,omitempty"`
	Before  bool              `json:"before,omitempty"`
	Shared  bool              `json:"shared,omitempty"`
	State   string            `json:"state"`
	Blocks  []core.BlockID    `json:"blocks,omitempty"`
	Revived []core.BlockID    `json:"revived,omitempty"`
	Taken   []core.PassageID  `json:"taken,omitempty"`
	Brought []core.PassageID  `json:"brought,omitempty"`
	Turned  []core.PassageID  `json:"turned,omitempty"`
	Missing []string          `json:"missing,omitempty"`
	Files   []string          `json:"files,omitempty"`
	Kept    []core.FileKept   `json:"kept,omitempty"`
	More    int               `json:"more,omitempty"`
	By      string            `json:"by,omitempty"`
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
		What:         d.What,
		Before:       d.Before,
		Shared:       d.Shared,
		Rev:          r.Rev,
		State:        d.State,
		Blocks:       d.Blocks,
		Revived:      d.Revived,
		Taken:        d.Taken,
		Brought:      d.Brought,
		Turned:       d.Turned,
		Missing:      d.Missing,
		Files:        core.FilesBack{Back: d.Files, Kept: d.Kept, More: d.More},
		Unfinished:   r.Unfinished,
		By:           d.By,
		CreatedAt:    r.CreatedAt.Time(),
	}, nil
}

const selectRewinds = `SELECT w.number, w.id, w.agent_id, w.conversation_id, w.step_id, w.undoes, w.rev, ` +
	`w.created_at, w.unfinished, w.data FROM rewinds w`

func (s rewinds) Create(ctx context.Context, r *core.Rewind) error {
	data, err := sqlite.Encode(rewindData{
		What:    r.What,
		Before:  r.Before,
		Shared:  r.Shared,
		State:   r.State,
		Blocks:  r.Blocks,
		Revived: r.Revived,
		Taken:   r.Taken,
		Brought: r.Brought,
		Turned:  r.Turned,
		Missing: r.Missing,
		Files:   r.Files.Back,
		Kept:    r.Files.Kept,
		More:    r.Files.More,
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
		Unfinished:   r.Unfinished,
		Data:         data,
	}
	return s.v.atomic(ctx, "create rewind", func(ctx context.Context, q *sqlite.Querier) error {
		err := q.NamedGet(ctx, &r.Number, `INSERT INTO rewinds
			(id, agent_id, conversation_id, step_id, undoes, rev, after_step, created_at, unfinished, data) VALUES
			(:id, :agent_id, :conversation_id, :step_id, :undoes, :rev, (SELECT COALESCE(MAX(num), 0) FROM steps), :created_at,
			:unfinished, :data)
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
	return sqlite.One(ctx, q, "rewind", string(id), (*rewindRow).rewind,
		selectRewinds+` JOIN conversations c ON c.id = w.conversation_id AND c.deleted_at IS NULL WHERE w.id = $1`, id)
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
	return page(ctx, s.v, q, "list rewinds", (*rewindRow).rewind, selectRewinds+w.String()+tail, w.Args...)
}

// Finish implements core.RewindStore.
func (s rewinds) Finish(ctx context.Context, id core.RewindID, files core.FilesBack) error {
	return s.v.atomic(ctx, "finish rewind", func(ctx context.Context, q *sqlite.Querier) error {
		var text string
		ok, err := q.Find(ctx, &text, `SELECT data FROM rewinds WHERE id = $1`, id)
		if err != nil || !ok { // the conversation was deleted meanwhile
			return err
		}
		var d rewindData
		if err := sqlite.Decode(text, &d); err != nil {
			return err
		}
		d.Files, d.Kept, d.More = files.Back, files.Kept, files.More
		if text, err = sqlite.Encode(d); err != nil {
			return err
		}
		_, err = q.Exec(ctx, `UPDATE rewinds SET unfinished = FALSE, data = $2 WHERE id = $1`, id, text)
		return err
	})
}

// mostUnfinished is how many are finished at once: each is one that a crash interrupted.
const mostUnfinished = 1000

// Unfinished implements core.RewindStore.
func (s rewinds) Unfinished(ctx context.Context) ([]core.Rewind, error) {
	ctx, q := s.v.read(ctx)
	return page(ctx, s.v, q, "list unfinished rewinds", (*rewindRow).rewind,
		selectRewinds+` WHERE w.unfinished ORDER BY w.number LIMIT $1`, mostUnfinished)
}

// Passages implements core.RewindStore.
func (s rewinds) Passages(
	ctx context.Context,
	agent core.AgentID,
	own, others []core.ArchiveID,
	at core.RewindPoint,
) (core.PassagesBack, error) {
	ctx, q := s.v.read(ctx)
	return passagelog.Back(ctx, q, agent, own, others, at)
}

func (s passages) Revive(ctx context.Context, id core.PassageID) error {
	return s.v.atomic(ctx, "revive passage", func(ctx context.Context, q *sqlite.Querier) error {
		var row passageRow
		ok, err := q.Find(ctx, &row, selectPassages+` WHERE p.id = $1 AND p.deleted_at IS NOT NULL`, id)
		if err != nil {
			return err
		}
		if !ok {
			return core.E(core.NotFound, "there is no deleted passage %s", string(id))
		}
		p, err := row.passage()
		if err != nil {
			return err
		}
		return revive(ctx, q, &p)
	})
}

// revive counts a deleted passage in again.
func revive(ctx context.Context, q *sqlite.Querier, p *core.Passage) error {
	if _, err := q.Exec(ctx, `UPDATE passages SET deleted_at = NULL WHERE id = $1`, p.ID); err != nil {
		return err
	}
	n, err := q.Exec(ctx, `UPDATE archives SET passages = passages + 1 WHERE id = $1 AND deleted_at IS NULL`, p.Archive)
	if err != nil {
		return err
	}
	if n == 0 {
		return sqlite.NotFound("archive", string(p.Archive))
	}
	return tagged(ctx, q, p, nil)
}

func (s blocks) Lineage(ctx context.Context, id core.BlockID) ([]core.VersionLink, error) {
	ctx, q := s.v.read(ctx)
	links := []core.VersionLink{}
	err := q.All(ctx, &links, `SELECT version, restores, rewind_id AS rewind FROM block_versions WHERE block_id = $1 ORDER BY version`, id)
	return links, sqlite.Classify("read the line of a block", err)
}

// Revive takes the mark of a deleted block away. One that the sweeper has removed is made anew from its version; what
// versions do not hold (tags, metadata) is gone then.
func (s blocks) Revive(ctx context.Context, id core.BlockID, version int, by core.Author) (core.Block, error) {
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
