package server

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/permission"
	"loci/daemon/api"
)

// Permissions keeps the rules of permission.
type Permissions interface {
	Rules(folder string) (permission.Set, error)
	List(folder string) (rules permission.Set, faults []string, err error)
	Add(effect permission.Effect, rule, folder string) error
	Remove(rule, folder string) error
	Home() string // the person's home folder
}

// Closes finds what rules close to a shell line in a folder, given by its real path: what it can't read, and what it can't change.
type Closes func(ctx context.Context, folder string, rules core.PathRules) (hidden, readOnly []string, err error)

// registerPermissions registers the rules of permission. They are for the socket only: who can reach the daemon over TCP
// may use agents, and not give them more rights.
func (s *Server) registerPermissions(a huma.API) {
	handle(a, "GET", api.PathPermissions, s.listPermissions)
	handle(a, "POST", api.PathPermissions, s.addPermission)
	handle(a, "DELETE", api.PathPermissions, s.removePermission)
	handle(a, "POST", api.PathCheckPermissions, s.checkPermission)
	handle(a, "GET", api.PathDecisions, s.listDecisions)
}

func (s *Server) permissions(ctx context.Context) (Permissions, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	if parts, _ := s.now(); parts.Permissions != nil {
		return parts.Permissions, nil
	}
	return nil, core.E(core.Unsupported, "this daemon keeps no permissions")
}

func (s *Server) listPermissions(ctx context.Context, in *api.ListPermissions) (*body[api.Permissions], error) {
	files, err := s.permissions(ctx)
	if err != nil {
		return nil, err
	}
	rules, faults, err := files.List(in.Folder)
	out := api.Permissions{Rules: []api.PermissionRule{}, Faults: append([]string{}, faults...)}
	session := callOf(ctx).client.Rules
	given, wrong := permission.ParseList(permission.List{Allow: session.Allow, Deny: session.Deny}, permission.FromSession)
	for _, r := range slices.Concat(rules, given) {
		rule := api.PermissionRule{Effect: string(r.Effect), Rule: r.Text, Source: string(r.Source)}
		if r.Source == permission.FromFolder {
			rule.Folder = in.Folder
		}
		rule.Session = r.Source == permission.FromSession
		out.Rules = append(out.Rules, rule)
	}
	return answer(out, errors.Join(err, wrong))
}

// checkDirs refuses rules that would open folders which can't be, in a workspace or, if that is empty, in any.
func (s *Server) checkDirs(folder string, allow ...string) error {
	parts, _ := s.now()
	rules, err := permission.ParseList(permission.List{Allow: allow}, permission.FromSession)
	if err != nil || parts.Permissions == nil {
		return nil //nolint:nilerr // whoever keeps them says what is wrong with them
	}
	written, _ := parts.Permissions.Rules(folder) // where a file can't be read, Loci's own rules are there
	at := permission.Place{Root: folder, Home: parts.Permissions.Home(), Real: permission.Real}
	for i := range rules {
		if dir, ok := rules[i].OpensDir(at.Home); ok {
			if err := written.CheckDir(dir, at); err != nil {
				return err
			}
		}
	}
	return nil
}

type addPermissionInput struct{ Body api.PermissionRule }

func (s *Server) addPermission(ctx context.Context, in *addPermissionInput) (*body[any], error) {
	files, err := s.permissions(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.Effect == api.EffectAllow {
		folder := in.Body.Folder
		if in.Body.Session {
			folder = callOf(ctx).client.Workspace
		}
		if err := s.checkDirs(folder, in.Body.Rule); err != nil {
			return nil, err
		}
	}
	if in.Body.Session {
		return answer[any](nil, s.addToSession(ctx, in.Body))
	}
	return answer[any](nil, files.Add(permission.Effect(in.Body.Effect), in.Body.Rule, in.Body.Folder))
}

func (s *Server) removePermission(ctx context.Context, in *api.RemovePermission) (*body[any], error) {
	files, err := s.permissions(ctx)
	if err != nil {
		return nil, err
	}
	if in.Session {
		return answer[any](nil, s.removeFromSession(ctx, in.Rule))
	}
	return answer[any](nil, files.Remove(in.Rule, in.Folder))
}

type checkPermissionInput struct{ Body api.CheckPermission }

// checkPermission says what would become of a call, by the rules as they stand.
func (s *Server) checkPermission(ctx context.Context, in *checkPermissionInput) (*body[api.PermissionVerdict], error) {
	files, err := s.permissions(ctx)
	if err != nil {
		return nil, err
	}
	mode := core.PermissionMode(in.Body.Mode)
	if mode == "" {
		mode = core.ModeAsk
	}
	if err := mode.Validate(); err != nil {
		return nil, err
	}
	if in.Body.Folder != "" && !filepath.IsAbs(in.Body.Folder) {
		return nil, core.E(core.Invalid, "a folder is named by its absolute path")
	}
	rules, err := files.Rules(in.Body.Folder)
	if err != nil {
		return nil, err
	}
	session, err := permission.ParseList(permission.List{Allow: in.Body.Allow}, permission.FromSession)
	if err != nil {
		return nil, err
	}
	rules = slices.Concat(rules, session)
	at := permission.Place{Mode: mode, Root: in.Body.Folder, Home: files.Home(), Real: permission.Real}
	call, err := hypothetical(in.Body)
	if err != nil {
		return nil, err
	}
	v := rules.Judge(call, at)
	out := api.PermissionVerdict{Effect: string(v.Effect), Why: v.Why, Always: append([]string{}, v.Always...)}
	parts, _ := s.now()
	if call.Does == permission.DoesShell && v.Effect != permission.Deny && at.Root != "" && parts.Closes != nil {
		out.Hidden, out.ReadOnly, err = parts.Closes(ctx, permission.Real(at.Root), rules.Paths(call, at))
	}
	return answer(out, err)
}

// hypothetical makes a call of what somebody asks about.
func hypothetical(in api.CheckPermission) (permission.Call, error) {
	c := permission.Call{Tool: cmp.Or(in.Tool, in.Does), Does: permission.Does(in.Does)}
	if in.Arguments != "" {
		var err error
		if c.Arguments, err = core.ParseArguments(in.Arguments); err != nil {
			return c, core.E(core.Invalid, "the arguments of the call: %w", err)
		}
	}
	switch c.Does {
	case permission.DoesRead, permission.DoesWrite:
		path := in.Subject
		if !filepath.IsAbs(path) {
			path = filepath.Join(in.Folder, path)
		}
		c.Paths = []string{filepath.Clean(path)}
	case permission.DoesShell:
		c.Line = in.Subject
	case permission.DoesFetch:
		c.Host = in.Subject
	case permission.DoesSearch:
	case permission.DoesMCP:
		c.Remote = in.Subject
	case permission.DoesRemember, permission.DoesOther, permission.DoesClient:
		c.Does = permission.DoesOther
	default:
		c.Does = permission.DoesOther
	}
	return c, nil
}
