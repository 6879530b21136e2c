package client

import (
	"context"

	"loci/daemon/api"
)

// Costs adds up what models used and cost.
func (c *Client) Costs(ctx context.Context, q api.ListCosts) ([]api.Cost, error) {
	return call[[]api.Cost](ctx, c, request{method: get, path: api.PathCosts, query: q})
}

// Budgets returns the daily budgets with what of each is used.
func (c *Client) Budgets(ctx context.Context) ([]api.Budget, error) {
	return call[[]api.Budget](ctx, c, request{method: get, path: api.PathBudgets})
}

// SetBudget sets or removes limits of a daily budget, and returns all budgets.
func (c *Client) SetBudget(ctx context.Context, in api.SetBudget) ([]api.Budget, error) {
	return call[[]api.Budget](ctx, c, request{method: put, path: api.PathBudgets, body: in})
}
