package permission

import (
	"slices"

	"loci/core"
)

// fetches are the hosts that one fetch may reach, beyond the one that it was let pass for.
type fetches struct {
	hosts
	rules   Set
	at      Place
	passed  string // the host that the call names
	granted bool   // a person said yes to the call
}

// Fetches returns which hosts a fetch may reach that was let pass for the one of the call: that one, and those about which
// nobody would be asked. What a person said yes to counts as named by them.
func (s Set) Fetches(c Call, at Place, granted bool) core.HostRules {
	return &fetches{hosts: *s.hosts(at), rules: s, at: at, passed: canonical(c.Host), granted: granted}
}

// Allows implements core.HostRules.
func (f *fetches) Allows(host string, named bool) bool {
	same := canonical(host) == f.passed
	switch {
	case named:
		return same && f.granted || f.hosts.Allows(host, true)
	case same:
		return true
	}
	return f.judge(host).Effect == Allow
}

// Closed implements core.HostRules.
func (f *fetches) Closed(host string) string {
	deny := func(r *Rule) bool { return r.onHost(host) }
	if i := slices.IndexFunc(f.deny, deny); i >= 0 {
		return "the rule " + f.deny[i].Text + " of " + string(f.deny[i].Source) + " forbids it"
	}
	return ""
}

func (f *fetches) judge(host string) Verdict {
	return f.rules.Judge(Call{Tool: string(DoesFetch), Does: DoesFetch, Host: host}, f.at)
}

// grant says how a person opens a host to fetches for good.
func (p Place) grant(host string) string {
	folder := ""
	if p.Root != "" {
		folder = " --folder ."
	}
	return "loci permissions add allow " + quote(rule(DoesFetch, escape(host))) + folder
}
