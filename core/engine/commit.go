package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/moment"
	"loci/core/prompt"
	"loci/core/request"
	"loci/core/rules"
)

// commit is what one step adds to the facts. It is written by one transaction, or by two when calls act on the world:
// the calls before they run, their returns after.
type commit struct {
	// What it is made from: as it is now in the turn, which takes over what was written once that is a fact.
	win     *window
	sent    *core.Step
	archive core.ArchiveID
	seen    *hashes

	answer    *answer
	calls     []*pendingCall
	state     *rules.State
	outcome   rules.Outcome // of a response without calls; with calls it follows from their returns
	end       *ending       // the run ends with this, whatever the outcome
	assistant *core.Message // nil too where the whole response is a request
	request   *core.Message // the calls of the response that wait for somebody; nil: none does
	callsIn   bool          // the assistant message is saved already
	failed    bool          // the step failed: only what it sent is kept
	dropped   []string      // ids of calls that were shown in part and are not kept
	goOn      string        // what a hook gives the agent to do before its turn may end; empty: nothing
	misfit    string        // what is wrong with the form of an answer that is asked for once more; empty: nothing
	halt      string        // why a hook ends the turn; empty: none does

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

// newCommit returns a commit of the step under way.
func (t *turn) newCommit(a *answer) *commit {
	return &commit{win: &t.win, sent: t.step, archive: t.archive, seen: t.e.seen, answer: a}
}

// record makes the record of the answer: one message, or two where some of its calls wait for somebody.
func (c *commit) record(now time.Time) {
	a, w := c.answer, c.win
	_, model, _ := w.choice.Handle.Split()
	m := &core.Message{
		ID: a.message, Agent: w.agent.ID, Conversation: w.conv.ID, Run: w.run.ID, Step: c.sent.ID, Role: core.RoleAssistant,
		Content: a.content, Model: w.choice.Handle, CreatedAt: now,
	}
	if a.native != nil {
		m.Native = &core.Native{
			Provider: w.choice.Info.Provider,
			Endpoint: w.choice.Info.Endpoint,
			Model:    model,
			Prefix:   w.sentPrefix(),
			Data:     a.native,
		}
	}
	c.assistant = m
	if slices.ContainsFunc(c.calls, (*pendingCall).asks) {
		c.request = requestOf(m, c.calls)
		if len(m.Content) == 0 {
			c.request.Native, c.assistant = m.Native, nil
		}
	}
	for _, m := range []*core.Message{c.assistant, c.request} {
		if m != nil {
			m.Tokens = request.Tokens(m)
		}
	}
}

// begin reads what others may have changed meanwhile, stores the snapshots and lets the run's input enter.
func (c *commit) begin(ctx context.Context, tx core.Store) error {
	conv, err := tx.Conversations().Get(ctx, c.win.conv.ID)
	if err != nil {
		return err
	}
	c.entered, c.hashes, c.shows, c.next, c.returns, c.after = nil, nil, nil, nil, nil, nil
	c.run, c.step = *c.win.run, *c.sent
	if c.win.moved { // else somebody may have recompiled meanwhile: that pin counts from the next run on
		conv.PinSystem, conv.PinTools = c.win.conv.PinSystem, c.win.conv.PinTools
		conv.PinKey, conv.Prefix = c.win.conv.PinKey, c.win.conv.Prefix
		conv.Shown = c.win.conv.Shown
	}
	conv.LastFolder = c.win.conv.LastFolder
	c.conv = conv
	if !c.callsIn { // else the first save told what was sent
		if err := c.keepSnapshots(ctx, tx); err != nil {
			return err
		}
	}
	if !c.win.run.Delivered {
		if err := c.deliver(ctx, tx); err != nil {
			return err
		}
	}
	if !c.callsIn {
		c.step.SentRev = c.conv.Rev
	}
	return nil
}

// keepSnapshots stores what was sent, as far as it is not stored already, and names it in the step.
func (c *commit) keepSnapshots(ctx context.Context, tx core.Store) error {
	schema := c.win.schema()
	if !c.win.choice.Info.Tools {
		schema = "[]"
	}
	system := c.win.pinned.System
	if c.win.run.Config.System != "" {
		system = c.win.run.Config.System
	}
	put := func(kind core.SnapshotKind, body string) (string, error) {
		hash := prompt.Hash(kind, body)
		if c.seen.has(hash) {
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
	if c.win.moved {
		if _, err = put(core.SnapshotTools, c.win.pinned.Schema); err != nil {
			return err
		}
		if _, err = put(core.SnapshotSystem, c.win.pinned.System); err != nil {
			return err
		}
		if err := c.refreshStale(ctx, tx); err != nil {
			return err
		}
	}
	c.step.Prefix = c.win.sentPrefix()
	text, err := put(core.SnapshotText, c.win.agent.System)
	if err != nil {
		return err
	}
	has := moment.Attachments{Archive: c.archive, Folders: c.win.pinned.Folders}
	if has.Blocks, err = tx.Blocks().OfAgent(ctx, c.win.agent.ID); err != nil {
		return err
	}
	if err := has.Look(ctx, tx, c.win.agent.ID); err != nil {
		return err
	}
	c.step.AgentHash, err = put(core.SnapshotAgent, c.snapshot(has, text))
	return err
}

// saveFailed stores a step that failed, and names what it sent, if it came to sending.
func (c *commit) saveFailed(ctx context.Context, tx core.Store, step core.Step) error {
	c.step, c.conv, c.failed = step, c.win.conv, true
	if !step.StartedAt.IsZero() {
		if err := c.keepSnapshots(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Steps().Update(ctx, &c.step)
}

// snapshot describes what the turn's step sent, with its input.
func (c *commit) snapshot(has moment.Attachments, text string) string {
	conv := c.conv
	conv.Settings, conv.Model = c.win.conv.Settings, c.win.conv.Model
	if conv.Prefix != c.win.prefix {
		// Somebody compiled the prompt anew while the run went on with the old one: so does who goes back to here, and the
		// pin moves with the next run.
		conv.PinSystem, conv.PinTools = prompt.Hash(
			core.SnapshotSystem,
			c.win.pinned.System,
		), prompt.Hash(
			core.SnapshotTools,
			c.win.pinned.Schema,
		)
		conv.PinKey, conv.Prefix, conv.Cut = "", c.win.prefix, c.win.conv.Cut
	}
	s := moment.Of(c.win.agent, &conv, has, text)
	s.Facts = moment.Facts{
		Provider: c.win.choice.Info.Provider,
		Endpoint: c.win.choice.Info.Endpoint,
		Tools:    c.win.choice.Info.Tools,
		Binds:    c.win.choice.Info.BindsPrefix,
		Images:   c.win.choice.Info.Images,
	}
	if !c.failed {
		s.Pin.Shown = c.win.shownAfter(c.conv.Shown, nil)
		if !maps.Equal(s.Pin.Shown, c.conv.Shown) {
			s.Pin.Before = c.conv.Shown
		}
	}
	return request.JSON(s)
}

// refreshStale gives a stale message 0 the text that the moved pin has.
func (c *commit) refreshStale(ctx context.Context, tx core.Store) error {
	if !c.conv.Stale || c.failed {
		return nil
	}
	c.conv.Stale, c.conv.System = false, c.win.conv.PinSystem
	return tx.Messages().SetText(ctx, c.conv.SystemMessage, c.win.pinned.System)
}

// deliver makes the run's input messages of the conversation.
func (c *commit) deliver(ctx context.Context, tx core.Store) error {
	ids := make([]core.MessageID, len(c.win.input))
	for i, m := range c.win.input {
		m.Step = c.sent.ID
		ids[i] = m.ID
	}
	if err := c.enter(ctx, tx, c.win.cutTo, c.win.input...); err != nil {
		return err
	}
	c.run.Delivered = true
	c.conv.Told = max(c.conv.Told, c.win.told)
	c.conv.Shown = c.win.shownAfter(c.conv.Shown, nil)
	return nil
}

// enter stores messages and lets them enter the context, as one group.
func (c *commit) enter(ctx context.Context, tx core.Store, cut map[core.MessageID]int, msgs ...*core.Message) error {
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
		c.entered = append(
			c.entered,
			core.InContext{
				Row:     core.ContextRow{Conversation: c.conv.ID, Message: m.ID, Entered: c.conv.Rev, CutTo: cut[m.ID]},
				Message: *m,
			},
		)
	}
	return tx.Messages().Enter(ctx, c.conv.ID, c.conv.Rev, ids, cut)
}

func (c *commit) enterAnswer(ctx context.Context, tx core.Store) error {
	if c.callsIn {
		return nil
	}
	var msgs []*core.Message
	for _, m := range []*core.Message{c.assistant, c.request} {
		if m != nil {
			msgs = append(msgs, m)
		}
	}
	return c.enter(ctx, tx, nil, msgs...)
}

// enterReturns runs the edits of the calls, in call order, and stores their returns as one record.
func (c *commit) enterReturns(ctx context.Context, tx core.Store, id core.MessageID, now time.Time) error {
	if len(c.calls) == 0 || c.request != nil {
		return nil
	}
	m := &core.Message{
		ID:           id,
		Agent:        c.win.agent.ID,
		Conversation: c.win.conv.ID,
		Run:          c.win.run.ID,
		Step:         c.sent.ID,
		Role:         core.RoleTool,
		CreatedAt:    now,
	}
	var done []rules.Done
	c.step.Tools = nil
	shows := map[core.BlockID]int{}
	for _, p := range c.calls {
		r, shown, err := p.finalReturn(ctx, tx)
		if err != nil {
			return err
		}
		m.Returns = append(m.Returns, r)
		if r.Dropped {
			continue
		}
		done = append(done, rules.Done{Return: r, Heartbeat: p.beat})
		c.step.Tools = append(c.step.Tools, r.Name)
		for block, v := range shown {
			shows[block] = max(shows[block], v)
		}
	}
	m.Tokens = request.Tokens(m)
	cut := map[core.MessageID]int{}
	if limit := c.win.returnShare(m); limit > 0 {
		cut[m.ID] = limit
		clear(shows) // what was cut is not shown whole
	}
	c.returns, c.shows = m, shows
	c.conv.Shown = c.win.shownAfter(c.conv.Shown, shows)
	if c.state != nil && c.end == nil {
		c.halt = halted(c.calls)
		c.outcome = c.follow(c.state.AfterCalls(done))
	}
	entering := []*core.Message{m}
	for _, p := range c.calls {
		entering = append(entering, p.brings...)
	}
	return c.enter(ctx, tx, cut, entering...)
}

// enterAfter stores what makes the agent go on: a heartbeat, or what is missing before its turn may end.
func (c *commit) enterAfter(ctx context.Context, tx core.Store, id core.MessageID, now time.Time) error {
	if c.end != nil || !c.outcome.Continue {
		return nil
	}
	local := now.In(c.win.agent.Location())
	var text string
	switch alert := c.outcome.Alert(); {
	case alert != "":
		text = memory.Alert(alert, local)
	case c.misfit != "":
		text = memory.Alert(misfitWords(c.misfit), local)
	case c.goOn != "":
		text = memory.Alert("A hook, a program of the person's, says before your turn ends: "+c.goOn, local)
	case c.win.policy.Heartbeats:
		text = memory.Heartbeat(memory.HeartbeatReason(c.outcome.Failed), local)
	default:
		return nil
	}
	c.after = &core.Message{
		ID: id, Agent: c.win.agent.ID, Conversation: c.win.conv.ID, Run: c.win.run.ID, Step: c.sent.ID, Role: core.RoleUser,
		Content: []core.Content{core.Text(text)}, CreatedAt: now,
	}
	c.after.Tokens = request.Tokens(c.after)
	return c.enter(ctx, tx, nil, c.after)
}

// closeStep finishes the step and stores the run's end or the next step.
func (c *commit) closeStep(ctx context.Context, tx core.Store, next core.StepID, now time.Time) error {
	c.step.Status, c.step.FinishedAt = core.StepSuccess, now
	c.step.Usage, c.step.Finish = c.answer.usage, c.answer.finish
	switch {
	case c.end != nil:
		c.step.StopReason = c.end.reason
		c.step.Status = map[bool]core.StepStatus{true: core.StepCancelled, false: core.StepFailed}[c.end.reason == core.StopCancelled]
		endRun(&c.run, *c.end, now)
	case c.outcome.Continue:
		c.next = newStep(c.win.run, c.sent.Number+1, now)
		c.next.ID = next
		if err := tx.Steps().Create(ctx, c.next); err != nil {
			return err
		}
	default:
		c.step.StopReason = c.outcome.Stop
		endRun(&c.run, ending{reason: c.outcome.Stop}, now)
	}
	if err := tx.Steps().Update(ctx, &c.step); err != nil {
		return err
	}
	c.conv.AskedAt, c.conv.LastMessageAt, c.conv.UpdatedAt = c.sent.StartedAt, now, now
	if err := tx.Conversations().Update(ctx, &c.conv); err != nil {
		return err
	}
	if c.run.Status.Final() {
		if err := tx.Agents().Finished(ctx, c.win.agent.ID, c.run.StopReason, now, now.Sub(c.run.CreatedAt)); err != nil {
			return err
		}
	} else if c.win.run.Delivered {
		return nil // nothing of the run's row changed
	}
	return tx.Runs().Update(ctx, &c.run)
}
