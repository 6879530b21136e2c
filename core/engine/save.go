package engine

import (
	"context"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/rules"
)

// commit is what one step adds to the facts. It is written by one transaction, or by two when calls act on the world:
// the calls before they run, their returns after.
type commit struct {
	answer    *answer
	calls     []*pending
	state     *rules.State
	outcome   rules.Outcome // of a response without calls; with calls it follows from their returns
	end       *ending       // the run ends with this, whatever the outcome
	assistant *core.Message
	callsIn   bool     // the assistant message is saved already
	failed    bool     // the step failed: only what it sent is kept
	dropped   []string // ids of calls that were shown in part and are not kept

	// What the last run of the transaction made.
	conv    core.Conversation
	run     core.Run
	step    core.Step
	next    *core.Step
	entered []core.InContext
	returns *core.Message
	after   *core.Message // a heartbeat, or what is missing before the turn may end
	shows   map[core.BlockID]int
	hashes  []string
}

// message makes the record of the answer.
func (t *turn) message(a *answer) *core.Message {
	_, model, _ := t.choice.Handle.Split()
	m := &core.Message{
		ID: a.message, Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Step: t.step.ID, Role: core.RoleAssistant,
		Content: a.content, Model: t.choice.Handle, CreatedAt: t.e.cfg.Clock(),
	}
	if a.native != nil {
		m.Native = &core.Native{Provider: t.choice.Info.Provider, Model: model, Prefix: t.prefix, Data: a.native}
	}
	m.Tokens = tokensOf(m)
	return m
}

// saveStep saves the step with its returns, and with it the run's end or the next step. It returns nil when that follows.
// A cancel that comes now is too late for this step: what was shown whole is not lost to it.
func (t *turn) saveStep(ctx context.Context, c *commit) *ending {
	ctx = context.WithoutCancel(ctx)
	if c.assistant == nil {
		c.assistant = t.message(c.answer)
	}
	returnsID, afterID, nextID := core.NewMessageID(), core.NewMessageID(), core.NewStepID()
	now := t.e.cfg.Clock()
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := t.begin(ctx, tx, c); err != nil {
			return err
		}
		if err := t.enterAnswer(ctx, tx, c); err != nil {
			return err
		}
		if err := t.enterReturns(ctx, tx, c, returnsID, now); err != nil {
			return err
		}
		if err := t.enterAfter(ctx, tx, c, afterID, now); err != nil {
			return err
		}
		return t.closeStep(ctx, tx, c, nextID, now)
	})
	if err != nil {
		return t.broken(ctx, err)
	}
	t.committed(c)
	if !c.run.Status.Final() {
		return nil
	}
	end := ending{reason: c.run.StopReason}
	if c.end != nil {
		end = *c.end
	}
	end.saved = true
	return &end
}

// saveCalls saves an answer whose calls act on the world, before they run; a cancel stops the calls, not the save.
func (t *turn) saveCalls(ctx context.Context, c *commit) error {
	ctx = context.WithoutCancel(ctx)
	c.assistant = t.message(c.answer)
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := t.begin(ctx, tx, c); err != nil {
			return err
		}
		if err := t.enterAnswer(ctx, tx, c); err != nil {
			return err
		}
		if err := tx.Steps().Update(ctx, &c.step); err != nil {
			return err
		}
		if err := tx.Runs().Update(ctx, &c.run); err != nil {
			return err
		}
		return tx.Conversations().Update(ctx, &c.conv)
	})
	if err != nil {
		return err
	}
	t.committed(c)
	c.callsIn = true
	return nil
}

// saveInterrupted saves what was shown of an answer that a person stopped; its whole calls get returns that say so.
func (t *turn) saveInterrupted(ctx context.Context, a *answer, dropped []string, end *ending) error {
	c := &commit{answer: a, end: end, dropped: dropped}
	m := core.Message{Content: a.content}
	for _, call := range m.Calls() {
		c.calls = append(c.calls, &pending{call: call, refusal: cancelledReturn, result: core.ToolError(cancelledReturn)})
	}
	if out := t.saveStep(ctx, c); out == nil || !out.saved {
		return core.E(core.Internal, "the interrupted answer could not be saved: %w", out.err)
	}
	return nil
}

