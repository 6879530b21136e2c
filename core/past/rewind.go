package past

import (
	"context"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/moment"
	"loci/core/request"
)

// RewindOptions say what a rewind takes back.
type RewindOptions struct {
	What   []core.RewindPart // empty: everything
	Before bool              // the input that the step answered is taken back too
	Shared bool              // blocks shared with other agents are taken back
	By     string            // the caller's client session; may be empty
}

// Rewind takes a conversation and its agent back to when a step was sent, or parts of them: the conversation's window, pin
// and cut; the agent's settings, rules and attachments; the content of its own blocks, as new versions. It marks deleted the
// passages that the agent itself inserted later into archives of its own, and takes back its changes of passages that were
// there, unless somebody else has changed them since. Files that the conversation's calls changed since become what they
// were, under the same condition. Nothing is lost: UndoRewind restores it all. It returns Busy while a run of the
// conversation is active.
func (p *Past) Rewind(ctx context.Context, conv core.ConversationID, step core.StepID, o RewindOptions) (core.Rewind, error) {
	record := core.Rewind{Conversation: conv, Step: step, What: o.What, Before: o.Before, Shared: o.Shared, By: o.By}
	if len(o.What) == 0 {
		record.What = core.RewindParts()
	}
	return p.travel(ctx, record, core.RewindPoint{Step: step}, func(ctx context.Context, tx core.Store) (target, error) {
		m, err := targetOf(ctx, tx, conv, step, o.Before)
		m.shared = o.Shared
		return m, err
	})
}

// UndoRewind restores what was there before a rewind; of files only what the rewind moved, unless it has changed since. That is a
// rewind too: undoing it redoes the first one.
func (p *Past) UndoRewind(ctx context.Context, id core.RewindID, by string) (core.Rewind, error) {
	was, err := p.store.Rewinds().Get(ctx, id)
	if err != nil {
		return core.Rewind{}, err
	}
	record := core.Rewind{Conversation: was.Conversation, Undoes: was.ID, What: was.What, Shared: was.Shared, By: by}
	at := core.RewindPoint{Rewind: was.ID}
	return p.travel(ctx, record, at, func(context.Context, core.Store) (target, error) {
		state, err := moment.Read(was.State)
		return target{State: state, rev: was.Rev, at: at, shared: was.Shared, changed: was.Blocks, revived: was.Revived}, err
	})
}

// travel restores a target while no run of the conversation is active: what is stored in one transaction, then files.
func (p *Past) travel(
	ctx context.Context, record core.Rewind, at core.RewindPoint, to func(context.Context, core.Store) (target, error),
) (core.Rewind, error) {
	release, err := p.lanes.Hold(ctx, record.Conversation)
	if err != nil {
		return core.Rewind{}, err
	}
	defer release()
	record.ID, record.CreatedAt = core.NewRewindID(), p.clock()
	plan, err := p.planFiles(ctx, &record, at)
	if err != nil {
		return core.Rewind{}, err
	}
	var done core.Rewind
	var others []core.AgentID
	err = p.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		m, err := to(ctx, tx)
		if err != nil {
			return err
		}
		r := &restorer{tx: tx, m: m, record: record}
		if err := r.run(ctx); err != nil {
			return err
		}
		done, others = r.record, slices.Sorted(maps.Keys(r.others))
		return noteFiles(ctx, tx, &done, plan)
	})
	if err != nil {
		return core.Rewind{}, err
	}
	p.lanes.Announce(core.Change{Agent: done.Agent, Conversation: done.Conversation})
	for _, a := range others {
		p.lanes.Announce(core.Change{Agent: a})
	}
	return done, p.applyFiles(context.WithoutCancel(ctx), &done, plan.Changes)
}

// target is a state to go back to.
type target struct {
	moment.State
	rev     int // of the conversation
	at      core.RewindPoint
	before  bool           // without the input that came with the step
	shared  bool           // also take back blocks that other agents have
	changed []core.BlockID // by the rewind being undone
	revived []core.BlockID // … and what it restored
}

