package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func pastBlock(id, what string) string { return api.PathBlocks + "/" + url.PathEscape(id) + "/" + what }

// BlockVersions lists the versions of a block, newest first.
func (c *Client) BlockVersions(ctx context.Context, id string, p api.Page) ([]api.BlockVersion, error) {
	return call[[]api.BlockVersion](ctx, c, request{method: get, path: pastBlock(id, "versions"), query: p})
}

// BlockDiff compares two versions of a block.
func (c *Client) BlockDiff(ctx context.Context, id string, p api.BlockDiffParams) (api.BlockDiff, error) {
	return call[api.BlockDiff](ctx, c, request{method: get, path: pastBlock(id, "diff"), query: p})
}

// UndoBlock restores what a block held before its last edit, or an earlier version. With an ETag, it fails with a
// conflict if the block has changed since.
func (c *Client) UndoBlock(ctx context.Context, id string, in api.UndoBlock, ifMatch string) (api.BlockUndone, error) {
	return call[api.BlockUndone](ctx, c, request{method: post, path: pastBlock(id, "undo"), body: in, header: matching(ifMatch)})
}

// RedoBlock redoes the last undo.
func (c *Client) RedoBlock(ctx context.Context, id, ifMatch string) (api.BlockUndone, error) {
	return call[api.BlockUndone](ctx, c, request{method: post, path: pastBlock(id, "redo"), header: matching(ifMatch)})
}

// Rewind takes a conversation and its agent back to a step, or to the point before a run.
func (c *Client) Rewind(ctx context.Context, in api.RewindRequest) (api.Rewind, error) {
	return call[api.Rewind](ctx, c, request{method: post, path: api.PathRewinds, body: in})
}

// Rewinds lists the rewinds of a conversation, newest first.
func (c *Client) Rewinds(ctx context.Context, p api.ListRewinds) ([]api.Rewind, error) {
	return call[[]api.Rewind](ctx, c, request{method: get, path: api.PathRewinds, query: p})
}

// RewindBlocks returns the versions of memory blocks that a rewind would restore.
func (c *Client) RewindBlocks(ctx context.Context, p api.RewindTarget) ([]api.BlockVersion, error) {
	return call[[]api.BlockVersion](ctx, c, request{method: get, path: api.PathRewinds + "/blocks", query: p})
}

// RewindFiles says what would become of files in a rewind.
func (c *Client) RewindFiles(ctx context.Context, p api.RewindTarget) (api.RewindOfFiles, error) {
	return call[api.RewindOfFiles](ctx, c, request{method: get, path: api.PathRewinds + "/files", query: p})
}

// UndoRewind restores the state before a rewind.
func (c *Client) UndoRewind(ctx context.Context, id string) (api.Rewind, error) {
	return call[api.Rewind](ctx, c, request{method: post, path: api.PathRewinds + "/" + url.PathEscape(id) + "/undo"})
}

// LastRewind returns the rewind that an undo would take back: the last one that hasn't been undone.
func LastRewind(newestFirst []api.Rewind) (api.Rewind, bool) {
	undone := map[string]bool{}
	for _, r := range newestFirst {
		switch {
		case undone[r.ID] && r.Undoes != nil:
			undone[*r.Undoes] = false // the undo itself was undone
		case undone[r.ID]:
		case r.Undoes == nil:
			return r, true
		default:
			undone[*r.Undoes] = true
		}
	}
	return api.Rewind{}, false
}

// LastUndo returns the undo that a redo would take back: the undo of a rewind, unless another rewind came after it.
func LastUndo(newestFirst []api.Rewind) (api.Rewind, bool) {
	undoes := map[string]*string{}
	for _, r := range newestFirst {
		undoes[r.ID] = r.Undoes
	}
	chain := 0 // an undo, the undo of that undo (a redo), and so on
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

// ForkConversation creates a conversation that shares the messages in another's window. The agent is required for the
// default one.
func (c *Client) ForkConversation(ctx context.Context, id, agentID string, in api.ForkConversation) (api.Conversation, error) {
	path := api.PathConversations + "/" + url.PathEscape(id) + "/fork"
	return call[api.Conversation](ctx, c, request{method: post, path: path, query: api.AgentParam{AgentID: agentID}, body: in})
}

// CopyAgent creates an agent from another.
func (c *Client) CopyAgent(ctx context.Context, id string, in api.CopyAgent) (api.CopyResult, error) {
	return call[api.CopyResult](ctx, c, request{method: post, path: api.PathAgents + "/" + url.PathEscape(id) + "/copy", body: in})
}

// StepRequest returns exactly what a step sent.
func (c *Client) StepRequest(ctx context.Context, id string) (api.SentRequest, error) {
	return call[api.SentRequest](ctx, c, request{method: get, path: api.PathSteps + "/" + url.PathEscape(id) + "/request"})
}
