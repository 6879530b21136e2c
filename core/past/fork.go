package past

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"loci/core"
	"loci/core/compact"
	"loci/core/moment"
	"loci/core/request"
)

// Fork makes a new conversation of the same agent that shares the messages in another's window, as it is now or, with a
// step, as it was sent then. It compiles its own message 0; what follows in either is separate. The original is only
// read.
func (p *Past) Fork(ctx context.Context, conv core.ConversationID, step core.StepID) (core.Conversation, error) {
	var made core.Conversation
	err := p.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
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
			MessageCount: request.Visible(rows),
		}
		if err := p.prompts.BeginEmpty(ctx, tx, a, &c); err != nil {
			return err
		}
		if err := enterRows(ctx, tx, &c, rows); err != nil {
			return err
		}
		c.Told, c.LastFolder, c.LastMessageAt = parent.Told, parent.LastFolder, lastSaid(rows)
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		made, err = tx.Conversations().Get(ctx, c.ID)
		return err
	})
	if err != nil {
		return core.Conversation{}, err
	}
	p.lanes.Announce(core.Change{Agent: made.Agent, Conversation: made.ID})
	return made, nil
}

// windowAt returns a conversation's context rows, now or as sent with a step, without message 0. Calls that wait for an
// approval stay behind: they are answered once, where they were made.
func windowAt(ctx context.Context, tx core.Store, conv core.ConversationID, id core.StepID) (rows []core.InContext, err error) {
	if id == "" {
		rows, err = tx.Messages().Context(ctx, conv)
	} else {
		var m target
		if m, err = targetOf(ctx, tx, conv, id, false); err == nil {
			rows, err = tx.Messages().ContextAt(ctx, conv, m.rev)
		}
	}
	asked, waits := core.Waiting(rows)
	return slices.DeleteFunc(rows, func(r core.InContext) bool {
		m := &r.Message
		return r.Row.Position == 0 || waits && m.Step == asked.Step && (m.ID == asked.ID || m.Role == core.RoleAssistant)
	}), err
}

// enterRows adds messages to a new conversation in order, cut as before.
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

// CopyOptions say how much of an agent to copy.
type CopyOptions struct {
	Name         string              // empty: the agent's, with a word added
	History      bool                // copy the window of a conversation too
	Conversation core.ConversationID // whose window; empty: the default one
	Step         core.StepID         // as the agent was when this step was sent; empty: as it is now
}

// CopyAgent makes a new agent from another: settings, tools, rules, and copies of all its blocks under new ids; folders
// are shared. An archive that only the original has is copied as well; one that it shares is shared with the copy. With
// History, the messages in the window are copied under new ids. The original is only read.
func (p *Past) CopyAgent(ctx context.Context, id core.AgentID, o CopyOptions) (core.Agent, error) {
	done, err := p.lanes.Busily(ctx)
	if err != nil {
		return core.Agent{}, err
	}
	defer done()
	c := &copier{p: p, o: o}
	if err := c.look(ctx, id); err != nil {
		return core.Agent{}, err
	}
	if err := c.archive(ctx); err != nil {
		return core.Agent{}, err
	}
	if err := p.store.Tx(ctx, c.write); err != nil {
		if c.copied { // nobody has it
			err = joined(err, p.store.Archives().Delete(context.WithoutCancel(ctx), c.store.ID))
		}
		return core.Agent{}, err
	}
	p.lanes.Announce(core.Change{Agent: c.made.ID})
	return c.made, nil
}

// joined keeps the first error, which is the one to report.
func joined(err, other error) error {
	if other != nil {
		return core.E(core.KindOf(err), "%w; and what was copied until then could not be removed: %v", err, other)
	}
	return err
}

// copier is one copy in progress.
type copier struct {
	p      *Past
	o      CopyOptions
	from   core.Agent
	made   core.Agent
	state  *moment.State // of then
	store  core.Archive  // which the copy gets; without id: none
	copied bool          // … and is its own
}

