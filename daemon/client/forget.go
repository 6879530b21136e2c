package client

import (
	"context"

	"loci/daemon/api"
)

// Forget removes a text for good; unconfirmed, it only reports where the text occurs.
func (c *Client) Forget(ctx context.Context, in api.ForgetRequest) (api.Forgetting, error) {
	return call[api.Forgetting](ctx, c, request{method: post, path: api.PathForget, body: in})
}
