package engine

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

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
	// Add keeps a rule, for a folder. One that is there already is left alone.
	Add(effect permission.Effect, rule, folder string) error
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
	if p.tool.Info.Touches == core.TouchNetwork && permissionCall(p, at).Host == "" {
		return verdict{} // the tool answers that this is no address
	}
	call := permissionCall(p, at)
	if g.permissions != nil {
		at.Home = g.permissions.Home()
	}
	set, err := written(g.permissions, g.client)
	if p.inFolder() {
		within := at
		if dir, needs := set.Opens(call, at); needs { // whoever lets the call pass opens it for this once
			within.Dirs = append(within.Dirs, dir)
		}
		p.paths, p.dirs = set.Paths(call, within), append(set.Dirs(at), within.Dirs...)
	}
	switch {
	case err != nil:
	case call.Does == permission.DoesShell:
		p.hosts, p.opens, p.settings = set.Hosts(at), set.Openings(call, at), set.Settings(at)
		p.offers, p.uncaged = set.CanUncage(call, at), set.Uncaged(call, at)
		if p.approved && p.wanted && p.offers {
			p.uncaged = "a person"
		}
	case call.Does == permission.DoesOther:
		p.hosts = set.Hosts(at)
	case call.Does == permission.DoesFetch:
		p.hosts = set.Fetches(call, at, p.approved)
	}
	if err != nil && call.Does != permission.DoesRemember {
		v := permission.Verdict{Effect: permission.Ask, Why: "The rules of permission can't be known: " + err.Error() + "."}
		return g.ask(p, v, permission.Remedy{})
	}
	if p.approved && call.Does == permission.DoesFetch && at.Mode != core.ModePlan {
		at.Mode = core.ModeAsk // whoever answers, a person was asked
	}
	v := set.Judge(call, at)
	switch v.Effect {
	case permission.Deny:
		return verdict{deny: forbidden(p, v.Why)}
	case permission.Ask:
		var remedy permission.Remedy
		if g.client.Unattended {
			remedy = set.Remedy(call, at, v)
		}
		return g.ask(p, v, remedy)
	case permission.Allow:
		if call.Does != permission.DoesRemember {
			p.passed = p.let(v.By)
		}
	}
	return verdict{}
}

// let says what let the call pass, and with it whether it runs outside of the sandbox.
func (p *pendingCall) let(by string) string {
	if p.uncaged == "" {
		return by
	}
	return p.uncaged + ", uncaged"
}

// written returns the rules that count for a run of a client: what people wrote, and what the session was given.
func written(permissions Permissions, client core.Client) (set permission.Set, err error) {
	if permissions != nil {
		set, err = permissions.Rules(client.Workspace)
	}
	own := permission.List{Allow: client.Rules.Allow, Deny: client.Rules.Deny}
	session, wrong := permission.ParseList(own, permission.FromSession)
	return slices.Concat(set, session), errors.Join(err, wrong)
}

// ask asks a person. Where nobody is there to be asked, the call is denied, and both the model and whoever reads the run
// afterwards are told what would have let it pass.
func (g *gate) ask(p *pendingCall, v permission.Verdict, remedy permission.Remedy) verdict {
	if !g.client.Unattended {
		if g.client.Workspace == "" || g.permissions == nil { // there is nothing to keep it for
			v.Always = nil
		}
		return verdict{ask: v.Why, always: v.Always}
	}
	why := v.Why
	if flags := remedy.Flags(); len(flags) > 0 {
		why += " It would have passed with " + strings.Join(flags, " ") + "."
	}
	p.unasked = &core.Notice{
		Kind: core.NoticeDenied, Text: p.call.Name + " was denied, since nobody is there to be asked. " + why,
		Data: map[string]any{"tool": p.call.Name, "tool_call_id": p.call.ID, "why": v.Why, "flags": remedy.Flags()},
	}
	return verdict{deny: forbidden(p, "Nobody is there to be asked. "+why)}
}

// forbidden is what a model reads of a call that may not run.
func forbidden(p *pendingCall, why string) string {
	return "Error executing function " + p.call.Name + ": PermissionError: " + why
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
	case info.Remote != nil:
		c.Does, c.Remote, c.Changed = permission.DoesMCP, info.Remote.Name, info.Remote.Changed
	case info.Touches == core.TouchReads:
		c.Does, c.Paths = permission.DoesRead, []string{absolute(subject, at.Root)}
	case info.Touches == core.TouchWrites:
		c.Does, c.Paths = permission.DoesWrite, []string{absolute(subject, at.Root)}
	case info.Touches == core.TouchRuns:
		c.Does, c.Line = permission.DoesShell, subject
	case info.Touches == core.TouchNetwork:
		c.Does = permission.DoesFetch
		if u, err := core.ParseWebAddress(subject); err == nil {
			c.Host = u.Hostname()
		}
	case info.Touches == core.TouchSearch:
		c.Does = permission.DoesSearch
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
