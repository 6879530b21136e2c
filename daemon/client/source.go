package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

// UndoSource takes back what an agent's memory became after a source from outside.
func (c *Client) UndoSource(ctx context.Context, agentID string, in api.UndoSource) ([]api.SourceUndone, error) {
	path := api.PathSources(url.PathEscape(agentID)) + "/undo"
	return call[[]api.SourceUndone](ctx, c, request{method: post, path: path, body: in})
}
