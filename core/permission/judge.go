package permission

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loci/core"
)

// Set is all rules that count in one place.
type Set []Rule

// Verdict is what becomes of a call.
type Verdict struct {
	Effect Effect
	Why    string   // what decided, in a sentence
	By     string   // the rule or the mode that decided, without a word of the call
	Always []string // the rules that would allow it from now on; none where a person wrote that it asks
}

// Files about which Loci asks of its own accord: the first hold secrets, the others change what programs do that a person
// starts later. A rule of a person's that names them counts.
var (
	secretFiles = []string{
		".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.kdbx", "id_*", ".netrc", ".pgpass", ".npmrc", ".pypirc",
		".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", ".kube",
	}
	actingFiles = []string{".git", ".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".loci", ".husky"}
)

var guarded = sync.OnceValue(func() Set {
	var rules Set
	add := func(does Does, patterns []string) {
		for _, pattern := range patterns {
			rule, err := Parse(Ask, string(does)+"("+pattern+")", FromLoci)
			if err != nil {
				panic(err) // a bug in the lists above, which every test finds
			}
			rules = append(rules, rule)
		}
	}
	add(DoesRead, secretFiles)
	add(DoesWrite, secretFiles)
	add(DoesWrite, actingFiles)
	return rules
})

// Judge decides about a call.
func (s Set) Judge(c Call, at Place) Verdict {
	at = s.opened(at)
	var worst Verdict
	var asked []part
	var reasons []string
	unwritten := true // whether only the mode or Loci asks
	for _, p := range c.parts(at) {
		if p.shut {
			s.offerDir(&p, at)
		}
		v, byRule := s.part(&c, &p, at)
		if v.By == "" {
			v.By = "the mode " + string(cmp.Or(at.Mode, core.ModeStandard))
		}
		switch {
		case v.Effect == Deny:
			return v
		case v.Effect == Ask:
			asked = append(asked, p)
			unwritten = unwritten && !byRule
			if !slices.Contains(reasons, v.Why) {
				reasons = append(reasons, v.Why)
			}
		case worst.Why == "":
			worst = v
		}
	}
	if len(asked) == 0 {
		return worst
	}
	v := Verdict{Effect: Ask, Why: strings.Join(reasons[:min(len(reasons), 5)], " ")}
	if unwritten {
		v.Always = offers(asked)
	}
	return v
}

// offers returns the rules that together would allow what was asked; none if one part can't be allowed for good.
func offers(asked []part) []string {
	var rules []string
	for _, p := range asked {
		if p.offer == "" || p.doubt != "" || p.shut && p.opens == "" {
			return nil
		}
		for _, offer := range []string{p.opens, p.offer} {
			if offer != "" && !slices.Contains(rules, offer) {
				rules = append(rules, offer)
			}
		}
	}
	return rules
}

// first returns the first rule with an effect that stands for a part.
func (s Set) first(effect Effect, c *Call, p *part, at Place) *Rule {
	for i := range s {
		if s[i].Effect == effect && s[i].matches(c, p, at) {
			return &s[i]
		}
	}
	return nil
}

// part decides about one part of a call: what forbids, what asks, what the plan leaves out, what allows, then the mode.
// By a rule is said of what a person wrote.
func (s Set) part(c *Call, p *part, at Place) (v Verdict, byRule bool) {
	if r := s.first(Deny, c, p, at); r != nil {
		return decided(Deny, p, r), true
	}
	if at.Mode == core.ModePlan && p.changes() {
		return said(Deny, "The mode plan changes nothing, so it may not %s; a person leaves the mode.", p.what), false
	}
	asking := s
	if at.Mode == core.ModeAll {
		asking = slices.DeleteFunc(slices.Clone(s), func(r Rule) bool { return r.Source != FromSystem })
	}
	if r := asking.first(Ask, c, p, at); r != nil {
		return decided(Ask, p, r), true
	}
	guard := guarded().first(Ask, c, p, at)
	if r := s.allowing(c, p, guard, at); r != nil && c.Changed == "" && (!p.shut || !r.bare) { // to allow every file opens no folder
		return decided(Allow, p, r), true
	}
	if p.shut && at.Mode == core.ModeAll {
		return said(Deny, "%s, and the mode all opens none.", p.whyShut(at)), false
	}
	if at.Mode == core.ModeAll {
		return said(Allow, "The mode all asks nothing."), false
	}
	if c.Changed != "" {
		return said(Ask, "%s is not what a person accepted, so that no rule allows it: %s.", c.Remote, c.Changed), false
	}
	if p.doubt != "" {
		return said(Ask, "It can't be judged before it runs: %s.", p.doubt), false
	}
	if guard != nil {
		p.offer = p.exact
		return said(Ask, "Loci asks before it may %s, because of the name.", p.what), false
	}
	return p.byMode(at), false
}

// allowing returns a rule that allows a part: one about the name itself, if the name is guarded.
func (s Set) allowing(c *Call, p *part, guard *Rule, at Place) *Rule {
	if p.doubt != "" && s.narrows(c) {
		return nil
	}
	for i := range s {
		if r := &s[i]; r.Effect == Allow && r.matches(c, p, at) && (guard == nil || r.names(guard, p, at)) {
			return r
		}
	}
	return nil
}

// narrows reports whether a rule forbids or asks about some calls of this kind, so that one that can't be judged could be
// among them.
func (s Set) narrows(c *Call) bool {
	return slices.ContainsFunc(s, func(r Rule) bool {
		return r.Effect != Allow && !r.bare && (r.name == string(c.Does) || r.name == c.Tool)
	})
}

// changes reports whether a part may change anything.
func (p *part) changes() bool {
	switch p.does {
	case DoesWrite, DoesMCP, DoesOther:
		return true
	case DoesShell:
		return !p.free
	case DoesRemember, DoesRead, DoesFetch, DoesSearch, DoesClient:
	}
	return false
}

// byMode decides where no rule does.
func (p *part) byMode(at Place) Verdict {
	standard := at.Mode == core.ModeStandard || at.Mode == ""
	if standard && p.does == DoesFetch {
		return said(Deny, "No rule allows to %s, and in the mode standard nobody is asked. A person opens the host: %s.",
			p.what, at.grant(p.host))
	}
	if standard && p.shut {
		return said(Deny, "%s.", p.whyShut(at))
	}
	if standard {
		return said(Allow, "No rule asks.")
	}
	inside := at.holds(p, p.does == DoesWrite)
	switch {
	case p.does == DoesRemember:
		return said(Allow, "It only touches the agent's own memory.")
	case p.does == DoesClient:
		return said(Allow, "The program that sent the message runs it.")
	case p.does == DoesShell && p.free:
		return said(Allow, "The line only reads.")
	case p.does == DoesRead && inside:
		return said(Allow, "It reads inside of the folder.")
	case p.does == DoesWrite && inside && at.Mode == core.ModeEdits:
		return said(Allow, "The mode edits allows to change files of the folder.")
	}
	if p.shut {
		return said(Ask, "%s.", p.whyShut(at))
	}
	return said(Ask, "The mode %s asks before it may %s.", at.Mode, p.what)
}

func said(effect Effect, format string, args ...any) Verdict {
	return Verdict{Effect: effect, Why: fmt.Sprintf(format, args...)}
}

// decided says which rule decided.
func decided(effect Effect, p *part, r *Rule) Verdict {
	verb := map[Effect]string{Allow: "allows to", Ask: "asks before it may", Deny: "forbids to"}[effect]
	v := said(effect, "The rule %s of %s %s %s.", r.Text, r.Source, verb, p.what)
	v.By = "the rule " + r.Text + " of " + string(r.Source)
	return v
}

// Closed returns rules that no other one overcomes: what is in these folders, by their absolute paths, is nobody's to read or
// to change. They are Loci's own, with the rules and what agents may not know of each other.
func Closed(folders []string) (Set, error) {
	var rules Set
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		for _, does := range []Does{DoesRead, DoesWrite} {
			r, err := Parse(Deny, rule(does, escape(filepath.ToSlash(folder))), FromLoci)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
	}
	return rules, nil
}
