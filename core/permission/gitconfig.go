package permission

import (
	"slices"
	"strings"

	"loci/core"
)

// configuring is the name of rules about settings of git that aren't safe: git_config(core.pager), git_config(alias.*=log *).
const configuring = "git_config"

// readSetting reads what stands in the brackets: the name of a setting and, behind an equals sign, what it is set to.
func (r *Rule) readSetting(pattern string) (err error) {
	name, value, valued := cutUnescaped(pattern, '=')
	if r.text, err = parseSegment(strings.ToLower(name)); err != nil {
		return err
	}
	if r.Effect == Allow && !slices.ContainsFunc(r.text, func(t token) bool { return !t.sign && t.r != '.' }) {
		return core.E(core.Invalid, "it names no setting; git runs what some of them say")
	}
	if valued {
		r.value, err = parseSegment(value)
	}
	return err
}

// cutUnescaped cuts a pattern at the first sign that no backslash stands before.
func cutUnescaped(pattern string, sign rune) (before, after string, found bool) {
	escaped := false
	for i, c := range pattern {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == sign:
			return pattern[:i], pattern[i+len(string(sign)):], true
		}
	}
	return pattern, "", false
}

// onSetting reports whether the rule stands for a setting. What allows a value allows nothing else, what forbids one forbids it
// among others.
func (r *Rule) onSetting(s *core.JobSetting) bool {
	if r.bare || r.name == "*" {
		return r.Effect != Allow
	}
	if !r.text.match(strings.ToLower(s.Name)) {
		return false
	}
	is := func(value string) bool { return r.value.match(value) }
	switch {
	case r.value == nil:
		return true
	case r.Effect == Allow:
		return len(s.Values) > 0 && !slices.ContainsFunc(s.Values, func(value string) bool { return !is(value) })
	}
	return slices.ContainsFunc(s.Values, is)
}

// SettingRule is the rule that allows a setting to be what it is to be, and nothing else.
func SettingRule(s *core.JobSetting) string {
	name := strings.ReplaceAll(escape(s.Name), "=", `\=`)
	if len(s.Values) != 1 || s.Values[0] == "" {
		return configuring + "(" + name + ")"
	}
	return configuring + "(" + name + "=" + escape(s.Values[0]) + ")"
}

// Settings returns the rules about settings of git that a line leaves behind.
func (s Set) Settings(at Place) core.SettingRules { return settings{s, at.Mode} }

type settings struct {
	rules Set
	mode  core.PermissionMode
}

// Judge implements core.SettingRules.
func (s settings) Judge(setting core.JobSetting) (allowed, asks bool, why string) {
	first := func(effect Effect) *Rule {
		for i := range s.rules {
			r := &s.rules[i]
			if r.Effect == effect && (r.name == configuring || r.name == "*" && effect == Deny) && r.onSetting(&setting) {
				return r
			}
		}
		return nil
	}
	switch deny, ask := first(Deny), first(Ask); {
	case deny != nil:
		return false, false, "the rule " + deny.Text + " of " + string(deny.Source) + " forbids it"
	case ask == nil && first(Allow) != nil:
		return true, false, ""
	}
	if s.mode == core.ModeAsk || s.mode == core.ModeEdits {
		return false, true, ""
	}
	return false, false, ""
}

// Flag is the flag of a command line that would allow a setting.
func (s settings) Flag(setting core.JobSetting) string {
	return "--allow " + quote(SettingRule(&setting))
}
