package permission

import (
	"os"
	"slices"

	"loci/core"
)

// openings are what a person can open to one shell line.
type openings struct {
	rules Set
	call  Call
	at    Place
}

// Openings returns what a person can open to a shell line while it runs, and what rules open to it already.
func (s Set) Openings(c Call, at Place) core.Openings {
	if c.Does != DoesShell || at.Root == "" {
		return nil
	}
	return &openings{s, c, s.opened(at)}
}

// asks reports whether the mode is one in which a person is asked.
func (o *openings) asks() bool { return o.at.Mode == core.ModeAsk || o.at.Mode == core.ModeEdits }

// Folder implements core.Openings.
func (o *openings) Folder(path string, writing bool) (core.Opening, bool) {
	none := core.Opening{}
	if path == "" || o.at.real(path) != path {
		return none, false
	}
	if open, writable := o.at.open(path); open && (writable || !writing) || writing && o.at.Mode == core.ModePlan {
		return none, false
	}
	read := Call{Tool: string(DoesRead), Does: DoesRead, Paths: []string{path}}
	if r := o.rules.first(Deny, &read, &part{does: DoesRead, path: path, real: path}, o.at); r != nil {
		return none, false
	}
	dir := core.WorkspaceDir{Path: path, Writable: writing}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir.Path = o.at.folderOf(path)
	}
	if o.rules.CheckDir(dir, o.at) != nil || writing && o.rules.deniesDir(dir, o.at, true) {
		return none, false
	}
	return core.Opening{
		Kind: core.OpenFolder, Dir: dir, Rules: []string{DirRule(dir.Path, dir.Writable)}, Asks: o.asks(),
	}, true
}

// Paths implements core.Openings.
func (o *openings) Paths(opened []core.WorkspaceDir) core.PathRules {
	at := o.at
	at.Dirs = slices.Concat(at.Dirs, opened)
	return o.rules.Paths(o.call, at)
}

// LocalPorts implements core.Openings.
func (o *openings) LocalPorts() []uint16 {
	var ports []uint16
	for i := range o.rules {
		r := &o.rules[i]
		if r.name == localPort && r.Effect == Allow && !slices.Contains(ports, r.port) && o.reaches(localPort, r.port) {
			ports = append(ports, r.port)
		}
	}
	return ports
}

// LocalPort implements core.Openings.
func (o *openings) LocalPort(port uint16) (core.Opening, bool) {
	return core.Opening{
		Kind: core.OpenLocalPort, Port: port, Rules: []string{PortRule(localPort, port)}, Asks: o.asks(),
	}, port != 0 && o.reaches(localPort, port) && !leadsToHosts(port)
}

// Port implements core.Openings.
func (o *openings) Port(port uint16) (opening core.Opening, open, ok bool) {
	if !o.reaches(cagePort, port) || port < leastPort {
		return opening, false, false
	}
	opening = core.Opening{Kind: core.OpenPort, Port: port, Rules: []string{PortRule(cagePort, port)}, Asks: o.asks()}
	open = slices.ContainsFunc(o.rules, func(r Rule) bool { return r.name == cagePort && r.Effect == Allow && r.port == port })
	return opening, open, true
}

// Uncaged implements core.Openings. What can't be judged can be let out this once.
func (o *openings) Uncaged() (core.Opening, bool) {
	opening := core.Opening{Kind: core.OpenUncaged, Asks: o.asks()}
	for _, p := range o.call.parts(o.at) {
		rule := p.uncaging()
		switch {
		case p.path != "":
		case rule == "":
			opening.Rules = nil
			return opening, o.rules.CanUncage(o.call, o.at)
		case !slices.Contains(opening.Rules, rule):
			opening.Rules = append(opening.Rules, rule)
		}
	}
	return opening, o.rules.CanUncage(o.call, o.at)
}

// reaches reports whether neither the mode nor a rule closes a port.
func (o *openings) reaches(name string, port uint16) bool {
	return o.at.Mode != core.ModePlan && !slices.ContainsFunc(o.rules, func(r Rule) bool {
		return r.name == name && r.Effect == Deny && (r.bare || r.port == port)
	})
}

// Has reports whether all of these rules are among those with an effect.
func (s Set) Has(effect Effect, rules []string) bool {
	return !slices.ContainsFunc(rules, func(text string) bool {
		return !slices.ContainsFunc(s, func(r Rule) bool { return r.Effect == effect && r.Text == text })
	})
}
