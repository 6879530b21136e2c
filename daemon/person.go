package daemon

import (
	"slices"

	"loci/core"
	"loci/core/jobs"
	"loci/core/permission"
)

// person is whoever can be asked while a line runs, and where what they allow is kept.
type person struct{ p *parts }

var _ jobs.Person = person{}

// Attends implements jobs.Person.
func (w person) Attends(c core.Client) bool { return w.p.services.Sessions.Attends(c) }

// rules are those of now: a run has the rules of its beginning, and a person may have allowed more since.
func (w person) rules(c core.Client) (set permission.Set, at permission.Place, err error) {
	set, err = w.p.permissions.Rules(c.Workspace)
	if err != nil {
		return nil, at, err
	}
	if session, err := w.p.services.Sessions.Get(c.ID); err == nil {
		c.Rules = session.Rules
	}
	own, err := permission.ParseList(permission.List{Allow: c.Rules.Allow, Deny: c.Rules.Deny}, permission.FromSession)
	at = permission.Place{Mode: c.Mode, Root: c.Workspace, Home: w.p.permissions.Home(), Real: permission.Real}
	return slices.Concat(set, own), at, err
}

// Allowed implements jobs.Person.
func (w person) Allowed(c core.Client, host string) bool {
	set, at, err := w.rules(c)
	return err == nil && set.Hosts(at).Allows(host, true)
}

// Opens implements jobs.Person.
func (w person) Opens(c core.Client, o core.Opening) bool {
	set, _, err := w.rules(c)
	return err == nil && set.Has(permission.Allow, o.Rules)
}

// Keep implements jobs.Person.
func (w person) Keep(c, answering core.Client, host string, scope jobs.Scope) error {
	return w.keep(c, answering, permission.HostRule(host), scope)
}

// KeepOpen implements jobs.Person.
func (w person) KeepOpen(c, answering core.Client, o core.Opening, scope jobs.Scope) error {
	for _, rule := range o.Rules {
		if err := w.keep(c, answering, rule, scope); err != nil {
			return err
		}
	}
	return nil
}

func (w person) keep(c, answering core.Client, rule string, scope jobs.Scope) error {
	if scope == jobs.ScopeFolder {
		return w.p.permissions.Add(permission.Allow, rule, c.Workspace)
	}
	err := w.keepForSession(c.ID, rule)
	if answering.ID != "" && answering.ID != c.ID {
		err = w.keepForSession(answering.ID, rule) // the run's own may be gone
	}
	return err
}

func (w person) keepForSession(id core.ClientID, rule string) error {
	_, err := w.p.services.Sessions.Change(id, func(c *core.Client) (err error) {
		c.Rules, err = c.Rules.Allowing(rule)
		return err
	})
	return err
}
