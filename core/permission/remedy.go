package permission

import (
	"slices"
	"strings"

	"loci/core"
)

// Remedy is what a person would have had to say beforehand so that a call which asks had passed. The zero value: nothing helps.
type Remedy struct {
	Rules []string            // that allow it
	Mode  core.PermissionMode // in which it asks nothing; where no rule helps
}

// Remedy returns the narrowest remedy for a call about which a verdict asks: the rules on offer, else the rule for all that
// is of its kind, else the mode that asks nothing. Each was tried.
func (s Set) Remedy(c Call, at Place, v Verdict) Remedy {
	for _, rules := range [][]string{v.Always, {string(c.Does)}, append(slices.Clip(v.Always), string(c.Does))} {
		allowed, err := ParseList(List{Allow: rules}, FromSession)
		if err == nil && len(rules) > 0 && slices.Concat(s, allowed).Judge(c, at).Effect == Allow {
			return Remedy{Rules: rules}
		}
	}
	if at.Mode = core.ModeAll; s.Judge(c, at).Effect == Allow {
		return Remedy{Mode: core.ModeAll}
	}
	return Remedy{}
}

// Flags are the flags of a command line that say so.
func (r Remedy) Flags() []string {
	var flags []string
	for _, rule := range r.Rules {
		if path, opens := strings.CutPrefix(strings.TrimSuffix(rule, ")"), openingDir+"("); opens {
			flags = append(flags, "--add-dir "+quote(unescape(path)))
			continue
		}
		flags = append(flags, "--allow "+quote(rule))
	}
	if r.Mode != "" {
		flags = append(flags, "--permission-mode "+string(r.Mode))
	}
	return flags
}

// quote writes a text as one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
