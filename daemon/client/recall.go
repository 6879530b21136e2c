package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func recallOf(agent string) string { return api.PathAgents + "/" + url.PathEscape(agent) + "/recall" }

// Recall returns how many tokens of memories may join each turn of an agent automatically.
func (c *Client) Recall(ctx context.Context, agent string) (api.Recall, error) {
	return call[api.Recall](ctx, c, request{method: get, path: recallOf(agent)})
}

// SetRecall sets it; 0 switches it off.
func (c *Client) SetRecall(ctx context.Context, agent string, tokens int) (api.Recall, error) {
	return call[api.Recall](ctx, c, request{method: put, path: recallOf(agent), body: api.Recall{Tokens: tokens}})
}

// Renew gives an agent the prompt and the tools of the terminal's new agents.
func (c *Client) Renew(ctx context.Context, agent string, in api.Renew) (api.AgentState, error) {
	return call[api.AgentState](ctx, c, request{method: post, path: api.PathAgents + "/" + url.PathEscape(agent) + "/renew", body: in})
}

// Recalled lists what joined the turns of a conversation from memory, as the notices of their runs. An agent's id
// stands for its default conversation.
func (c *Client) Recalled(ctx context.Context, conversation string, p api.Page) ([]api.Message, error) {
	return call[[]api.Message](
		ctx,
		c,
		request{method: get, path: api.PathConversations + "/" + url.PathEscape(conversation) + "/recalled", query: p},
	)
}
