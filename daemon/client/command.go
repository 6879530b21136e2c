package client

import (
	"context"

	"loci/daemon/api"
)

// Commands lists what people wrote for the chat, and what the open folder brings and is trusted.
func (c *Client) Commands(ctx context.Context, folder string) ([]api.Command, error) {
	list, err := call[api.CommandList](ctx, c, request{method: get, path: api.PathCommands, query: api.ListCommands{Folder: folder}})
	return list.Commands, err
}
