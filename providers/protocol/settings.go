package protocol

import (
	"maps"
	"slices"
	"strings"

	"loci/core"
)

// Apply sets what the settings say by a table of names, their values, and what each does. An unknown name or value is an
// error that says which there are.
func Apply[T any](to *T, settings map[string]string, table map[string]map[string]func(*T)) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		words, ok := table[name]
		if !ok {
			return core.E(core.Invalid, "there is no setting %q", name).
				WithHint("there are base_url, %s", strings.Join(slices.Sorted(maps.Keys(table)), ", "))
		}
		set, ok := words[settings[name]]
		if !ok {
			return core.E(core.Invalid, "%s cannot be %q", name, settings[name]).
				WithHint("it can be %s", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		set(to)
	}
	return nil
}
