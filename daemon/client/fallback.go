package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func fallbackOf(agent string) string {
	return api.PathAgents + "/" + url.PathEscape(agent) + "/fallback"
}

// Fallback returns the model that answers where an agent's own refuses or can't be reached.
func (c *Client) Fallback(ctx context.Context, agent string) (api.Fallback, error) {
	return call[api.Fallback](ctx, c, request{method: get, path: fallbackOf(agent)})
}

// SetFallback sets it; "" is none.
func (c *Client) SetFallback(ctx context.Context, agent, model string) (api.Fallback, error) {
	return call[api.Fallback](ctx, c, request{method: put, path: fallbackOf(agent), body: api.Fallback{Model: model}})
}
