package client

import (
	"context"
	"net/url"

	"loci/daemon/api"
)

func memoryPath(agentID, what string) string {
	return api.PathAgents + "/" + url.PathEscape(agentID) + "/" + what
}

// Mirror reports the state of an agent's memory mirror.
func (c *Client) Mirror(ctx context.Context, agentID string) (api.MemoryMirror, error) {
	return call[api.MemoryMirror](ctx, c, request{method: get, path: memoryPath(agentID, "mirror")})
}

// SetMirror mirrors an agent's memory to a folder.
func (c *Client) SetMirror(ctx context.Context, agentID string, in api.SetMemoryMirror) (api.MemoryMirror, error) {
	return call[api.MemoryMirror](ctx, c, request{method: put, path: memoryPath(agentID, "mirror"), body: in})
}

// UnsetMirror turns off an agent's memory mirror; both sides stay as they are.
func (c *Client) UnsetMirror(ctx context.Context, agentID string) (api.MemoryMirror, error) {
	return call[api.MemoryMirror](ctx, c, request{method: remove, path: memoryPath(agentID, "mirror")})
}

// SyncMirror syncs both sides of a mirror now.
func (c *Client) SyncMirror(ctx context.Context, agentID string) (api.MemoryMirror, error) {
	return call[api.MemoryMirror](ctx, c, request{method: post, path: memoryPath(agentID, "mirror/sync")})
}

// ImportMemory reads a memory folder into an agent's blocks, once.
func (c *Client) ImportMemory(ctx context.Context, agentID string, in api.ImportMemory) (api.ImportResult, error) {
	return call[api.ImportResult](ctx, c, request{method: post, path: memoryPath(agentID, "memory/import"), body: in})
}
