package permission

import (
	"slices"
	"strings"

	"loci/core"
	"loci/core/shellline"
)

// uncaging is the name of rules that let lines run outside of the sandbox: uncaged(git push *).
const uncaging = "uncaged"

// CanUncage reports whether a person may let a call run outside of the sandbox: it is a line, the mode changes something, and no
// rule denies it.
func (s Set) CanUncage(c Call, at Place) bool {
	if c.Does != DoesShell || at.Mode == core.ModePlan || at.Root == "" {
		return false
	}
	parts := c.parts(s.opened(at))
	return !slices.ContainsFunc(s, func(r Rule) bool {
		return r.name == uncaging && r.Effect == Deny && (r.bare || slices.ContainsFunc(parts, func(p part) bool {
			return slices.ContainsFunc(p.forms, r.words.Match)
		}))
	})
}

// Uncaged returns what lets a line run outside of the sandbox; empty: it runs inside. Rules have to allow every command of it,
// and what it redirects to has to be in the folder and may be no file that is guarded: outside, nothing holds it to that.
func (s Set) Uncaged(c Call, at Place) (by string) {
	if !s.CanUncage(c, at) {
		return ""
	}
	at = s.opened(at)
	for _, p := range c.parts(at) {
		if p.path != "" {
			if !at.holds(&p, p.does == DoesWrite) || guarded().first(Ask, &c, &p, at) != nil {
				return ""
			}
			continue
		}
		i := slices.IndexFunc(s, func(r Rule) bool { return r.uncages(&p) })
		if i < 0 {
			return ""
		}
		by = "the rule " + s[i].Text + " of " + string(s[i].Source)
	}
	return by
}

// uncages reports whether the rule lets a command run outside of the sandbox.
func (r *Rule) uncages(p *part) bool {
	return r.name == uncaging && r.Effect == Allow && p.doubt == "" && len(p.words) > 0 && r.words.Match(p.words)
}

// uncaging is the rule that lets a command run outside from now on; empty: it can be let out this once only.
func (p *part) uncaging() string {
	pattern, is := strings.CutPrefix(p.offer, string(DoesShell)+"(")
	if p.doubt != "" || !is {
		return ""
	}
	return uncaging + "(" + pattern
}

// readUncaged reads what stands in the brackets of a rule about lines that run outside. One that stands for every command is
// none: for that, the sandbox is turned off.
func (r *Rule) readUncaged(pattern string) (err error) {
	r.words, err = shellline.ParsePattern(pattern)
	if err == nil && r.Effect == Allow && !r.words.Names() {
		err = core.E(core.Invalid, "it names no program, as %s(git push *) does", uncaging)
	}
	return err
}
