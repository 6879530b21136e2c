package service

import (
	"context"
	"time"

	"loci/core"
	"loci/core/compact"
)

// maxSummary bounds a conversation's summary, in bytes.
const maxSummary = 10_000

// Conversations are the use cases of an agent's threads.
type Conversations struct{ *parts }

// NewConversation says what a conversation is made from.
type NewConversation struct {
	Agent    core.AgentID
	Summary  string
	Model    core.Handle // overrides the agent's; empty: none
	Settings *core.ModelSettings
	Hidden   bool
}

// ConversationPatch changes what is present in it and nothing else.
type ConversationPatch struct {
	Summary       core.Opt[string]
	Model         core.Opt[core.Handle]
	Settings      core.Opt[core.ModelSettings]
	LastMessageAt core.Opt[time.Time]
}

// Create makes a conversation with its own compiled message 0.
func (c *Conversations) Create(ctx context.Context, in NewConversation, env core.Env) (core.Conversation, error) {
	if _, err := c.Store.Agents().Get(ctx, in.Agent); err != nil {
		return core.Conversation{}, err
	}
	if len(in.Summary) > maxSummary {
		return core.Conversation{}, core.E(core.Invalid, "a summary has at most %d bytes", maxSummary)
	}
	if in.Settings != nil {
		if err := in.Settings.Validate(); err != nil {
			return core.Conversation{}, err
		}
	}
	if in.Model != "" {
		if _, err := c.models.resolve(ctx, in.Model, env); err != nil {
			return core.Conversation{}, err
		}
	}
	var made core.Conversation
	err := c.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		made, err = c.createIn(ctx, tx, in)
		return err
	})
	if err != nil {
		return core.Conversation{}, err
	}
	c.changed(in.Agent)
	return made, nil
}

func (c *Conversations) createIn(ctx context.Context, tx core.Store, in NewConversation) (core.Conversation, error) {
	if _, err := tx.Agents().Get(ctx, in.Agent); err != nil {
		return core.Conversation{}, err
	}
	now := c.Clock()
	conv := core.Conversation{
		ID: core.NewConversationID(), Agent: in.Agent, Summary: in.Summary, Model: in.Model, Settings: in.Settings, Hidden: in.Hidden,
		CreatedAt: now, UpdatedAt: now,
	}
	if err := c.Engine.Prompts().Begin(ctx, tx, &conv, nil); err != nil {
		return core.Conversation{}, err
	}
	return tx.Conversations().Get(ctx, conv.ID)
}

// Get returns a conversation.
func (c *Conversations) Get(ctx context.Context, id core.ConversationID) (core.Conversation, error) {
	return c.Store.Conversations().Get(ctx, id)
}

// Resolve finds the conversation that a path means: an id, an agent's id for its default one, or "default" beside the
// agent's id.
func (c *Conversations) Resolve(ctx context.Context, name string, agent core.AgentID) (core.Conversation, error) {
	if name == "default" {
		if agent == "" {
			return core.Conversation{}, core.E(core.Invalid, "agent_id is needed with the conversation \"default\"")
		}
		name = string(agent)
	}
	conv, err := c.Store.Conversations().Get(ctx, core.ConversationID(name))
	if core.IgnoreDamage(err) == nil && agent != "" && conv.Agent != agent {
		return core.Conversation{}, core.E(core.NotFound, "agent %s has no conversation %s", agent, name)
	}
	return conv, err
}

// List returns conversations other than default ones, fifty by default.
func (c *Conversations) List(ctx context.Context, f core.ConversationFilter, pg core.Page) ([]core.Conversation, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	switch pg.OrderBy {
	case "", "created_at", "last_message_at", "last_run_completion":
	default:
		return nil, core.E(core.Invalid, "conversations cannot be ordered by %q", pg.OrderBy)
	}
	return c.Store.Conversations().List(ctx, f, pg)
}

// Update changes a conversation.
func (c *Conversations) Update(
	ctx context.Context,
	id core.ConversationID,
	patch ConversationPatch,
	env core.Env,
) (core.Conversation, error) {
	if len(patch.Summary.Value) > maxSummary {
		return core.Conversation{}, core.E(core.Invalid, "a summary has at most %d bytes", maxSummary)
	}
	if err := patch.Settings.Value.Validate(); err != nil {
		return core.Conversation{}, err
	}
	if patch.Model.Set() {
		if _, err := c.models.resolve(ctx, patch.Model.Value, env); err != nil {
			return core.Conversation{}, err
		}
	}
	var conv core.Conversation
	err := c.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if conv, err = tx.Conversations().Get(ctx, id); err != nil {
			return err
		}
		set(&conv.Summary, patch.Summary)
		set(&conv.Model, patch.Model)
		set(&conv.LastMessageAt, patch.LastMessageAt)
		if patch.Settings.Present {
			conv.Settings = nil
			if !patch.Settings.Null {
				conv.Settings = &patch.Settings.Value
			}
		}
		conv.UpdatedAt = c.Clock()
		return tx.Conversations().Update(ctx, &conv)
	})
	if err != nil {
		return core.Conversation{}, err
	}
	c.changed(conv.Agent)
	return conv, nil
}

// Delete marks a conversation deleted. The default one goes with its agent only; one with a run under way is busy.
func (c *Conversations) Delete(ctx context.Context, id core.ConversationID) error {
	if id.IsDefault() {
		return core.E(core.Invalid, "the default conversation goes with its agent").WithHint("reset its messages, or delete the agent")
	}
	conv, err := c.Get(ctx, id)
	if core.IgnoreDamage(err) != nil {
		return err
	}
	err = c.Engine.Exclusive(ctx, id, func(ctx context.Context, tx core.Store) error { return tx.Conversations().Delete(ctx, id) })
	if err != nil {
		return err
	}
	c.changed(conv.Agent)
	return nil
}

// Recompile compiles the system message anew and returns it; dry stores nothing.
func (c *Conversations) Recompile(ctx context.Context, id core.ConversationID, dry bool) (string, error) {
	if _, err := c.Get(ctx, id); err != nil {
		return "", err
	}
	return c.Engine.Prompts().Recompile(ctx, id, dry)
}

// CompactionResult is what a compaction on request did; the counts are of the messages in the window, the system message too.
type CompactionResult struct {
	Summary       string
	Notice        string // what a person should know of how it was made
	Before, After int
}

// Compact replaces the older messages of a conversation by a summary; given settings are laid over the agent's for this
// time.
func (c *Conversations) Compact(ctx context.Context, id core.ConversationID, given map[string]any, env core.Env) (CompactionResult, error) {
	conv, err := c.Get(ctx, id)
	if err != nil {
		return CompactionResult{}, err
	}
	agent, err := c.Store.Agents().Get(ctx, conv.Agent)
	if err != nil {
		return CompactionResult{}, err
	}
	if err := compact.Check(given); err != nil {
		return CompactionResult{}, err
	}
	var settings map[string]any
	if len(given) > 0 {
		settings = compact.Lay(compact.Of(agent.Extra), given)
	}
	done, err := c.Engine.Compact(ctx, id, env, settings)
	if err != nil {
		return CompactionResult{}, err
	}
	c.changed(agent.ID)
	return CompactionResult{
		Summary: done.Summary,
		Notice:  done.Notice,
		Before:  done.Stats.MessagesBefore + 1,
		After:   done.Stats.MessagesAfter + 1,
	}, nil
}

// MessageIDs returns what the conversation's window holds, in order.
func (c *Conversations) MessageIDs(ctx context.Context, id core.ConversationID) ([]core.MessageID, error) {
	return c.Store.Messages().ContextIDs(ctx, id)
}
