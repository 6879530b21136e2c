package tui

import (
	"cmp"
	"context"
	"slices"

	"loci/daemon/api"
)

// past is what the chat needs from the daemon to go back.
type past interface {
	// Said returns what the person said in the current state of a conversation,
	// newest first.
	Said(ctx context.Context, t Thread) ([]api.Message, error)
	// Turn returns a run with its steps and messages, both oldest first.
	Turn(ctx context.Context, run string) (ran, error)
	Rewind(ctx context.Context, to api.RewindRequest) (api.Rewind, error)
	UndoRewind(ctx context.Context, id string) (api.Rewind, error)
	// Rewinds returns the rewinds of a conversation, newest first.
	Rewinds(ctx context.Context, t Thread) ([]api.Rewind, error)
	// Fork makes a conversation that branches off another: from its current state,
	// or from what a step was sent.
	Fork(ctx context.Context, t Thread, step string) (api.Conversation, error)

	// Versions returns the versions of a block, newest first.
	Versions(ctx context.Context, block string) ([]api.BlockVersion, error)
	// Sharers returns how many agents have a block.
	Sharers(ctx context.Context, block string) (int, error)
	BlockDiff(ctx context.Context, block string, from, to int) (string, error)
	// UndoBlock undoes the latest change of a block that isn't undone yet;
	// RedoBlock redoes it.
	UndoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
	RedoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
}

// ran is a run and what it did.
type ran struct {
	thread   Thread // where it ran: a fork also shows what was said in its original
	steps    []api.Step
	messages []api.Message
}

// conversation is how API paths name the thread.
func (t Thread) conversation() string { return cmp.Or(t.Conversation, t.Agent) }

func (d daemon) Said(ctx context.Context, t Thread) ([]api.Message, error) {
	list, err := d.ConversationMessages(ctx, t.conversation(), api.ListConversationMessages{
		Page: api.Page{Limit: listMost, Order: "desc"}, IncludeReturnMessageTypes: []string{string(api.MessageUser)},
	})
	if t.Conversation == "" { // the default one's list is always oldest first
		slices.Reverse(list)
	}
	return list, err
}

func (d daemon) Turn(ctx context.Context, run string) (ran, error) {
	r, err := d.Run(ctx, run)
	if err != nil {
		return ran{}, err
	}
	page := api.Page{Limit: listMost, Order: "asc"}
	out := ran{thread: threadOf(r.AgentID, api.Val(r.ConversationID))}
	if out.steps, err = d.RunSteps(ctx, run, page); err == nil {
		out.messages, err = d.RunMessages(ctx, run, page)
	}
	return out, err
}

func (d daemon) Rewinds(ctx context.Context, t Thread) ([]api.Rewind, error) {
	return d.Client.Rewinds(ctx, api.ListRewinds{ConversationID: t.conversation(), Page: api.Page{Limit: listMost}})
}

func (d daemon) Fork(ctx context.Context, t Thread, step string) (api.Conversation, error) {
	return d.ForkConversation(ctx, t.conversation(), t.Agent, api.ForkConversation{StepID: step})
}

func (d daemon) Versions(ctx context.Context, block string) ([]api.BlockVersion, error) {
	return d.BlockVersions(ctx, block, api.Page{Limit: listMost})
}

func (d daemon) Sharers(ctx context.Context, block string) (int, error) {
	agents, err := d.BlockAgents(ctx, block, api.ListBlockAgents{Page: api.Page{Limit: listMost}})
	return len(agents), err
}

func (d daemon) BlockDiff(ctx context.Context, block string, from, to int) (string, error) {
	diff, err := d.Client.BlockDiff(ctx, block, api.BlockDiffParams{From: api.Given(from), To: api.Given(to)})
	return diff.Diff, err
}

func (d daemon) UndoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error) {
	return d.Client.UndoBlock(ctx, block, api.UndoBlock{}, etag)
}
