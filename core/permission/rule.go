package permission

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
	"loci/core/shellline"
)

// Effect is what a rule, or a verdict, says.
type Effect string

// The effects, from the weakest to the strongest.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Valid reports whether the effect is known.
func (e Effect) Valid() bool { return e == Allow || e == Ask || e == Deny }

// Source says where a rule comes from.
type Source string

// The sources of rules.
const (
	FromSystem  Source = "the system file"
	FromUser    Source = "your configuration"
	FromFolder  Source = "what you allowed for this folder"
	FromProject Source = "the project's file"
	FromSession Source = "this session"
	FromLoci    Source = "Loci"
)

// The bounds of rules.
const (
	maxRule  = 1024
	maxRules = 1000
)

// Rule says what may happen with the calls that it matches.
type Rule struct {
	Effect Effect
	Text   string // as it was written
	Source Source

	name     string // a tool, one of the kinds, or * for all
	bare     bool   // no brackets: whatever it is about
	words    shellline.Pattern
	path     pathPattern
	text     segment // a host, a server's tool, or the value of an argument
	argument string  // whose value is meant
	value    segment // of a setting of git: what it is set to; nil: whatever it is
	writable bool    // of a folder: to change it
	port     uint16
}

// Parse reads a rule. The error says what is wrong with it.
func Parse(effect Effect, text string, source Source) (Rule, error) {
	r := Rule{Effect: effect, Text: text, Source: source}
	wrong := func(format string, args ...any) (Rule, error) {
		return Rule{}, core.E(core.Invalid, "the permission rule %q of %s is not valid: %w", brief(text), source,
			core.E(core.Invalid, format, args...))
	}
	if !effect.Valid() {
		return wrong("%q is none of allow, ask and deny", string(effect))
	}
	if len(text) > maxRule || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return wrong("it is longer than %d characters, or has characters that can't be shown", maxRule)
	}
	name, rest, brackets := strings.Cut(strings.TrimSpace(text), "(")
	if r.name, r.bare = name, true; name == editing {
		r.name = string(DoesWrite)
	}
	if name != "*" && !core.LegalToolName(name) {
		return wrong("%q can't be the name of a tool", name)
	}
	if name == openingDir && (effect == Ask || effect == Allow && !brackets) {
		return wrong("it allows or denies to open a folder, as in %s(/data) or %s(/data%s)", name, name, writableMark)
	}
	if name == uncaging && (effect == Ask || effect == Allow && !brackets) {
		return wrong("it allows or denies lines to run outside of the sandbox, as in %s(git push origin main)", name)
	}
	if opensPort(name) && (effect == Ask || effect == Allow && !brackets) {
		return wrong("it allows or denies to open a port, as in %s(5432)", name)
	}
	if name == configuring && effect == Allow && !brackets {
		return wrong("it allows settings of git by their names, as in %s(alias.*) or %s(core.pager=less)", name, name)
	}
	if !brackets {
		return r, nil
	}
	pattern, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return wrong("the bracket is not closed")
	}
	if name == "*" {
		return wrong("a rule for all tools has no brackets")
	}
	if err := r.read(pattern); err != nil {
		return wrong("%w", err)
	}
	return r, nil
}

// read reads what stands in the brackets, as the name wants it.
func (r *Rule) read(pattern string) (err error) {
	r.bare = false
	switch r.name {
	case string(DoesShell):
		r.words, err = shellline.ParsePattern(pattern)
	case string(DoesRead), string(DoesWrite):
		r.path, err = parsePath(pattern)
	case "list", "glob", "grep": // of one tool only: what is closed to it, the others would read
		err = notAKind(r.name, pattern)
	case string(DoesFetch):
		r.text, err = parseHost(pattern)
	case uncaging:
		err = r.readUncaged(pattern)
	case cagePort, localPort:
		err = r.readPort(pattern)
	case openingDir:
		err = r.readDir(pattern)
	case configuring:
		err = r.readSetting(pattern)
	case string(DoesMCP):
		if !strings.Contains(pattern, "/") && pattern != "*" {
			pattern += "/*"
		}
		r.text, err = parseSegment(pattern)
	default:
		argument, value, ok := strings.Cut(pattern, "=")
		if r.bare = pattern == "*"; r.bare && meant(r.name) == "" {
			return nil
		}
		if !ok || argument == "" {
			return notAKind(r.name, pattern)
		}
		r.argument = argument
		r.text, err = parseSegment(value)
	}
	return err
}

func parseHost(pattern string) (segment, error) {
	if a, err := netip.ParseAddr(pattern); err == nil && a.Zone() == "" {
		return parseSegment(canonical(pattern))
	}
	if strings.ContainsAny(pattern, "/:@ ") {
		return nil, core.E(core.Invalid, "a host stands without scheme, port and path")
	}
	return parseSegment(strings.ToLower(pattern))
}

// List is what a file or a person says: rules by effect.
type List struct{ Allow, Ask, Deny []string }

// ParseList reads rules of one source. What a project brings can forbid and ask, and never allow: such rules are an error,
// and the others count nevertheless.
func ParseList(list List, source Source) (rules []Rule, err error) {
	if len(list.Allow)+len(list.Ask)+len(list.Deny) > maxRules {
		return nil, core.E(core.TooLarge, "%s has more than %d permission rules", source, maxRules)
	}
	add := func(effect Effect, texts []string) {
		for _, text := range texts {
			rule, wrong := Parse(effect, text, source)
			if wrong == nil && effect == Allow && source == FromProject {
				wrong = core.E(core.Invalid, "%s has the rule %q, but only a person can allow something", source, brief(text)).
					WithHint("allow it yourself: loci permissions add allow %q", brief(text))
			}
			if wrong == nil {
				rules = append(rules, rule)
			} else if err == nil {
				err = wrong
			}
		}
	}
	add(Deny, list.Deny)
	add(Ask, list.Ask)
	add(Allow, list.Allow)
	return rules, err
}

func brief(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}
