package protocol

import (
	"maps"
	"slices"
	"strings"

	"loci/core"
)

// ModelSettings are the settings that every provider has besides those of its protocol.
func ModelSettings() []string {
	return []string{
		"context_window", "efforts", "images", "input_price", "max_output", "output_price", "read_price", "temperature", "text_calls",
		"tools", "write_price",
	}
}

// Apply sets what the settings say by a table of names, their values, and what each does. An unknown name or value is an
// error that says which there are.
func Apply[T any](to *T, settings map[string]string, table map[string]map[string]func(*T)) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		words, ok := table[name]
		if !ok {
			return core.E(core.Invalid, "there is no setting %q", name).
				WithHint("there are base_url, token_command, models.NAME, %s; and of its models %s",
					strings.Join(slices.Sorted(maps.Keys(table)), ", "), strings.Join(ModelSettings(), ", "))
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
