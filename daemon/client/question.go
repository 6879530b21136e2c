package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

// Questions lists what shell lines of an agent ask a person while they run, or of all without an id.
func (c *Client) Questions(ctx context.Context, agentID string) ([]api.Question, error) {
	list, err := call[api.QuestionList](ctx, c, request{method: get, path: api.PathQuestions, query: api.ListQuestions{AgentID: agentID}})
	return list.Questions, err
}

// AnswerQuestion answers one: api.ScopeNo, ScopeOnce, ScopeSession or ScopeFolder.
func (c *Client) AnswerQuestion(ctx context.Context, id, allow string) error {
	return c.done(ctx, request{
		method: post, path: api.PathQuestions + "/" + url.PathEscape(id), body: api.AnswerQuestion{Allow: allow},
	})
}
