package tui

import (
	"cmp"
	"context"
	"slices"

	"loci/daemon/api"
)

// past is what the chat needs of the daemon to go back.
type past interface {
	// Said gives what a person said in a conversation as it is now, the newest first.
	Said(ctx context.Context, t Thread) ([]api.Message, error)
	// Turn gives a run with its steps and messages, both the oldest first.
	Turn(ctx context.Context, run string) (ran, error)
	Rewind(ctx context.Context, to api.RewindRequest) (api.Rewind, error)
	UndoRewind(ctx context.Context, id string) (api.Rewind, error)
	// Rewinds gives the rewinds of a conversation, the newest first.
	Rewinds(ctx context.Context, t Thread) ([]api.Rewind, error)
	// Fork makes a conversation that goes on from another: from what it is now, or from what a step was sent.
	Fork(ctx context.Context, t Thread, step string) (api.Conversation, error)

	// Versions gives the versions of a block, the newest first.
	Versions(ctx context.Context, block string) ([]api.BlockVersion, error)
	// Sharers says how many agents have a block.
	Sharers(ctx context.Context, block string) (int, error)
	BlockDiff(ctx context.Context, block string, from, to int) (string, error)
	// UndoBlock takes back the last change of a block that is not undone, RedoBlock does it again.
	UndoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
	RedoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
}

// ran is a run and what it did.
type ran struct {
	thread   Thread // in which it ran: a fork shows what was said in another
	steps    []api.Step
	messages []api.Message
}

// conversation is what the paths of the API want as a thread's name.
func (t Thread) conversation() string { return cmp.Or(t.Conversation, t.Agent) }

func (d daemon) Said(ctx context.Context, t Thread) ([]api.Message, error) {
	list, err := d.ConversationMessages(ctx, t.conversation(), api.ListConversationMessages{
		Page: api.Page{Limit: listMost, Order: "desc"}, IncludeReturnMessageTypes: []string{string(api.MessageUser)},
	})
	if t.Conversation == "" { // the default one's list is oldest first, whatever the order
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
