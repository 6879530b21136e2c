package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

// Jobs lists shell lines that run, or ran in the background, of one agent or, without an id, of all; each with the last rows
// that it wrote.
func (c *Client) Jobs(ctx context.Context, agentID string, tail int) ([]api.Job, error) {
	list, err := call[api.JobList](ctx, c, request{method: get, path: api.PathJobs, query: api.ListJobs{AgentID: agentID, Tail: tail}})
	return list.Jobs, err
}

// Job returns a job with what it wrote.
func (c *Client) Job(ctx context.Context, id string) (api.Job, error) {
	return call[api.Job](ctx, c, request{method: get, path: jobPath(id)})
}

// StopJob stops a job and returns it when it has ended.
func (c *Client) StopJob(ctx context.Context, id string) (api.Job, error) {
	return call[api.Job](ctx, c, request{method: post, path: jobPath(id) + "/stop"})
}

// SendJobBack sends a job that somebody waits for to the background.
func (c *Client) SendJobBack(ctx context.Context, id string) (api.Job, error) {
	return call[api.Job](ctx, c, request{method: post, path: jobPath(id) + "/background"})
}

func jobPath(id string) string { return api.PathJobs + "/" + url.PathEscape(id) }
