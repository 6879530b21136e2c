package client

import (
	"context"

	"loci/daemon/api"
)

// Permissions lists the rules of permission that count in a folder; without one, those that count everywhere.
func (c *Client) Permissions(ctx context.Context, folder string) (api.Permissions, error) {
	return call[api.Permissions](ctx, c, request{method: get, path: api.PathPermissions, query: api.ListPermissions{Folder: folder}})
}

// AddPermission keeps a rule.
func (c *Client) AddPermission(ctx context.Context, rule api.PermissionRule) error {
	return c.done(ctx, request{method: post, path: api.PathPermissions, body: rule})
}

// RemovePermission takes a rule away.
func (c *Client) RemovePermission(ctx context.Context, in api.RemovePermission) error {
	return c.done(ctx, request{method: remove, path: api.PathPermissions, query: in})
}

// CheckPermission says what would become of a call.
func (c *Client) CheckPermission(ctx context.Context, in api.CheckPermission) (api.PermissionVerdict, error) {
	return call[api.PermissionVerdict](ctx, c, request{method: post, path: api.PathCheckPermissions, body: in})
}
