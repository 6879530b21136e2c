package client

import (
	"cmp"
	"context"
	"iter"
	"net/url"

	"loci/daemon/api"
)

// Approvals lists what waits for a person, of one agent or, without an id, of all.
func (c *Client) Approvals(ctx context.Context, agentID string) ([]api.WaitingRequest, error) {
	list, err := call[api.ApprovalList](
		ctx, c, request{method: get, path: api.PathApprovals, query: api.ListApprovals{AgentID: agentID}},
	)
	return list.Approvals, err
}

// Answer answers what waits in a conversation and yields the run that goes on from there, exactly as Stream does. The answer
// gets an otid unless it has one, so that sending it again is harmless.
func (c *Client) Answer(ctx context.Context, to Target, req api.AnswerRequest) iter.Seq2[api.Message, error] {
	id := cmp.Or(to.ConversationID, to.AgentID)
	if id == api.DefaultConversation {
		req.AgentID = api.PtrTo(to.AgentID)
	}
	if req.OTID == nil {
		req.OTID = new(NewOTID())
	}
	req.StreamingRequest = inBackground(req.StreamingRequest)
	req.OverrideEffort = cmp.Or(req.OverrideEffort, effortOf(ctx))
	path := api.PathConversations + "/" + url.PathEscape(id) + "/approvals"
	run := c.started(ctx, request{method: post, path: path, body: req, accept: acceptStream})
	return func(yield func(api.Message, error) bool) {
		for m, err := range run {
			if err == nil { // it was accepted
				c.allowed(rulesOf(req.Approvals))
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// rulesOf are the rules that decisions keep for the session.
func rulesOf(decisions []api.Decision) (rules []string) {
	for _, d := range decisions {
		if d.Scope == api.ScopeSession {
			rules = append(rules, d.Rules...)
		}
	}
	return rules
}

// ClearApproval denies what waits without asking the model again.
func (c *Client) ClearApproval(ctx context.Context, requestID string) error {
	return c.done(ctx, request{method: remove, path: api.PathApprovals + "/" + url.PathEscape(requestID)})
}
