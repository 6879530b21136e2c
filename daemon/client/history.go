package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func pastBlock(id, what string) string { return api.PathBlocks + "/" + url.PathEscape(id) + "/" + what }

// BlockVersions lists the versions of a block, the newest first.
func (c *Client) BlockVersions(ctx context.Context, id string, p api.Page) ([]api.BlockVersion, error) {
	return call[[]api.BlockVersion](ctx, c, request{method: get, path: pastBlock(id, "versions"), query: p})
}

// BlockDiff compares two versions of a block.
func (c *Client) BlockDiff(ctx context.Context, id string, p api.BlockDiffParams) (api.BlockDiff, error) {
	return call[api.BlockDiff](ctx, c, request{method: get, path: pastBlock(id, "diff"), query: p})
}

// UndoBlock brings back what a block held before its last edit, or an earlier version. With an ETag it is refused as a
// conflict if the block changed since.
func (c *Client) UndoBlock(ctx context.Context, id string, in api.UndoBlock, ifMatch string) (api.BlockUndone, error) {
	return call[api.BlockUndone](ctx, c, request{method: post, path: pastBlock(id, "undo"), body: in, header: matching(ifMatch)})
}

// RedoBlock does again what was last undone.
func (c *Client) RedoBlock(ctx context.Context, id, ifMatch string) (api.BlockUndone, error) {
	return call[api.BlockUndone](ctx, c, request{method: post, path: pastBlock(id, "redo"), header: matching(ifMatch)})
}

// Rewind takes a conversation and its agent back to a step, or to before a run.
func (c *Client) Rewind(ctx context.Context, in api.RewindRequest) (api.Rewind, error) {
	return call[api.Rewind](ctx, c, request{method: post, path: api.PathRewinds, body: in})
}

// Rewinds lists the rewinds of a conversation, the newest first.
func (c *Client) Rewinds(ctx context.Context, p api.ListRewinds) ([]api.Rewind, error) {
	return call[[]api.Rewind](ctx, c, request{method: get, path: api.PathRewinds, query: p})
}

// UndoRewind brings back what was before a rewind.
func (c *Client) UndoRewind(ctx context.Context, id string) (api.Rewind, error) {
	return call[api.Rewind](ctx, c, request{method: post, path: api.PathRewinds + "/" + url.PathEscape(id) + "/undo"})
}

// LastRewind is what an undo takes back: the last rewind that is not undone.
func LastRewind(newestFirst []api.Rewind) (api.Rewind, bool) {
	undone := map[string]bool{}
	for _, r := range newestFirst {
		switch {
		case undone[r.ID] && r.Undoes != nil:
			undone[*r.Undoes] = false // the undo itself was taken back
		case undone[r.ID]:
		case r.Undoes == nil:
			return r, true
		default:
			undone[*r.Undoes] = true
		}
	}
	return api.Rewind{}, false
}

// LastUndo is what a redo takes back: the undo of a rewind, if no rewind came behind it.
func LastUndo(newestFirst []api.Rewind) (api.Rewind, bool) {
	undoes := map[string]*string{}
	for _, r := range newestFirst {
		undoes[r.ID] = r.Undoes
	}
	chain := 0 // an undo, the undo of an undo, which is a redo, and so on
	if len(newestFirst) > 0 {
		for of := newestFirst[0].Undoes; of != nil && chain < len(newestFirst); of = undoes[*of] {
			chain++
		}
	}
	if chain%2 == 0 {
		return api.Rewind{}, false
	}
	return newestFirst[0], true
}

// ForkConversation makes a conversation that shares the messages of another's window. The agent is needed for the default one.
func (c *Client) ForkConversation(ctx context.Context, id, agentID string, in api.ForkConversation) (api.Conversation, error) {
	path := api.PathConversations + "/" + url.PathEscape(id) + "/fork"
	return call[api.Conversation](ctx, c, request{method: post, path: path, query: api.AgentParam{AgentID: agentID}, body: in})
}

// CopyAgent makes an agent from another.
func (c *Client) CopyAgent(ctx context.Context, id string, in api.CopyAgent) (api.AgentCopied, error) {
	return call[api.AgentCopied](ctx, c, request{method: post, path: api.PathAgents + "/" + url.PathEscape(id) + "/copy", body: in})
}

// StepRequest tells exactly what a step sent.
func (c *Client) StepRequest(ctx context.Context, id string) (api.SentRequest, error) {
	return call[api.SentRequest](ctx, c, request{method: get, path: api.PathSteps + "/" + url.PathEscape(id) + "/request"})
}
