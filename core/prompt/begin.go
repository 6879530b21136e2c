package prompt

import (
	"context"

	"loci/core"
	"loci/core/memory"
	"loci/core/request"
)

// Begin creates, inside tx, a conversation with its message 0 compiled and pinned, and its first messages (the boot
// messages of the agent type if first is nil). c.ID and c.Agent must be set; the agent and its attachments must exist.
func (k *Compiler) Begin(ctx context.Context, tx core.Store, c *core.Conversation, first []core.Message) error {
	a, err := tx.Agents().Get(ctx, c.Agent)
	if err != nil {
		return err
	}
	now := k.clock()
	if first == nil {
		policy, _ := core.PolicyOf(a.Type)
		first = memory.Boot(policy, now.In(a.Location()))
	}
	if err := k.BeginEmpty(ctx, tx, a, c); err != nil {
		return err
	}
	if err := k.enterFirst(ctx, tx, c, first); err != nil {
		return err
	}
	return k.leaveFirst(ctx, tx, &a, c, first)
}

// BeginEmpty creates a conversation with message 0 only.
func (k *Compiler) BeginEmpty(ctx context.Context, tx core.Store, a core.Agent, c *core.Conversation) error {
	now := k.clock()
	c.SystemMessage, c.Rev, c.CreatedAt, c.UpdatedAt = core.NewMessageID(), 1, now, now
	p, err := k.Compile(ctx, tx, a, c)
	if err != nil {
		return err
	}
	system, tools, err := k.keep(ctx, tx, &p)
	if err != nil {
		return err
	}
	p.Pin(c, system, tools)
	c.System = system
	if err := tx.Conversations().Create(ctx, c); err != nil {
		return err
	}
	zero := core.Message{
		ID:           c.SystemMessage,
		Agent:        a.ID,
		Conversation: c.ID,
		Role:         core.RoleSystem,
		Content:      []core.Content{core.Text(p.System)},
		CreatedAt:    now,
	}
	zero.Tokens = core.EstimateTokens(p.System)
	if err := tx.Messages().Insert(ctx, &zero); err != nil {
		return err
	}
	return tx.Messages().EnterFirst(ctx, c.ID, c.Rev, zero.ID)
}

// enterFirst stores the messages that open a conversation.
func (k *Compiler) enterFirst(ctx context.Context, tx core.Store, c *core.Conversation, first []core.Message) error {
	if len(first) == 0 {
		return nil
	}
	msgs, ids := make([]*core.Message, len(first)), make([]core.MessageID, len(first))
	for i := range first {
		m := &first[i]
		if m.ID == "" {
			m.ID = core.NewMessageID()
		}
		m.Agent, m.Conversation = c.Agent, c.ID
		if m.CreatedAt.IsZero() {
			m.CreatedAt = k.clock()
		}
		m.Tokens = request.Tokens(m)
		msgs[i], ids[i] = m, m.ID
	}
	if err := tx.Messages().Insert(ctx, msgs...); err != nil {
		return err
	}
	return tx.Messages().Enter(ctx, c.ID, c.Rev, ids, nil)
}

// leaveFirst evicts at once those of the first messages that the first turn would evict: an imported history may be of
// any length, and the first message shouldn't have to wait for it.
func (k *Compiler) leaveFirst(ctx context.Context, tx core.Store, a *core.Agent, c *core.Conversation, first []core.Message) error {
	_, schema, err := tx.Snapshots().Get(ctx, c.PinTools)
	if err != nil {
		return err
	}
	_, system, err := tx.Snapshots().Get(ctx, c.PinSystem)
	if err != nil {
		return err
	}
	room := request.Limit(a, k.WindowFor(a)) - core.EstimateTokens(system) - core.EstimateTokens(schema)
	n := firstLeaving(first, room)
	if n == 0 {
		return nil
	}
	ids := make([]core.MessageID, n)
	for i := range ids {
		ids[i] = first[i].ID
	}
	c.Rev++
	if err := tx.Messages().Leave(ctx, c.ID, c.Rev, core.LeftEviction, ids); err != nil {
		return err
	}
	marker := request.Marker(c, n, k.clock())
	if err := tx.Messages().Insert(ctx, marker); err != nil {
		return err
	}
	if err := tx.Messages().Enter(ctx, c.ID, c.Rev, []core.MessageID{marker.ID}, nil); err != nil {
		return err
	}
	return tx.Conversations().Update(ctx, c)
}

