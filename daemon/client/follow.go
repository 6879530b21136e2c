package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func followPath(id string) string { return api.PathFolders + "/" + url.PathEscape(id) + "/mirror" }

// PlanMirror reports which files of a directory a folder would take.
func (c *Client) PlanMirror(ctx context.Context, in api.PlanMirror) (api.MirrorPlan, error) {
	return call[api.MirrorPlan](ctx, c, request{method: post, path: api.PathFolders + "/plan", body: in})
}

// FolderMirror reports how far a folder is in following its directory.
func (c *Client) FolderMirror(ctx context.Context, id string) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: get, path: followPath(id)})
}

// SetFolderMirror makes a folder follow a directory.
func (c *Client) SetFolderMirror(ctx context.Context, id string, in api.SetFolderMirror) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: put, path: followPath(id), body: in})
}

// UnsetFolderMirror makes a folder stop following its directory; its files stay.
func (c *Client) UnsetFolderMirror(ctx context.Context, id string) (api.FolderMirror, error) {
	return call[api.FolderMirror](ctx, c, request{method: remove, path: followPath(id)})
}
