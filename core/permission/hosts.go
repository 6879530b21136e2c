package permission

import (
	"net/netip"
	"slices"
	"strings"

	"loci/core"
)

// hosts are the hosts that the programs of a shell line may reach.
type hosts struct {
	allow, deny, ask []*Rule
	mode             core.PermissionMode
}

// Hosts returns which hosts a shell line's programs may reach, by the rules about fetching. What asks is closed to them, and what
// no rule names as well, until a person who is asked in the middle of the line's work says otherwise.
func (s Set) Hosts(at Place) core.HostRules { return s.hosts(at) }

func (s Set) hosts(at Place) *hosts {
	h := &hosts{mode: at.Mode}
	for i := range s {
		r := &s[i]
		switch {
		case r.name != string(DoesFetch) && r.name != "*":
		case r.Effect == Deny:
			h.deny = append(h.deny, r)
		case r.Effect == Ask && (at.Mode != core.ModeAll || r.Source == FromSystem):
			h.ask = append(h.ask, r)
		case r.Effect == Allow && r.name == string(DoesFetch): // to allow every tool opens no network
			h.allow = append(h.allow, r)
		}
	}
	return h
}

// Allows implements core.HostRules.
func (h *hosts) Allows(host string, named bool) bool {
	return h.Closed(host) == "" && slices.ContainsFunc(h.allow, func(r *Rule) bool {
		return r.onHost(host) && (!named || !r.bare && r.text.literal())
	})
}

// Closed implements core.HostRules.
func (h *hosts) Closed(host string) string {
	if h.mode == core.ModePlan {
		return "the mode plan reaches no host"
	}
	on := func(r *Rule) bool { return r.onHost(host) }
	if i := slices.IndexFunc(h.deny, on); i >= 0 {
		return "the rule " + h.deny[i].Text + " of " + string(h.deny[i].Source) + " forbids it"
	}
	if i := slices.IndexFunc(h.ask, on); i >= 0 {
		return "the rule " + h.ask[i].Text + " of " + string(h.ask[i].Source) +
			" asks about it each time"
	}
	return ""
}

// Asks implements core.HostRules. What is forbidden nobody is asked about, and the mode all asks nothing.
func (h *hosts) Asks(host string) bool {
	return h.mode != core.ModePlan && h.mode != core.ModeAll &&
		!slices.ContainsFunc(h.deny, func(r *Rule) bool { return r.onHost(host) })
}

// HostRule is the rule that stands for one host.
func HostRule(host string) string { return rule(DoesFetch, escape(host)) }

// onHost reports whether a rule about fetching stands for a host.
func (r *Rule) onHost(host string) bool { return r.bare || r.text.match(canonical(host)) }

// canonical is the one form of a host's name, or address.
func canonical(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return host
}

// literal reports whether the segment stands for one text only.
func (s segment) literal() bool { return !slices.ContainsFunc(s, func(t token) bool { return t.sign }) }