// begin reads what others may have changed meanwhile, stores the snapshots and lets the run's input enter.
func (t *turn) begin(ctx context.Context, tx core.Store, c *commit) error {
	conv, err := tx.Conversations().Get(ctx, t.conv.ID)
	if err != nil {
		return err
	}
	c.entered, c.hashes, c.shows, c.next, c.returns, c.after = nil, nil, nil, nil, nil, nil
	c.run, c.step = t.run, *t.step
	if t.moved { // else somebody may have recompiled meanwhile: that pin counts from the next run on
		conv.PinSystem, conv.PinTools, conv.PinKey, conv.Prefix = t.conv.PinSystem, t.conv.PinTools, t.conv.PinKey, t.conv.Prefix
		conv.Shown = t.conv.Shown
	}
	conv.LastFolder = t.conv.LastFolder
	c.conv = conv
	if !c.callsIn { // else the first save told what was sent
		if err := t.keepSnapshots(ctx, tx, c); err != nil {
			return err
		}
	}
	if !t.run.Delivered {
		if err := t.deliver(ctx, tx, c); err != nil {
			return err
		}
	}
	if !c.callsIn {
		c.step.SentRev = c.conv.Rev
	}
	return nil
}

// keepSnapshots stores what was sent, as far as it is not stored already, and names it in the step.
func (t *turn) keepSnapshots(ctx context.Context, tx core.Store, c *commit) error {
	schema := t.pinned.schema
	if !t.choice.Info.Tools {
		schema = "[]"
	}
	system := t.pinned.system
	if t.run.Config.System != "" {
		system = t.run.Config.System
	}
	put := func(kind core.SnapshotKind, body string) (string, error) {
		hash := snapshotHash(kind, body)
		if t.e.seen.has(hash) {
			return hash, nil
		}
		c.hashes = append(c.hashes, hash)
		return tx.Snapshots().Put(ctx, kind, body)
	}
	var err error
	if c.step.SystemHash, err = put(core.SnapshotSystem, system); err != nil {
		return err
	}
	if c.step.ToolsHash, err = put(core.SnapshotTools, schema); err != nil {
		return err
	}
	if t.moved {
		if _, err = put(core.SnapshotTools, t.pinned.schema); err != nil {
			return err
		}
		if _, err = put(core.SnapshotSystem, t.pinned.system); err != nil {
			return err
		}
		if err := t.refreshStale(ctx, tx, c); err != nil {
			return err
		}
	}
	c.step.Prefix = t.prefix
	text, err := put(core.SnapshotText, t.agent.System)
	if err != nil {
		return err
	}
	has := attachments{archive: t.archive, folders: t.pinned.folders}
	if has.blocks, err = tx.Blocks().OfAgent(ctx, t.agent.ID); err != nil {
		return err
	}
	if err := has.look(ctx, tx, t.agent.ID); err != nil {
		return err
	}
	c.step.AgentHash, err = put(core.SnapshotAgent, t.snapshot(c, has, text))
	return err
}

// refreshStale gives a stale message 0 the text that the moved pin has.
func (t *turn) refreshStale(ctx context.Context, tx core.Store, c *commit) error {
	if !c.conv.Stale || c.failed {
		return nil
	}
	c.conv.Stale, c.conv.System = false, t.conv.PinSystem
	return tx.Messages().SetText(ctx, c.conv.SystemMessage, t.pinned.system)
}

// deliver makes the run's input messages of the conversation.
func (t *turn) deliver(ctx context.Context, tx core.Store, c *commit) error {
	ids := make([]core.MessageID, len(t.input))
	for i, m := range t.input {
		m.Step = t.step.ID
		ids[i] = m.ID
	}
	if err := t.enter(ctx, tx, c, t.cutTo, t.input...); err != nil {
		return err
	}
	c.run.Delivered = true
	c.conv.Shown = t.shownAfter(c.conv.Shown, nil)
	return nil
}

