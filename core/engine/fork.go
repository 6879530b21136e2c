package engine

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"loci/core"
	"loci/core/compact"
)

// Fork makes a new conversation of the same agent that shares the messages in the window of another, as they are now or,
// with a step, as they were sent to it. It compiles its own message 0; what follows in either is its own. The other one
// is only read.
func (e *Engine) Fork(ctx context.Context, conv core.ConversationID, step core.StepID) (core.Conversation, error) {
	var made core.Conversation
	err := e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		parent, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		a, err := tx.Agents().Get(ctx, parent.Agent)
		if err != nil {
			return err
		}
		rows, err := windowAt(ctx, tx, conv, step)
		if err != nil {
			return err
		}
		c := core.Conversation{
			ID: core.NewConversationID(), Agent: a.ID, Summary: parent.Summary, Model: parent.Model, Settings: parent.Settings,
			MessageCount: visible(rows),
		}
		if err := e.beginEmpty(ctx, tx, a, &c); err != nil {
			return err
		}
		if err := enterRows(ctx, tx, &c, rows); err != nil {
			return err
		}
		c.LastFolder, c.LastMessageAt = parent.LastFolder, lastSaid(rows)
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		made, err = tx.Conversations().Get(ctx, c.ID)
		return err
	})
	if err != nil {
		return core.Conversation{}, err
	}
	e.hub.announce(Change{Agent: made.Agent, Conversation: made.ID})
	return made, nil
}

// windowAt returns the context rows that a conversation has, or was sent with a step, message 0 left out.
func windowAt(ctx context.Context, tx core.Store, conv core.ConversationID, id core.StepID) (rows []core.InContext, err error) {
	if id == "" {
		rows, err = tx.Messages().Context(ctx, conv)
	} else {
		var m moment
		if m, err = momentOf(ctx, tx, conv, id, false); err == nil {
			rows, err = tx.Messages().ContextAt(ctx, conv, m.rev)
		}
	}
	return slices.DeleteFunc(rows, func(r core.InContext) bool { return r.Row.Position == 0 }), err
}

// enterRows lets messages enter a new conversation in their order, cut as they were.
func enterRows(ctx context.Context, tx core.Store, c *core.Conversation, rows []core.InContext) error {
	ids, cuts := make([]core.MessageID, len(rows)), map[core.MessageID]int{}
	for i, r := range rows {
		ids[i] = r.Message.ID
		if r.Row.CutTo > 0 {
			cuts[r.Message.ID] = r.Row.CutTo
		}
	}
	return tx.Messages().Enter(ctx, c.ID, c.Rev, ids, cuts)
}

// CopyOptions say what of an agent is copied.
type CopyOptions struct {
	Name         string              // empty: the agent's with a word behind it
	History      bool                // the window of a conversation comes along
	Conversation core.ConversationID // whose window; empty: the default one
	Step         core.StepID         // as the agent was when this step was sent; empty: as it is
}

// CopyAgent makes a new agent from another: settings, tools, rules, and copies of all its blocks under new ids; folders
// are shared. The archive that only it has is copied, too; one that it shares is shared by the copy as well. With History, the messages of the
// window are copied under new ids. The other agent is only read.
func (e *Engine) CopyAgent(ctx context.Context, id core.AgentID, o CopyOptions) (core.Agent, error) {
	done, err := e.busily(ctx)
	if err != nil {
		return core.Agent{}, err
	}
	defer done()
	c := &copying{e: e, o: o}
	if err := c.look(ctx, id); err != nil {
		return core.Agent{}, err
	}
	if err := c.archive(ctx); err != nil {
		return core.Agent{}, err
	}
	if err := e.cfg.Store.Tx(ctx, c.write); err != nil {
		if c.copied { // nobody has it
			err = joined(err, e.cfg.Store.Archives().Delete(context.WithoutCancel(ctx), c.store.ID))
		}
		return core.Agent{}, err
	}
	e.hub.announce(Change{Agent: c.made.ID})
	return c.made, nil
}

// joined keeps the first error, which is the one to tell of.
func joined(err, other error) error {
	if other != nil {
		return core.E(core.KindOf(err), "%w; and what was copied until then could not be removed: %v", err, other)
	}
	return err
}

// copying is one copy of an agent under way.
type copying struct {
	e      *Engine
	o      CopyOptions
	from   core.Agent
	made   core.Agent
	state  *agentSnapshot // of then
	store  core.Archive   // which the copy gets; without id: none
	copied bool           // … and is its own
}