// look reads what to copy and decides on names and ids.
func (c *copier) look(ctx context.Context, id core.AgentID) (err error) {
	s := c.p.store
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
		state, err := moment.At(ctx, s, &step)
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
		c.state.Into(a, text)
	}
	a.ID, a.Rev, a.CreatedAt = core.NewAgentID(), 1, c.p.clock()
	a.UpdatedAt, a.Extra, a.Metadata = a.CreatedAt, maps.Clone(a.Extra), maps.Clone(a.Metadata)
	a.LastStopReason, a.LastRunAt, a.LastRunMillis, a.MessageCount, a.PassageCount = "", core.Agent{}.LastRunAt, 0, 0, 0
	if a.Name = c.o.Name; a.Name == "" {
		if a.Name, err = c.name(ctx); err != nil {
			return err
		}
	}
	return a.Validate()
}

// name finds a name that no agent has.
func (c *copier) name(ctx context.Context) (string, error) {
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
		taken, err := c.p.store.Agents().Count(ctx, core.AgentFilter{Name: name + tail, Hidden: true})
		if err != nil || taken == 0 {
			return name + tail, err
		}
	}
}

// copyBatch is how many passages one transaction copies, so that nobody waits long for the writer.
const copyBatch = 500

// archive decides which archive the copy gets, and copies it if it is the agent's own. This happens before the agent is
// created, in batches, since there may be a million passages.
func (c *copier) archive(ctx context.Context) error {
	s := c.p.store
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
	var back core.PassagesBack
	if c.o.Step != "" {
		own := []core.ArchiveID{archive.ID}
		if back, err = s.Rewinds().Passages(ctx, c.from.ID, own, nil, core.RewindPoint{Step: c.o.Step}); err != nil {
			return err
		}
	}
	from := archive.ID
	archive.ID, archive.Name, archive.Passages = core.NewArchiveID(), c.made.Name+"'s Archive", 0
	archive.CreatedAt, archive.UpdatedAt = c.made.CreatedAt, c.made.CreatedAt
	if err := s.Archives().Create(ctx, &archive); err != nil {
		return err
	}
	c.store, c.copied = archive, true
	if err := c.passages(ctx, from, back); err != nil {
		return joined(err, s.Archives().Delete(context.WithoutCancel(ctx), archive.ID))
	}
	return nil
}

// passages copies an archive, except what the agent inserted after the step; what it changed since as it was then.
func (c *copier) passages(ctx context.Context, from core.ArchiveID, back core.PassagesBack) error {
	s := c.p.store
	later, then := map[core.PassageID]bool{}, map[core.PassageID]core.PassageVersion{}
	for _, id := range back.Take {
		later[id] = true
	}
	for _, turn := range back.Turn {
		v, err := s.Passages().Version(ctx, turn.Passage, turn.Version)
		if err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
		if err == nil {
			then[turn.Passage] = v
		}
	}
	add := func(batch []*core.Passage) error {
		for _, p := range batch {
			p.ID, p.Archive, p.Agent, p.Step = core.NewPassageID(), c.store.ID, "", ""
		}
		return s.Passages().Insert(ctx, batch...)
	}
	for after := ""; ; {
		page, err := s.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{from}}, core.Page{After: after, Limit: copyBatch})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return add(retired(then))
		}
		after = string(page[len(page)-1].ID)
		var batch []*core.Passage
		for i := range page {
			p := &page[i]
			v, changed := then[p.ID]
			delete(then, p.ID)
			if later[p.ID] || changed && v.Gone {
				continue
			}
			if changed {
				p.Text, p.Tags, p.Metadata = v.Text, v.Tags, v.Metadata
			}
			batch = append(batch, p)
		}
		if err := add(batch); err != nil {
			return err
		}
	}
}