// targetOf returns the state that a step was sent in or, with before, the state when its input arrived.
func targetOf(ctx context.Context, tx core.Store, conv core.ConversationID, id core.StepID, before bool) (target, error) {
	step, err := tx.Steps().Get(ctx, id)
	if err != nil {
		return target{}, err
	}
	if step.Conversation != conv {
		return target{}, core.E(core.Invalid, "step %s belongs to the conversation %s", id, step.Conversation)
	}
	state, err := moment.At(ctx, tx, &step)
	if err != nil {
		return target{}, err
	}
	m := target{State: state, rev: step.SentRev, at: core.RewindPoint{Step: id}, before: before || step.WithInput}
	if !before || step.WithInput {
		return m, nil
	}
	rows, err := tx.Messages().ContextAt(ctx, conv, m.rev)
	if err != nil {
		return m, err
	}
	answers := func(r core.InContext) bool { return r.Row.Entered == m.rev && r.Message.Step == id }
	if !slices.ContainsFunc(rows, answers) {
		return m, core.E(core.Invalid, "step %s went on with an answer under way: there is no input before it", id).
			WithHint("name the first step of its run, %s", step.Run)
	}
	m.rev--
	return m, nil
}

// restorer is one rewind in progress, inside its transaction.
type restorer struct {
	tx     core.Store
	m      target
	record core.Rewind
	conv   core.Conversation
	agent  core.Agent
	shown  map[core.BlockID]int
	stale  bool                      // message 0 no longer matches the blocks
	others map[core.AgentID]struct{} // whose prompts show a block that changed
	archs  map[core.ArchiveID]bool   // those the agent has or had then: whether they are its own
}

func (r *restorer) run(ctx context.Context) error {
	var err error
	if r.conv, err = r.tx.Conversations().Get(ctx, r.record.Conversation); err != nil {
		return err
	}
	if r.agent, err = r.tx.Agents().Get(ctx, r.conv.Agent); err != nil {
		return err
	}
	if err := r.remember(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		of      core.RewindPart
		restore func(context.Context) error
	}{
		{core.RewindThread, r.window},
		{core.RewindMemory, r.blocks},
		{core.RewindThread, r.folders},
		{core.RewindThread, r.settings},
		{core.RewindMemory, r.archive},
		{core.RewindMemory, r.passages},
		{core.RewindThread, r.conversation},
	} {
		if !r.record.Took(part.of) {
			continue
		}
		if err := part.restore(ctx); err != nil {
			return err
		}
	}
	if r.record.Took(core.RewindMemory) && !r.record.Took(core.RewindThread) {
		if err := r.markStale(ctx); err != nil {
			return err
		}
	}
	return r.tx.Rewinds().Create(ctx, &r.record)
}

// window restores what the conversation holds, and which blocks it then showed.
func (r *restorer) window(ctx context.Context) error {
	r.shown = maps.Clone(r.m.Pin.Shown)
	if r.m.before && r.m.Pin.Before != nil {
		r.shown = maps.Clone(r.m.Pin.Before)
	}
	r.stale = !r.record.Took(core.RewindMemory)
	r.conv.Rev++
	return r.tx.Messages().Restore(ctx, r.conv.ID, r.conv.Rev, r.m.rev)
}

// markStale lets message 0 be compiled anew where it shows what changed.
func (r *restorer) markStale(ctx context.Context) error {
	return r.tx.Conversations().MarkStale(ctx, append(slices.Sorted(maps.Keys(r.others)), r.agent.ID)...)
}

// remember keeps what the rewind replaces.
func (r *restorer) remember(ctx context.Context) error {
	state, err := moment.Now(ctx, r.tx, &r.agent, &r.conv)
	if err != nil {
		return err
	}
	r.record.Agent, r.record.Rev, r.record.State = r.agent.ID, r.conv.Rev, request.JSON(state)
	return nil
}

