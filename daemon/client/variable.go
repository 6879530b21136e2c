package client

import (
	"context"

	"loci/daemon/api"
)

// Variables lists what tools of an agent find in their environment, or without one those of all agents; without the values.
func (c *Client) Variables(ctx context.Context, agent string) ([]api.Variable, error) {
	return call[[]api.Variable](ctx, c, request{method: get, path: api.PathVariables, query: api.Variables{AgentID: agent}})
}

// SetVariable stores a variable, in place of one of that name.
func (c *Client) SetVariable(ctx context.Context, in api.SetVariable) (api.Variable, error) {
	return call[api.Variable](ctx, c, request{method: put, path: api.PathVariables, body: in})
}

// RemoveVariable deletes a variable.
func (c *Client) RemoveVariable(ctx context.Context, in api.RemoveVariable) error {
	return c.done(ctx, request{method: remove, path: api.PathVariables, query: in})
}
