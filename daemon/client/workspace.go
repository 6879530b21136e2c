package client

import (
	"context"

	"loci/daemon/api"
)

// WorkspaceFiles lists the names of a folder's files.
func (c *Client) WorkspaceFiles(ctx context.Context, folder string) (api.WorkspaceFiles, error) {
	query := api.ListWorkspaceFiles{Folder: folder}
	return call[api.WorkspaceFiles](ctx, c, request{method: get, path: api.PathWorkspaceFiles, query: query})
}