// enter stores messages and lets them enter the context, as one group.
func (t *turn) enter(ctx context.Context, tx core.Store, c *commit, cut map[core.MessageID]int, msgs ...*core.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	if err := tx.Messages().Insert(ctx, msgs...); err != nil {
		return err
	}
	c.conv.Rev++
	ids := make([]core.MessageID, len(msgs))
	for i, m := range msgs {
		ids[i] = m.ID
		c.entered = append(c.entered, core.InContext{Row: core.ContextRow{Conversation: c.conv.ID, Message: m.ID, Entered: c.conv.Rev, CutTo: cut[m.ID]}, Message: *m})
	}
	return tx.Messages().Enter(ctx, c.conv.ID, c.conv.Rev, ids, cut)
}

func (t *turn) enterAnswer(ctx context.Context, tx core.Store, c *commit) error {
	if c.callsIn {
		return nil
	}
	return t.enter(ctx, tx, c, nil, c.assistant)
}

// enterReturns runs the edits of the calls, in call order, and stores their returns as one record.
func (t *turn) enterReturns(ctx context.Context, tx core.Store, c *commit, id core.MessageID, now time.Time) error {
	if len(c.calls) == 0 {
		return nil
	}
	m := &core.Message{ID: id, Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Step: t.step.ID, Role: core.RoleTool, CreatedAt: now}
	var done []rules.Done
	c.step.Tools = nil
	shows := map[core.BlockID]int{}
	for _, p := range c.calls {
		r, shown, err := t.finalReturn(ctx, tx, p)
		if err != nil {
			return err
		}
		m.Returns = append(m.Returns, r)
		done = append(done, rules.Done{Return: r, Heartbeat: p.beat})
		c.step.Tools = append(c.step.Tools, r.Name)
		for block, v := range shown {
			shows[block] = max(shows[block], v)
		}
	}
	m.Tokens = tokensOf(m)
	cut := map[core.MessageID]int{}
	if limit := t.returnShare(m); limit > 0 {
		cut[m.ID] = limit
		clear(shows) // what was cut is not shown whole
	}
	c.returns, c.shows = m, shows
	c.conv.Shown = t.shownAfter(c.conv.Shown, shows)
	if c.state != nil && c.end == nil {
		c.outcome = c.state.AfterCalls(done)
	}
	return t.enter(ctx, tx, c, cut, m)
}

// enterAfter stores what makes the agent go on: a heartbeat, or what is missing before its turn may end.
func (t *turn) enterAfter(ctx context.Context, tx core.Store, c *commit, id core.MessageID, now time.Time) error {
	if c.end != nil || !c.outcome.Continue {
		return nil
	}
	local := now.In(t.agent.Location())
	var text string
	switch alert := c.outcome.Alert(); {
	case alert != "":
		text = memory.Alert(alert, local)
	case t.policy.Heartbeats:
		text = memory.Heartbeat(memory.HeartbeatReason(c.outcome.Failed), local)
	default:
		return nil
	}
	c.after = &core.Message{
		ID: id, Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Step: t.step.ID, Role: core.RoleUser,
		Content: []core.Content{core.Text(text)}, CreatedAt: now,
	}
	c.after.Tokens = tokensOf(c.after)
	return t.enter(ctx, tx, c, nil, c.after)
}