// look reads what is copied and decides on names and ids.
func (c *copying) look(ctx context.Context, id core.AgentID) (err error) {
	s := c.e.cfg.Store
	if c.from, err = s.Agents().Get(ctx, id); err != nil {
		return err
	}
	if c.o.Conversation == "" {
		c.o.Conversation = core.DefaultConversation(id)
	}
	if c.o.Step != "" {
		step, err := s.Steps().Get(ctx, c.o.Step)
		if err != nil {
			return err
		}
		if step.Agent != id {
			return core.E(core.Invalid, "step %s is one of another agent", step.ID)
		}
		state, err := snapshotAt(ctx, s, &step)
		if err != nil {
			return err
		}
		c.o.Conversation, c.state = step.Conversation, &state
	}
	conv, err := s.Conversations().Get(ctx, c.o.Conversation)
	if err == nil && conv.Agent != id {
		err = core.E(core.NotFound, "agent %s has no conversation %s", id, conv.ID)
	}
	if err != nil {
		return err
	}
	c.made = c.from
	a := &c.made
	if c.state != nil {
		_, text, err := s.Snapshots().Get(ctx, c.state.Text)
		if err != nil {
			return err
		}
		c.state.into(a, text)
	}
	a.ID, a.Rev, a.CreatedAt = core.NewAgentID(), 1, c.e.cfg.Clock()
	a.UpdatedAt, a.Extra, a.Metadata = a.CreatedAt, maps.Clone(a.Extra), maps.Clone(a.Metadata)
	a.LastStopReason, a.LastRunAt, a.LastRunMillis, a.MessageCount, a.PassageCount = "", core.Agent{}.LastRunAt, 0, 0, 0
	if a.Name = c.o.Name; a.Name == "" {
		if a.Name, err = c.name(ctx); err != nil {
			return err
		}
	}
	return a.Validate()
}

// name finds one that no agent has.
func (c *copying) name(ctx context.Context) (string, error) {
	word := " copy"
	if c.o.History {
		word = " fork"
	}
	for n := 1; ; n++ {
		tail := word
		if n > 1 {
			tail += " " + strconv.Itoa(n)
		}
		name := c.from.Name
		if room := core.MaxAgentName - utf8.RuneCountInString(tail); utf8.RuneCountInString(name) > room {
			name = string([]rune(name)[:room])
		}
		taken, err := c.e.cfg.Store.Agents().Count(ctx, core.AgentFilter{Name: name + tail, Hidden: true})
		if err != nil || taken == 0 {
			return name + tail, err
		}
	}
}

// copyBatch is how many passages one transaction copies, so that nobody waits long for the writer.
const copyBatch = 500

// archive decides which archive the copy gets, and copies it where it is the agent's own. This is done before the agent is
// made, in parts, since there may be a million passages.
func (c *copying) archive(ctx context.Context) error {
	s := c.e.cfg.Store
	archive, has, err := s.Archives().OfAgent(ctx, c.from.ID)
	if err != nil || !has {
		return err
	}
	if c.state != nil && c.state.Archive != "" && c.state.Archive != archive.ID {
		if then, err := s.Archives().Get(ctx, c.state.Archive); err == nil {
			archive = then
		} else if core.KindOf(err) != core.NotFound {
			return err
		}
	}
	sharers, err := s.Archives().AgentsOf(ctx, archive.ID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sharers, func(a core.AgentID) bool { return a != c.from.ID }) {
		c.store = archive
		return nil
	}
	later := map[core.PassageID]bool{}
	if c.o.Step != "" {
		take, _, err := s.Rewinds().Passages(ctx, c.from.ID, []core.ArchiveID{archive.ID}, core.RewindPoint{Step: c.o.Step})
		if err != nil {
			return err
		}
		for _, id := range take {
			later[id] = true
		}
	}
	from := archive.ID
	archive.ID, archive.Name, archive.Passages = core.NewArchiveID(), c.made.Name+"'s Archive", 0
	archive.CreatedAt, archive.UpdatedAt = c.made.CreatedAt, c.made.CreatedAt
	if err := s.Archives().Create(ctx, &archive); err != nil {
		return err
	}
	c.store, c.copied = archive, true
	if err := c.passages(ctx, from, later); err != nil {
		return joined(err, s.Archives().Delete(context.WithoutCancel(ctx), archive.ID))
	}
	return nil
}

// passages copies an archive but for what the agent inserted later than the step.
func (c *copying) passages(ctx context.Context, from core.ArchiveID, later map[core.PassageID]bool) error {
	s := c.e.cfg.Store
	for after := ""; ; {
		page, err := s.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{from}}, core.Page{After: after, Limit: copyBatch})
		if err != nil || len(page) == 0 {
			return err
		}
		after = string(page[len(page)-1].ID)
		var batch []*core.Passage
		for i := range page {
			if p := &page[i]; !later[p.ID] {
				p.ID, p.Archive, p.Agent, p.Step = core.NewPassageID(), c.store.ID, "", ""
				batch = append(batch, p)
			}
		}
		if err := s.Passages().Insert(ctx, batch...); err != nil {
			return err
		}
	}
}