// blocks attaches the earlier blocks, in order, and restores the content of those that are the agent's own.
func (r *restorer) blocks(ctx context.Context) error {
	now, err := r.tx.Blocks().OfAgent(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	for _, b := range now {
		if err := r.tx.Blocks().Detach(ctx, r.agent.ID, b.ID); err != nil {
			return err
		}
	}
	r.others = map[core.AgentID]struct{}{}
	for _, at := range r.m.Blocks {
		if err := r.block(ctx, at); err != nil {
			return err
		}
	}
	for _, id := range r.m.revived {
		sharers, err := r.tx.Blocks().AgentsOf(ctx, id)
		if err != nil {
			return err
		}
		if len(sharers) > 0 {
			continue
		}
		if err := r.tx.Blocks().Delete(ctx, id); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
	}
	return nil
}

// block restores one block. It leaves out a block whose version was forgotten.
func (r *restorer) block(ctx context.Context, at moment.BlockAt) error {
	then, err := r.tx.Blocks().Version(ctx, at.ID, at.Version)
	if core.KindOf(err) == core.NotFound {
		r.stale = true
		return nil
	}
	if err != nil {
		return err
	}
	by := core.Author{Kind: core.AuthorUser, ID: r.record.By, Restores: at.Version, Rewind: r.record.ID}
	b, err := r.tx.Blocks().Get(ctx, at.ID)
	switch {
	case core.KindOf(err) == core.NotFound:
		if b, err = r.tx.Blocks().Revive(ctx, at.ID, at.Version, by); err != nil {
			return err
		}
		r.record.Revived = append(r.record.Revived, b.ID)
	case err != nil:
		return err
	case !sameContent(&b, &then):
		if err := r.content(ctx, &b, &then, by); err != nil {
			return err
		}
	}
	if !sameContent(&b, &then) {
		r.stale = true
	} else if v, ok := r.shown[b.ID]; ok && v == at.Version {
		r.shown[b.ID] = b.Version // the window shows it, though under another number
	}
	err = r.tx.Blocks().Attach(ctx, r.agent.ID, b.ID)
	if core.KindOf(err) == core.Conflict {
		return core.E(core.Conflict, "the block %q has a label that another block of the agent had then: %w", b.Label, err).
			WithHint("rename one of them, then try again")
	}
	return err
}

// content restores a block's earlier value, unless it is shared and Shared wasn't requested.
func (r *restorer) content(ctx context.Context, b *core.Block, then *core.BlockVersion, by core.Author) error {
	sharers, err := r.tx.Blocks().AgentsOf(ctx, b.ID) // the agent itself is detached now
	if err != nil {
		return err
	}
	if len(sharers) > 0 && !r.m.shared && !slices.Contains(r.m.changed, b.ID) {
		return nil
	}
	b.Value, b.Label, b.Description, b.Limit, b.UpdatedAt = then.Value, then.Label, then.Description, then.Limit, r.record.CreatedAt
	if err := r.tx.Blocks().Update(ctx, b, by); err != nil {
		return err
	}
	r.record.Blocks = append(r.record.Blocks, b.ID)
	for _, a := range sharers {
		r.others[a] = struct{}{}
	}
	return nil
}

func sameContent(b *core.Block, v *core.BlockVersion) bool {
	return b.Value == v.Value && b.Label == v.Label && b.Description == v.Description && b.Limit == v.Limit
}

// settings restores the agent's earlier model, settings, rules, tools and system text.
func (r *restorer) settings(ctx context.Context) error {
	_, text, err := r.tx.Snapshots().Get(ctx, r.m.Text)
	if err != nil {
		return err
	}
	a, err := r.tx.Agents().Get(ctx, r.agent.ID) // its rev was raised by the blocks
	if err != nil {
		return err
	}
	r.m.Into(&a, text)
	a.UpdatedAt = r.record.CreatedAt
	a.Rev++
	r.agent = a
	return r.tx.Agents().Update(ctx, &a)
}

// archive attaches the earlier archive. One that the agent made since stays: a person may have put something into it.
func (r *restorer) archive(ctx context.Context) error {
	now, has, err := r.tx.Archives().OfAgent(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	r.archs = map[core.ArchiveID]bool{}
	if has {
		if err := r.own(ctx, now.ID); err != nil {
			return err
		}
	}
	then := r.m.Archive
	if then != "" {
		if _, err := r.tx.Archives().Get(ctx, then); core.KindOf(err) == core.NotFound {
			return nil
		} else if err != nil {
			return err
		}
	}
	if then == now.ID || then == "" && r.archs[now.ID] {
		return nil
	}
	if has {
		if err := r.tx.Archives().Detach(ctx, r.agent.ID, now.ID); err != nil {
			return err
		}
	}
	if then == "" {
		return nil
	}
	if err := r.own(ctx, then); err != nil {
		return err
	}
	return r.tx.Archives().Attach(ctx, r.agent.ID, then)
}

// own notes an archive, and whether no other agent has it.
func (r *restorer) own(ctx context.Context, id core.ArchiveID) error {
	sharers, err := r.tx.Archives().AgentsOf(ctx, id)
	if err != nil {
		return err
	}
	r.archs[id] = !slices.ContainsFunc(sharers, func(a core.AgentID) bool { return a != r.agent.ID })
	return nil
}

// passages takes the agent's own insertions and changes back.
func (r *restorer) passages(ctx context.Context) error {
	var own, others []core.ArchiveID
	for _, id := range slices.Sorted(maps.Keys(r.archs)) {
		if r.archs[id] {
			own = append(own, id)
		} else {
			others = append(others, id)
		}
	}
	back, err := r.tx.Rewinds().Passages(ctx, r.agent.ID, own, others, r.m.at)
	if err != nil {
		return err
	}
	for _, id := range back.Take {
		if err := r.tx.Passages().Delete(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range back.Bring {
		if err := r.tx.Passages().Revive(ctx, id); err != nil {
			return err
		}
	}
	by := core.Author{Kind: core.AuthorUser, ID: r.record.By, Rewind: r.record.ID}
	for _, turn := range back.Turn {
		err := r.tx.Passages().Restore(ctx, turn.Passage, turn.Version, by)
		if core.KindOf(err) == core.NotFound { // somebody deleted it for good, or it was forgotten
			continue
		}
		if err != nil {
			return err
		}
		r.record.Turned = append(r.record.Turned, turn.Passage)
	}
	r.record.Taken, r.record.Brought = back.Take, back.Bring
	return nil
}

// conversation restores the conversation's pin, message 0, and what its window showed.
func (r *restorer) conversation(ctx context.Context) error {
	c, pin := &r.conv, &r.m.Pin
	_, text, err := r.tx.Snapshots().Get(ctx, pin.Stored)
	if err != nil {
		return err
	}
	if err := r.tx.Messages().SetText(ctx, c.SystemMessage, text); err != nil {
		return err
	}
	if err := r.markStale(ctx); err != nil {
		return err
	}
	c.PinSystem, c.PinTools, c.PinKey, c.Prefix, c.Cut, c.System = pin.System, pin.Tools, pin.Key, pin.Prefix, pin.Cut, pin.Stored
	c.Stale = c.ID.IsDefault() && (pin.Stale || r.stale)
	c.Shown, c.Told, c.LastFolder = r.shown, pin.Told, pin.Folder
	if r.m.before {
		c.LastFolder = "" // the folder named before the input isn't stored: the next input names it again
	}
	c.Model, c.Settings = r.m.Override, nil
	if r.m.Own != nil {
		c.Settings = &r.m.Settings
	}
	if c.LastMessageAt = pin.At; c.LastMessageAt.IsZero() {
		rows, err := r.tx.Messages().Context(ctx, c.ID)
		if err != nil {
			return err
		}
		c.LastMessageAt = lastSaid(rows)
	}
	c.UpdatedAt = r.record.CreatedAt
	return r.tx.Conversations().Update(ctx, c)
}

// lastSaid returns when something was last said in a window.
func lastSaid(rows []core.InContext) (last time.Time) {
	for _, in := range rows {
		said := in.Message.Role == core.RoleUser || in.Message.Role == core.RoleAssistant
		if said && in.Message.Hidden == core.NotHidden && in.Message.CreatedAt.After(last) {
			last = in.Message.CreatedAt
		}
	}
	return last
}
