package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

// Fit reports how much of a message would reach the model. An agent's id stands for its default conversation.
func (c *Client) Fit(ctx context.Context, conversation string, in api.Fit) (api.FitResult, error) {
	return call[api.FitResult](
		ctx,
		c,
		request{method: post, path: api.PathConversations + "/" + url.PathEscape(conversation) + "/fit", body: in},
	)
}
