package engine

import (
	"net/url"
	"path/filepath"

	"loci/core"
	"loci/core/permission"
)

// Permissions gives the rules that people wrote. An error says that some can't be known, and nobody can say what they
// forbid.
type Permissions interface {
	// Rules returns those that count in a folder; empty: where none is open.
	Rules(folder string) (permission.Set, error)
	// Home returns the person's home folder.
	Home() string
}

// stagePermission decides by the rules that people wrote, and where none does, by the mode of the client session.
func stagePermission(g *gate, p *pendingCall) verdict {
	at := permission.Place{Mode: g.client.Mode, Root: g.client.Workspace, Dir: g.dir, Real: permission.Real}
	if at.Mode == "" && at.Root != "" {
		at.Mode = core.ModeAsk // a folder was opened, and nobody said how
	}
	if at.Root == "" && p.inFolder() {
		return verdict{} // the tool answers that no folder is open
	}
	call := permissionCall(p, at)
	var set permission.Set
	var unknown error
	if g.permissions != nil {
		at.Home = g.permissions.Home()
		set, unknown = g.permissions.Rules(at.Root)
	}
	if p.inFolder() {
		p.paths = set.Paths(call, at)
	}
	if call.Does == permission.DoesShell && unknown == nil {
		p.hosts = set.Hosts(at)
	}
	if unknown != nil && call.Does != permission.DoesRemember {
		return verdict{ask: "The rules of permission can't be known: " + unknown.Error() + "."}
	}
	v := set.Judge(call, at)
	switch v.Effect {
	case permission.Deny:
		return verdict{deny: "Error executing function " + p.call.Name + ": PermissionError: " + v.Why}
	case permission.Ask:
		return verdict{ask: v.Why}
	case permission.Allow:
		if call.Does != permission.DoesRemember {
			p.passed = v.By
		}
	}
	return verdict{}
}

// inFolder reports whether the call is of a tool that works in a folder.
func (p *pendingCall) inFolder() bool {
	touches := p.tool.Info.Touches
	return touches == core.TouchReads || touches == core.TouchWrites || touches == core.TouchRuns
}

// permissionCall says what a call does, as far as permission depends on it.
func permissionCall(p *pendingCall, at permission.Place) permission.Call {
	c := permission.Call{Tool: p.call.Name}
	args, err := core.ParseArguments(p.call.Arguments)
	if err != nil {
		args = map[string]any{} // refused already
	}
	c.Arguments = args
	info := p.tool.Info
	subject, _ := args[info.Subject].(string)
	switch {
	case p.client:
		c.Does = permission.DoesClient
	case info.Touches == core.TouchReads:
		c.Does, c.Paths = permission.DoesRead, []string{absolute(subject, at.Root)}
	case info.Touches == core.TouchWrites:
		c.Does, c.Paths = permission.DoesWrite, []string{absolute(subject, at.Root)}
	case info.Touches == core.TouchRuns:
		c.Does, c.Line = permission.DoesShell, subject
	case info.Touches == core.TouchNetwork:
		c.Does = permission.DoesFetch
		if u, err := url.Parse(subject); err == nil {
			c.Host = u.Hostname()
		}
	case info.Touches == core.TouchOwn:
		c.Does = permission.DoesRemember
	case info.Effect == core.EffectOutside:
		c.Does = permission.DoesOther
	}
	return c
}

// absolute returns the path that an argument names; without one it is the folder itself.
func absolute(path, root string) string {
	if filepath.IsAbs(path) || root == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(root, path)
}
