package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func recallOf(agent string) string { return api.PathAgents + "/" + url.PathEscape(agent) + "/recall" }

// Recall tells up to how many tokens of memories join each turn of an agent by themselves.
func (c *Client) Recall(ctx context.Context, agent string) (api.Recall, error) {
	return call[api.Recall](ctx, c, request{method: get, path: recallOf(agent)})
}

// SetRecall sets it; 0 switches it off.
func (c *Client) SetRecall(ctx context.Context, agent string, tokens int) (api.Recall, error) {
	return call[api.Recall](ctx, c, request{method: put, path: recallOf(agent), body: api.Recall{Tokens: tokens}})
}
