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

// Allowed implements jobs.Person: a run has the rules of its beginning, and a person may have allowed more since.
func (w person) Allowed(c core.Client, host string) bool {
	set, err := w.p.permissions.Rules(c.Workspace)
	if err != nil {
		return false
	}
	if session, err := w.p.services.Sessions.Get(c.ID); err == nil {
		c.Rules = session.Rules
	}
	own, err := permission.ParseList(permission.List{Allow: c.Rules.Allow, Deny: c.Rules.Deny}, permission.FromSession)
	at := permission.Place{Mode: c.Mode, Root: c.Workspace, Home: w.p.permissions.Home(), Real: permission.Real}
	return err == nil && slices.Concat(set, own).Hosts(at).Allows(host, true)
}

// Keep implements jobs.Person.
func (w person) Keep(c, answering core.Client, host string, scope jobs.Scope) error {
	rule := permission.HostRule(host)
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