// firstLeaving returns how many of the first messages leave so that the rest fits into what an eviction keeps of the
// room. A turn begins with a user message and isn't split; the last one stays.
func firstLeaving(first []core.Message, room int) int {
	total, goal := 0, int(float64(room)*request.KeepShare)
	for i := range first {
		total += first[i].Tokens
	}
	if total <= room {
		return 0
	}
	leaving := 0
	for i := range first {
		if i > 0 && first[i].Role == core.RoleUser {
			if leaving = i; total <= goal {
				break
			}
		}
		total -= first[i].Tokens
	}
	return leaving
}

// renew recompiles message 0 inside tx and, with pin, what is sent. It changes c and stores it.
func (k *Compiler) renew(ctx context.Context, tx core.Store, c *core.Conversation, pin bool) (Prompt, error) {
	a, err := tx.Agents().Get(ctx, c.Agent)
	if err != nil {
		return Prompt{}, err
	}
	p, err := k.Compile(ctx, tx, a, c)
	if err != nil {
		return Prompt{}, err
	}
	return p, k.Store(ctx, tx, c, &p, pin)
}

// Store stores a prompt as message 0, inside tx; with pin it is sent from now on. It changes c and stores it.
func (k *Compiler) Store(ctx context.Context, tx core.Store, c *core.Conversation, p *Prompt, pin bool) error {
	system, tools, err := k.keep(ctx, tx, p)
	if err != nil {
		return err
	}
	if err := tx.Messages().SetText(ctx, c.SystemMessage, p.System); err != nil {
		return err
	}
	c.System, c.Stale = system, false
	if pin {
		p.Pin(c, system, tools)
	}
	return tx.Conversations().Update(ctx, c)
}

// Reset empties the conversation, inside tx, except for a newly compiled message 0 and, if requested, the boot messages.
func (k *Compiler) Reset(ctx context.Context, tx core.Store, conv core.ConversationID, boot bool) error {
	c, err := tx.Conversations().Get(ctx, conv)
	if err != nil {
		return err
	}
	rows, err := tx.Messages().Context(ctx, conv)
	if err != nil {
		return err
	}
	var ids []core.MessageID
	for _, r := range rows {
		if r.Row.Position != 0 {
			ids = append(ids, r.Row.Message)
		}
	}
	c.Rev++
	c.Cut = c.Rev
	if err := tx.Messages().Leave(ctx, conv, c.Rev, core.LeftReset, ids); err != nil {
		return err
	}
	if _, err := k.renew(ctx, tx, &c, true); err != nil {
		return err
	}
	if !boot {
		return nil
	}
	a, err := tx.Agents().Get(ctx, c.Agent)
	if err != nil {
		return err
	}
	policy, _ := core.PolicyOf(a.Type)
	return k.enterFirst(ctx, tx, &c, memory.Boot(policy, k.clock().In(a.Location())))
}

// Recompile recompiles message 0 and the pin and returns the text; with dry it stores nothing.
func (k *Compiler) Recompile(ctx context.Context, conv core.ConversationID, dry bool) (string, error) {
	if dry {
		c, err := k.store.Conversations().Get(ctx, conv)
		if err != nil {
			return "", err
		}
		a, err := k.store.Agents().Get(ctx, c.Agent)
		if err != nil {
			return "", err
		}
		p, err := k.Compile(ctx, k.store, a, &c)
		return p.System, err
	}
	var text string
	err := k.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		p, err := k.renew(ctx, tx, &c, true)
		text = p.System
		return err
	})
	return text, err
}

// Refresh recompiles message 0 of a conversation if its stored text is stale; call it before showing its messages.
func (k *Compiler) Refresh(ctx context.Context, conv core.ConversationID) error {
	c, err := k.store.Conversations().Get(ctx, conv)
	if err != nil || !c.Stale {
		return err
	}
	return k.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil || !c.Stale {
			return err
		}
		_, err = k.renew(ctx, tx, &c, false)
		return err
	})
}
