package permission

import (
	"strings"

	"loci/core"
)

// editing is another word for write, and the name of one of the tools that do: what one may not change, the others may not either.
const editing = "edit"

// meant returns the kind of rule that somebody means by a word that is none, as other programs have it; empty: that can't be told.
func meant(name string) Does {
	switch word := strings.ToLower(name); word {
	case "read_file", "view", "cat", "list", "glob", "grep", "ls":
		return DoesRead
	case "write_file", "create", editing, "multiedit", "notebookedit", "str_replace":
		return DoesWrite
	case "bash", "sh":
		return DoesShell
	case "webfetch", "web_fetch", "curl":
		return DoesFetch
	default:
		for _, does := range []Does{DoesRead, DoesWrite, DoesShell, DoesFetch, DoesMCP} {
			if nearly(word, string(does)) {
				return does
			}
		}
		return ""
	}
}

// nearly reports whether a word becomes the other one by one letter more, fewer or other, or by two that change places.
func nearly(word, other string) bool {
	if word == other || len(other) < 4 {
		return word == other
	}
	for len(word) > 0 && len(other) > 0 && word[0] == other[0] {
		word, other = word[1:], other[1:]
	}
	for len(word) > 0 && len(other) > 0 && word[len(word)-1] == other[len(other)-1] {
		word, other = word[:len(word)-1], other[:len(other)-1]
	}
	swapped := len(word) == 2 && len(other) == 2 && word[0] == other[1] && word[1] == other[0]
	return len(word) <= 1 && len(other) <= 1 || swapped
}

// notAKind says what is wrong with a rule whose brackets hold nothing that its name takes.
func notAKind(name, pattern string) error {
	if does := meant(name); does != "" {
		return core.E(core.Invalid, "%s is no kind of rule, so that it would protect nothing; did you mean %s? That counts for every "+
			"tool that does it", name, rule(does, pattern))
	}
	return core.E(core.Invalid, "in brackets stands an argument and its value, as in %s(stage=test*)", name)
}
