package config

import (
	"slices"
	"strings"
)

// ProviderEnv returns the part of an environment that a client passes to the daemon: the provider variables that are
// set and not empty.
func ProviderEnv(lookup Env, names []string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if v, ok := lookup(name); ok && v != "" {
			out[name] = v
		}
	}
	return out
}

// DaemonEnviron returns the environment, in the form of os.Environ, for a daemon that a command starts: without the
// provider variables, which belong to the command's own session.
func DaemonEnviron(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
