package permission

import (
	"slices"
	"strings"

	"loci/core"
	"loci/core/shellline"
)

// uncaging is the name of rules that let lines run outside of the sandbox: uncaged(git push origin main).
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

// Uncaged returns what lets a line run outside of the sandbox; empty: it runs inside. Rules have to allow every command of it, word
// for word, since options of many commands name programs. It begins in the folder that a person opened, where git and others look for
// what they obey, and writes to no file by itself: between a look at a path and its opening, another line can put a link there.
func (s Set) Uncaged(c Call, at Place) (by string) {
	if !s.CanUncage(c, at) {
		return ""
	}
	if at.Dir != "" && at.Dir != at.Root {
		return ""
	}
	for _, p := range c.parts(s.opened(at)) {
		if p.path != "" {
			return ""
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
	pattern, is := strings.CutPrefix(p.exact, string(DoesShell)+"(")
	if p.doubt != "" || p.offer == "" || !is {
		return ""
	}
	return uncaging + "(" + pattern
}

// readUncaged reads what stands in the brackets of a rule about lines that run outside: one command, word for word, for one that
// allows it.
func (r *Rule) readUncaged(pattern string) (err error) {
	r.words, err = shellline.ParsePattern(pattern)
	if err == nil && r.Effect == Allow && !r.words.Exact() {
		err = core.E(core.Invalid, "it stands for one command, word for word and without stars, as %s(git push origin main) does", uncaging)
	}
	return err
}
