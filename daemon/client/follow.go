package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func followPath(id string) string { return api.PathFolders + "/" + url.PathEscape(id) + "/mirror" }

// PlanMirror says what a folder would take of a directory.
func (c *Client) PlanMirror(ctx context.Context, in api.PlanMirror) (api.MirrorPlan, error) {
	return call[api.MirrorPlan](ctx, c, request{method: post, path: api.PathFolders + "/plan", body: in})
}

// FolderMirror says how far a folder is with the directory that it follows.
func (c *Client) FolderMirror(ctx context.Context, id string) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: get, path: followPath(id)})
}

// SetFolderMirror lets a folder follow a directory.
func (c *Client) SetFolderMirror(ctx context.Context, id string, in api.SetFolderMirror) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: put, path: followPath(id), body: in})
}

// UnsetFolderMirror ends that a folder follows a directory; its files stay.
func (c *Client) UnsetFolderMirror(ctx context.Context, id string) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: remove, path: followPath(id)})
}
