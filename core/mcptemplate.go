package core

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// mcpTemplate stands for a variable of the agent, with what counts where there is none.
var mcpTemplate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\|([^{}]*))?\}\}`)
})

// MCPNeeds returns the variables that the settings of a server name.
func MCPNeeds(s *MCPServer, secrets *MCPSecrets) []string {
	var names []string
	for _, text := range slices.Concat(s.Args, []string{secrets.Token}, slices.Collect(maps.Values(secrets.Env)),
		slices.Collect(maps.Values(secrets.Headers))) {
		for _, found := range mcpTemplate().FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Target fills in what the settings of a server leave to variables, which are given as NAME=value.
func (s *MCPServer) Target(secrets MCPSecrets, variables []string) (MCPTarget, error) {
	to := MCPTarget{Server: *s}
	var missing []string
	fill := func(text string) string {
		return mcpTemplate().ReplaceAllStringFunc(text, func(found string) string {
			parts := mcpTemplate().FindStringSubmatch(found)
			for _, v := range slices.Backward(variables) { // the last one counts, as in an environment
				if name, value, _ := strings.Cut(v, "="); name == parts[1] {
					return value
				}
			}
			if !strings.Contains(found, "|") {
				missing = append(missing, parts[1])
			}
			return unquoted(strings.TrimSpace(parts[2]))
		})
	}
	all := func(values map[string]string) map[string]string {
		out := make(map[string]string, len(values))
		for name, value := range values {
			out[name] = fill(value)
		}
		return out
	}
	to.Server.Args = nil
	for _, arg := range s.Args {
		to.Server.Args = append(to.Server.Args, fill(arg))
	}
	to.Secrets = MCPSecrets{Env: all(secrets.Env), Headers: all(secrets.Headers), Token: fill(secrets.Token)}
	if len(missing) > 0 {
		return to, E(Precondition, "the server %s needs the variable %s, which is not set", s.Name, missing[0]).
			WithHint("loci secrets set %s", missing[0])
	}
	return to, to.Secrets.Validate()
}

// unquoted is a default as it is meant.
func unquoted(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
