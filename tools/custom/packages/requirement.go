package packages

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"loci/core"
)

// What installers are given is no option, path, address or other name of a package. Versions of pip can be ranges, in the name.
var (
	pipWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._, -]*\])?` +
			`(?: *(?:===|==|~=|!=|<=|>=|<|>) *[A-Za-z0-9.*+!_-]+(?: *, *(?:===|==|~=|!=|<=|>=|<|>) *[A-Za-z0-9.*+!_-]+)*)?$`)
	})
	npmWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*(?:@[A-Za-z0-9^~<>=.*+ |-]+)?$`)
	})
)

// wanted returns the packages that a tool asks for, as its language's installer is given them, sorted.
func wanted(t *core.CustomTool) ([]string, error) {
	list, between, legal := t.Pip, "==", pipWord
	switch t.Language {
	case core.LanguagePython:
	case core.LanguageTypeScript:
		list, between, legal = t.Npm, "@", npmWord
	case core.LanguageProgram:
		return nil, nil
	}
	var words []string
	for _, r := range list {
		word := strings.TrimSpace(r.Name)
		if version := strings.TrimSpace(r.Version); version != "" {
			word += between + version
		}
		if !legal().MatchString(word) {
			return nil, core.E(core.Invalid, "%.100q is no package that %s can ask for", word, t.Name).
				WithHint("give a name, and a version if need be: requests and 2.31.0")
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}

// nameOf is the package that a word of wanted asks for.
func nameOf(word string) string {
	if i := strings.IndexAny(word[1:], "@[=~!<> "); i >= 0 {
		return word[:i+1]
	}
	return word
}
