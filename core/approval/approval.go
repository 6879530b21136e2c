// Package approval is what people do about calls that wait for them, beside answering: see what waits, and clear it. An
// answer is a run like any other and goes through core/engine.
//
// Promises: what waits is read from the facts alone, so that it survives every restart; clearing is one transaction that
// leaves a valid history, and asks no model.
//
// Layer 2, beside core/engine: it sees lanes as the interface Lanes.
package approval

import (
	"context"
	"time"

	"loci/core"
	"loci/core/request"
)

// Lanes keep runs from interfering with other work on conversations.
type Lanes interface {
	// Exclusive runs fn in one transaction while no run of the conversation is active, else it returns Busy.
	Exclusive(ctx context.Context, conv core.ConversationID, fn func(ctx context.Context, tx core.Store) error) error
	// Announce tells open chats about a change.
	Announce(c core.Change)
}

// Approvals lists and clears what waits. Safe for concurrent use.
type Approvals struct {
	store core.Store
	lanes Lanes
	clock func() time.Time
}

// New returns the use cases on a store. Without a clock it is the machine's.
func New(store core.Store, lanes Lanes, clock func() time.Time) *Approvals {
	if clock == nil {
		clock = time.Now
	}
	return &Approvals{store: store, lanes: lanes, clock: clock}
}

// Waiting is a request for approval that nobody has answered yet.
type Waiting struct {
	Agent        core.Agent
	Conversation core.ConversationID
	Request      core.Message
}

// List returns what waits in the conversations of an agent, or of all without an id, the oldest first.
func (a *Approvals) List(ctx context.Context, agent core.AgentID) ([]Waiting, error) {
	if agent != "" {
		if _, err := a.store.Agents().Get(ctx, agent); err != nil {
			return nil, err
		}
	}
	rows, err := a.store.Messages().Waiting(ctx, agent)
	if err != nil {
		return nil, err
	}
	var out []Waiting
	for _, r := range rows {
		owner, err := a.store.Agents().Get(ctx, r.Message.Agent)
		if core.Absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Waiting{Agent: owner, Conversation: r.Row.Conversation, Request: r.Message})
	}
	return out, nil
}

// Pending returns what waits in an agent's default conversation, if anything does.
func (a *Approvals) Pending(ctx context.Context, agent core.AgentID) (core.Message, bool, error) {
	rows, err := a.store.Messages().Waiting(ctx, agent)
	for _, r := range rows {
		if r.Row.Conversation == core.DefaultConversation(agent) {
			return r.Message, true, nil
		}
	}
	return core.Message{}, false, err
}

// The reasons that stand in the history when nobody answered.
const (
	reasonCleared   = "The request was cleared without an answer."
	reasonCancelled = "The user cancelled the request, so the call was denied."
)

// Clear denies what waits without asking a model.
func (a *Approvals) Clear(ctx context.Context, id core.MessageID) error {
	rows, err := a.store.Messages().Waiting(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Message.ID == id {
			return a.deny(ctx, r, reasonCleared)
		}
	}
	return core.E(core.NotFound, "no request %s waits for an approval", id).WithHint("`loci approvals` lists what waits")
}

// Cancel denies what waits in a conversation, or in all of an agent's, and returns the runs that had asked with how they
// stand: they ended when they asked. With runs, it is about what those asked for alone.
func (a *Approvals) Cancel(
	ctx context.Context, agent core.AgentID, conv core.ConversationID, runs []core.RunID,
) (map[core.RunID]core.RunStatus, error) {
	rows, err := a.store.Messages().Waiting(ctx, agent)
	if err != nil {
		return nil, err
	}
	named := map[core.RunID]bool{}
	for _, id := range runs {
		named[id] = true
	}
	out := map[core.RunID]core.RunStatus{}
	for _, r := range rows {
		if conv != "" && r.Row.Conversation != conv || len(named) > 0 && !named[r.Message.Run] {
			continue
		}
		if err := a.deny(ctx, r, reasonCancelled); err != nil {
			return nil, err
		}
		out[r.Message.Run] = core.RunCompleted
	}
	return out, nil
}

// deny stores an answer that denies every call, and the returns that follow from it.
func (a *Approvals) deny(ctx context.Context, waits core.InContext, reason string) error {
	conv := waits.Row.Conversation
	err := a.lanes.Exclusive(ctx, conv, func(ctx context.Context, tx core.Store) error {
		rows, err := tx.Messages().Context(ctx, conv)
		if err != nil {
			return err
		}
		asked, still := core.Waiting(rows)
		if !still || asked.ID != waits.Message.ID {
			return core.E(core.Conflict, "the request %s was answered meanwhile", waits.Message.ID)
		}
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		return enter(ctx, tx, &c, denials(rows, &asked, reason, a.clock())...)
	})
	if err == nil {
		a.lanes.Announce(core.Change{Agent: waits.Message.Agent, Conversation: conv, Run: waits.Message.Run})
	}
	return err
}

// denials makes the answer and the returns. Calls beside those that waited never ran either.
func denials(rows []core.InContext, asked *core.Message, reason string, now time.Time) []*core.Message {
	blank := core.Message{
		Agent: asked.Agent, Conversation: asked.Conversation, Run: asked.Run, Step: asked.Step, CreatedAt: now,
	}
	answer, returns := blank, blank
	answer.ID, answer.Role, answer.Approval = core.NewMessageID(), core.RoleApproval, &core.Approval{Request: asked.ID}
	for _, w := range asked.Approval.Waits {
		answer.Approval.Decisions = append(answer.Approval.Decisions, core.Decision{CallID: w.CallID, Reason: reason})
	}
	returns.ID, returns.Role = core.NewMessageID(), core.RoleTool
	for _, c := range core.CallsOf(rows, asked) {
		returns.Returns = append(returns.Returns, core.ToolReturn{
			CallID: c.ID, Name: c.Name, Text: core.DenialText(reason), IsError: true, Dropped: c.Dropped,
		})
	}
	returns.Tokens = request.Tokens(&returns)
	return []*core.Message{&answer, &returns}
}

func enter(ctx context.Context, tx core.Store, c *core.Conversation, msgs ...*core.Message) error {
	c.Rev++
	if err := tx.Messages().Insert(ctx, msgs...); err != nil {
		return err
	}
	ids := make([]core.MessageID, len(msgs))
	for i, m := range msgs {
		ids[i] = m.ID
	}
	if err := tx.Messages().Enter(ctx, c.ID, c.Rev, ids, nil); err != nil {
		return err
	}
	return tx.Conversations().Update(ctx, c)
}