// closeStep finishes the step and stores the run's end or the next step.
func (t *turn) closeStep(ctx context.Context, tx core.Store, c *commit, next core.StepID, now time.Time) error {
	c.step.Status, c.step.FinishedAt = core.StepSuccess, now
	c.step.Usage, c.step.Finish = c.answer.usage, c.answer.finish
	switch {
	case c.end != nil:
		c.step.StopReason = c.end.reason
		c.step.Status = map[bool]core.StepStatus{true: core.StepCancelled, false: core.StepFailed}[c.end.reason == core.StopCancelled]
		t.endRun(&c.run, *c.end, now)
	case c.outcome.Continue:
		c.next = newStep(&t.run, t.step.Number+1, now)
		c.next.ID = next
		if err := tx.Steps().Create(ctx, c.next); err != nil {
			return err
		}
	default:
		c.step.StopReason = c.outcome.Stop
		t.endRun(&c.run, ending{reason: c.outcome.Stop}, now)
	}
	if err := tx.Steps().Update(ctx, &c.step); err != nil {
		return err
	}
	if err := t.noteReal(ctx, tx, now); err != nil {
		return err
	}
	c.conv.AskedAt, c.conv.LastMessageAt, c.conv.UpdatedAt = t.step.StartedAt, now, now
	if err := tx.Conversations().Update(ctx, &c.conv); err != nil {
		return err
	}
	if c.run.Status.Final() {
		if err := tx.Agents().Finished(ctx, t.agent.ID, c.run.StopReason, now, now.Sub(c.run.CreatedAt)); err != nil {
			return err
		}
	} else if t.run.Delivered {
		return nil // nothing of the run's row changed
	}
	return tx.Runs().Update(ctx, &c.run)
}

// noteReal remembers that a real model has answered for an agent's own or default choice.
func (t *turn) noteReal(ctx context.Context, tx core.Store, now time.Time) error {
	if t.choice.Info.Offline || t.choice.Why == whyFlag || t.e.realKnown() {
		return nil
	}
	return tx.Meta().Put(ctx, core.MetaRealAt, now.UTC().Format(time.RFC3339))
}

// unwhole says that an answer is not all that the model had to say, where the run's stop reason does not.
func unwhole(c *commit) (core.Notice, bool) {
	switch {
	case c.answer == nil || c.callsIn: // said when the calls were saved
		return core.Notice{}, false
	case c.answer.finish == core.FinishFiltered:
		return core.Notice{Kind: "filtered", Text: "The provider's content filter ended this answer; what it had said is kept."}, true
	case c.answer.finish == core.FinishLength && c.outcome.Stop != core.StopMaxTokens:
		return core.Notice{Kind: "cut", Text: "This step's answer was cut: the model wrote as much as it may."}, true
	}
	return core.Notice{}, false
}

// committed brings the turn's copies up to date and announces what are facts now.
func (t *turn) committed(c *commit) {
	var ids []core.MessageID
	for _, in := range c.entered {
		t.rows = append(t.rows, in)
		if in.Message.Hidden == core.NotHidden {
			ids = append(ids, in.Message.ID)
		}
	}
	for _, h := range c.hashes {
		t.e.seen.add(h)
	}
	if !t.choice.Info.Offline && t.choice.Why != whyFlag {
		t.e.setReal()
	}
	t.conv, t.run, t.moved = c.conv, c.run, false
	var events []core.Event
	if n, ok := unwhole(c); ok {
		events = append(events, core.Event{Step: t.step.ID, Body: n})
	}
	if len(ids) > 0 {
		events = append(events, core.Event{Step: t.step.ID, Body: core.Saved{Messages: ids, Dropped: c.dropped}})
	}
	if c.returns != nil {
		t.history = append(t.history, c.returns.Returns...)
		returned := core.Event{Step: t.step.ID, Message: c.returns.ID, OTID: core.OTIDOf(c.returns.ID, 0)}
		if parts := c.returns.Parts(t.run.Config.Speak); len(parts) > 0 {
			returned.Body = core.ToolReturned{Returns: parts[0].Returns}
			events = append(events, returned)
		}
	}
	t.emit(events...)
	if c.step.Status == core.StepPending { // the calls are saved, their returns follow
		*t.step = c.step
	} else {
		t.step = c.next
	}
	t.e.hub.announce(Change{Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID})
}