// write makes the agent with its blocks and its default conversation.
func (c *copying) write(ctx context.Context, tx core.Store) error {
	a := c.made
	if err := tx.Agents().Create(ctx, &a); err != nil {
		return err
	}
	if err := c.blocks(ctx, tx); err != nil {
		return err
	}
	if err := c.folders(ctx, tx); err != nil {
		return err
	}
	if c.store.ID != "" {
		if err := tx.Archives().Attach(ctx, a.ID, c.store.ID); err != nil {
			return err
		}
	}
	conv := core.Conversation{ID: core.DefaultConversation(a.ID), Agent: a.ID}
	var err error
	if c.o.History {
		err = c.history(ctx, tx, a, &conv)
	} else {
		err = c.e.Begin(ctx, tx, &conv, nil)
	}
	if err != nil {
		return err
	}
	if a, err = tx.Agents().Get(ctx, a.ID); err != nil {
		return err
	}
	c.made = a
	return nil
}

// blocks copies the blocks, shared ones too, in their order.
func (c *copying) blocks(ctx context.Context, tx core.Store) error {
	blocks, err := tx.Blocks().OfAgent(ctx, c.from.ID)
	if err != nil {
		return err
	}
	if c.state != nil {
		if blocks, err = blocksAt(ctx, tx, c.state.Blocks); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		b.ID, b.CreatedAt, b.UpdatedAt = core.NewBlockID(), c.made.CreatedAt, c.made.CreatedAt
		if err := tx.Blocks().Create(ctx, &b, core.BlockAuthor{Kind: core.AuthorUser}); err != nil {
			return err
		}
		if err := tx.Blocks().Attach(ctx, c.made.ID, b.ID); err != nil {
			return err
		}
	}
	return nil
}

// folders attaches the folders, which the copy shares, and opens what was open.
func (c *copying) folders(ctx context.Context, tx core.Store) error {
	var folders []folderAt
	var files []openAt
	if c.state != nil {
		folders, files = c.state.Folders, c.state.Files
	} else {
		now, err := attached(ctx, tx, c.from.ID)
		if err != nil {
			return err
		}
		folders, files = now.foldersAt(), now.openedAt()
	}
	_, err := restoreFolders(ctx, tx, c.made.ID, folders, files)
	return err
}

// blocksAt reads versions of blocks; one that was forgotten is left out.
func blocksAt(ctx context.Context, tx core.Store, at []blockAt) ([]core.Block, error) {
	var out []core.Block
	for _, v := range at {
		then, err := tx.Blocks().Version(ctx, v.ID, v.Version)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := tx.Blocks().Get(ctx, v.ID) // what versions do not hold
		if err != nil && core.KindOf(err) != core.NotFound {
			return nil, err
		}
		b.Value, b.Label, b.Description, b.Limit = then.Value, then.Label, then.Description, then.Limit
		out = append(out, b)
	}
	return out, nil
}

// history copies the window: what runs said is not a run of the copy, and what left the window stays with the other agent.
func (c *copying) history(ctx context.Context, tx core.Store, a core.Agent, conv *core.Conversation) error {
	rows, err := windowAt(ctx, tx, c.o.Conversation, c.o.Step)
	if err != nil {
		return err
	}
	parent, err := tx.Conversations().Get(ctx, c.o.Conversation)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r core.InContext) bool { return r.Message.Hidden == core.HiddenMarker })
	conv.Model, conv.Settings, conv.MessageCount = parent.Model, parent.Settings, visible(rows)
	if c.state != nil {
		conv.Model, conv.Settings = c.state.Override, nil
		if c.state.Own != nil {
			conv.Settings = &c.state.Settings
		}
	}
	if err := c.e.beginEmpty(ctx, tx, a, conv); err != nil {
		return err
	}
	msgs := make([]*core.Message, len(rows))
	for i := range rows {
		m := &rows[i].Message
		m.ID, m.Agent, m.Conversation, m.Run, m.Step, m.OTID = core.NewMessageID(), a.ID, conv.ID, "", "", ""
		if m.Role == core.RoleSummary {
			m.Content = []core.Content{core.Text(compact.Moved(m.PlainText()))}
			m.Tokens = tokensOf(m)
		}
		msgs[i] = m
	}
	if err := tx.Messages().Insert(ctx, msgs...); err != nil {
		return err
	}
	if err := enterRows(ctx, tx, conv, rows); err != nil {
		return err
	}
	conv.LastFolder, conv.LastMessageAt = parent.LastFolder, lastSaid(rows)
	return tx.Conversations().Update(ctx, conv)
}