// retired returns the passages that an archive has no more, as they were.
func retired(then map[core.PassageID]core.PassageVersion) (list []*core.Passage) {
	for _, id := range slices.Sorted(maps.Keys(then)) {
		if v := then[id]; !v.Gone {
			list = append(list, &core.Passage{Text: v.Text, Tags: v.Tags, Metadata: v.Metadata, CreatedAt: v.Created, UpdatedAt: v.At})
		}
	}
	return list
}

// write makes the agent with its blocks and its default conversation.
func (c *copier) write(ctx context.Context, tx core.Store) error {
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
		err = c.p.prompts.Begin(ctx, tx, &conv, nil)
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
func (c *copier) blocks(ctx context.Context, tx core.Store) error {
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
		if err := tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser}); err != nil {
			return err
		}
		if err := tx.Blocks().Attach(ctx, c.made.ID, b.ID); err != nil {
			return err
		}
	}
	return nil
}

// folders attaches the folders, which the copy shares, and opens what was open.
func (c *copier) folders(ctx context.Context, tx core.Store) error {
	var folders []moment.FolderAt
	var files []moment.OpenAt
	if c.state != nil {
		folders, files = c.state.Folders, c.state.Files
	} else {
		now, err := moment.Attached(ctx, tx, c.from.ID)
		if err != nil {
			return err
		}
		folders, files = now.FoldersAt(), now.OpenedAt()
	}
	_, err := restoreFolders(ctx, tx, c.made.ID, folders, files)
	return err
}

// versionsAt reads versions of blocks, leaving out forgotten ones.
func versionsAt(ctx context.Context, s core.Store, at []moment.BlockAt) ([]core.BlockVersion, error) {
	var out []core.BlockVersion
	for _, v := range at {
		then, err := s.Blocks().Version(ctx, v.ID, v.Version)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, then)
	}
	return out, nil
}

// blocksAt returns blocks as they were.
func blocksAt(ctx context.Context, tx core.Store, at []moment.BlockAt) ([]core.Block, error) {
	versions, err := versionsAt(ctx, tx, at)
	if err != nil {
		return nil, err
	}
	out := make([]core.Block, len(versions))
	for i, then := range versions {
		b, err := tx.Blocks().Get(ctx, then.Block) // what versions do not hold
		if err != nil && core.KindOf(err) != core.NotFound {
			return nil, err
		}
		b.Value, b.Label, b.Description, b.Limit = then.Value, then.Label, then.Description, then.Limit
		out[i] = b
	}
	return out, nil
}

// history copies the window: the original's runs aren't runs of the copy, and what left the window stays behind.
func (c *copier) history(ctx context.Context, tx core.Store, a core.Agent, conv *core.Conversation) error {
	rows, err := windowAt(ctx, tx, c.o.Conversation, c.o.Step)
	if err != nil {
		return err
	}
	parent, err := tx.Conversations().Get(ctx, c.o.Conversation)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r core.InContext) bool { return r.Message.Hidden == core.HiddenMarker })
	conv.Model, conv.Settings, conv.MessageCount = parent.Model, parent.Settings, request.Visible(rows)
	if c.state != nil {
		conv.Model, conv.Settings = c.state.Override, nil
		if c.state.Own != nil {
			conv.Settings = &c.state.Settings
		}
	}
	if err := c.p.prompts.BeginEmpty(ctx, tx, a, conv); err != nil {
		return err
	}
	msgs, ids := make([]*core.Message, len(rows)), map[core.MessageID]core.MessageID{}
	for i := range rows {
		m := &rows[i].Message
		ids[m.ID] = core.NewMessageID()
		m.ID, m.Agent, m.Conversation, m.Run, m.Step, m.OTID = ids[m.ID], a.ID, conv.ID, "", "", ""
		m.Joins = ids[m.Joins] // which came before it
		if m.Answers() {
			copied := *m.Approval
			copied.Request = ids[copied.Request]
			m.Approval = &copied
		}
		if m.Role == core.RoleSummary {
			m.Content = []core.Content{core.Text(compact.Moved(m.PlainText()))}
			m.Tokens = request.Tokens(m)
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
