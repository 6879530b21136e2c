package providers

import (
	"maps"
	"slices"

	"loci/core"
	"loci/providers/protocol"
)

// Configure returns the catalogue with the user's settings for providers, keyed by name: base_url, and options of their
// protocols.
func Configure(rows []Row, settings map[string]map[string]string) ([]Row, error) {
	rows = slices.Clone(rows)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name && r.Protocol != nil })
		if at < 0 {
			return nil, core.E(core.Invalid, "providers.%s: there is no provider %q", name, name).
				WithHint("use openai for any server that speaks its API")
		}
		if err := rows[at].configure(settings[name]); err != nil {
			return nil, core.E(core.Invalid, "providers.%s: %w", name, err).WithHint("%s", core.HintOf(err))
		}
	}
	return rows, nil
}

func (r *Row) configure(settings map[string]string) error {
	settings = maps.Clone(settings)
	if base, ok := settings["base_url"]; ok {
		if _, err := address(r.Protocol, "base_url", base); err != nil {
			return err
		}
		r.configuredURL = base
		delete(settings, "base_url")
	}
	if len(settings) == 0 {
		return nil
	}
	r.configured = true
	for _, of := range []*protocol.Protocol{&r.Protocol, &r.Elsewhere} {
		if *of == nil {
			continue
		}
		c, ok := (*of).(protocol.Configurer)
		if !ok {
			return core.E(core.Invalid, "nothing but base_url can be set for %s", r.Title)
		}
		var err error
		if *of, err = c.Set(settings); err != nil {
			return err
		}
	}
	return nil
}
