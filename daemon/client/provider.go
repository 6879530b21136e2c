package client

import (
	"context"

	"loci/daemon/api"
)

// Providers lists the providers that are set up, by whatever means.
func (c *Client) Providers(ctx context.Context) ([]api.ReachableProvider, error) {
	return call[[]api.ReachableProvider](ctx, c, request{method: get, path: api.PathProviders})
}

// AddProvider stores a provider, in place of one of that name.
func (c *Client) AddProvider(ctx context.Context, in api.AddProvider) (api.Provider, error) {
	return call[api.Provider](ctx, c, request{method: put, path: api.PathProviders, body: in})
}

// RemoveProvider deletes a stored provider with its key.
func (c *Client) RemoveProvider(ctx context.Context, in api.RemoveProvider) error {
	return c.done(ctx, request{method: remove, path: api.PathProviders, query: in})
}

// CheckProvider asks a provider whether it answers, and says what was found on the way.
func (c *Client) CheckProvider(ctx context.Context, in api.CheckProvider) ([]api.Check, error) {
	return call[[]api.Check](ctx, c, request{method: post, path: api.PathProvidersCheck, body: in})
}
