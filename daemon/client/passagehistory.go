package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func pastPassage(id, what string) string {
	return api.PathArchival + "/" + url.PathEscape(id) + "/" + what
}

// PassageVersions lists the versions of a passage in an agent's archive, newest first.
func (c *Client) PassageVersions(ctx context.Context, agentID, id string, p api.Page) ([]api.PassageVersion, error) {
	in := api.PassageVersions{Page: p, UpdatePassageParams: api.UpdatePassageParams{AgentID: agentID}}
	return call[[]api.PassageVersion](ctx, c, request{method: get, path: pastPassage(id, "versions"), query: in})
}

// PassageChanges lists the changes of the passages in an agent's archive, newest first.
func (c *Client) PassageChanges(ctx context.Context, agentID string, p api.PassageChanges) ([]api.PassageVersion, error) {
	path := api.PathArchivalOf(url.PathEscape(agentID)) + "/changes"
	return call[[]api.PassageVersion](ctx, c, request{method: get, path: path, query: p})
}

// LastPassageChange returns the last change of a passage that an agent made and that can be undone or redone.
func (c *Client) LastPassageChange(ctx context.Context, agentID string, redo bool) (api.LastPassageChange, error) {
	path := api.PathArchivalOf(url.PathEscape(agentID)) + "/last"
	return call[api.LastPassageChange](ctx, c, request{method: get, path: path, query: api.LastPassageParams{Redo: redo}})
}

// UndoPassage restores what a passage in an agent's archive was before its last change, or an earlier version. With an ETag
// it fails with a conflict if the passage has changed since.
func (c *Client) UndoPassage(ctx context.Context, agentID, id string, in api.UndoPassage, ifMatch string) (api.PassageUndone, error) {
	return call[api.PassageUndone](ctx, c, request{
		method: post, path: pastPassage(id, "undo"), query: api.UpdatePassageParams{AgentID: agentID}, body: in, header: matching(ifMatch),
	})
}

// RedoPassage redoes the last undo.
func (c *Client) RedoPassage(ctx context.Context, agentID, id, ifMatch string) (api.PassageUndone, error) {
	return call[api.PassageUndone](ctx, c, request{
		method: post, path: pastPassage(id, "redo"), query: api.UpdatePassageParams{AgentID: agentID}, header: matching(ifMatch),
	})
}
