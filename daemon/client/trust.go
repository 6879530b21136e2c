package client

import (
	"context"

	"loci/daemon/api"
)

// FolderItems lists what a folder brings along that would act on agents, and what a person said of it.
func (c *Client) FolderItems(ctx context.Context, folder string) (api.FolderItems, error) {
	return call[api.FolderItems](ctx, c, request{method: get, path: api.PathTrust, query: api.ListTrust{Folder: folder}})
}

// FolderText returns one of them with its text.
func (c *Client) FolderText(ctx context.Context, folder, path string) (api.FolderText, error) {
	query := api.ItemText{Folder: folder, Path: path}
	return call[api.FolderText](ctx, c, request{method: get, path: api.PathTrust + "/text", query: query})
}

// DecideTrust keeps what a person says of items of a folder.
func (c *Client) DecideTrust(ctx context.Context, in api.DecideTrust) error {
	return c.done(ctx, request{method: post, path: api.PathTrust, body: in})
}

// RemoveTrust forgets all that was said of a folder.
func (c *Client) RemoveTrust(ctx context.Context, folder string) error {
	return c.done(ctx, request{method: remove, path: api.PathTrust, query: api.ListTrust{Folder: folder}})
}
