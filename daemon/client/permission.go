package client

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/daemon/api"
)

// Permissions lists the rules of permission that count in a folder; without one, those that count everywhere.
func (c *Client) Permissions(ctx context.Context, folder string) (api.Permissions, error) {
	return call[api.Permissions](ctx, c, request{method: get, path: api.PathPermissions, query: api.ListPermissions{Folder: folder}})
}

// AddPermission keeps a rule.
func (c *Client) AddPermission(ctx context.Context, rule api.PermissionRule) error {
	err := c.done(ctx, request{method: post, path: api.PathPermissions, body: rule})
	if err == nil && rule.Session {
		c.renewRules(func(who *api.Client) {
			if rule.Effect == api.EffectDeny {
				who.Deny = append(slices.Clone(who.Deny), rule.Rule)
			} else {
				who.Allow = append(slices.Clone(who.Allow), rule.Rule)
			}
		})
	}
	return err
}

// RemovePermission takes a rule away.
func (c *Client) RemovePermission(ctx context.Context, in api.RemovePermission) error {
	err := c.done(ctx, request{method: remove, path: api.PathPermissions, query: in})
	if err == nil && in.Session {
		c.renewRules(func(who *api.Client) {
			is := func(rule string) bool { return rule == in.Rule }
			who.Allow, who.Deny = slices.DeleteFunc(slices.Clone(who.Allow), is), slices.DeleteFunc(slices.Clone(who.Deny), is)
		})
	}
	return err
}

// renewRules changes what the session is registered with again after a restart of the daemon.
func (c *Client) renewRules(change func(who *api.Client)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registered == nil {
		return
	}
	who := *c.registered
	change(&who)
	c.registered = &who
}

// RealFolder is the absolute path of a folder that a person names, relative to where they are; empty: here. No link is in it, so
// that it stays this very folder.
func RealFolder(name, where string) string {
	if rest, home := strings.CutPrefix(name, "~"); home && (rest == "" || rest[0] == '/') {
		if dir, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(dir, rest)
		}
	}
	if !filepath.IsAbs(name) && where != "" {
		name = filepath.Join(where, name)
	}
	if path, err := filepath.Abs(name); err == nil {
		name = path
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// Decisions says what decided the last calls of a conversation.
func (c *Client) Decisions(ctx context.Context, in api.ListDecisions) (api.DecisionList, error) {
	return call[api.DecisionList](ctx, c, request{method: get, path: api.PathDecisions, query: in})
}

// CheckPermission says what would become of a call.
func (c *Client) CheckPermission(ctx context.Context, in api.CheckPermission) (api.PermissionVerdict, error) {
	return call[api.PermissionVerdict](ctx, c, request{method: post, path: api.PathCheckPermissions, body: in})
}
