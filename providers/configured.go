package providers

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/command"
	"loci/providers/openai"
	"loci/providers/protocol"
)

// Configure returns the catalogue with the user's settings for providers, keyed by name: base_url, what is known of their
// models, and options of their protocols. A name that the catalogue doesn't have is a server of the user's own: Named.
func Configure(rows []Row, settings map[string]map[string]string) ([]Row, error) {
	rows = slices.Clone(rows)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		of, err := maps.Clone(settings[name]), error(nil)
		at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name && r.Protocol != nil })
		if at < 0 {
			var row Row
			if row, err = Named(rows, name, of); err == nil {
				at = insertNamed(&rows, row)
			}
		}
		if err == nil {
			err = rows[at].configure(of)
		}
		if err != nil {
			return nil, core.E(core.Invalid, "providers.%s: %w", name, err).WithHint("%s", core.HintOf(err))
		}
	}
	return rows, nil
}

// configure applies settings, and uses them up.
func (r *Row) configure(settings map[string]string) error {
	if base, ok := settings["base_url"]; ok {
		if _, err := address(r.Protocol, "base_url", base); err != nil {
			return err
		}
		r.configuredURL = base
		delete(settings, "base_url")
	}
	for _, name := range named {
		if _, ok := settings[name]; ok {
			return core.E(core.Invalid, "%s cannot be set for %s", name, r.Title).
				WithHint("a server of your own gets a table with a name of its own, like [providers.my-%s]", r.Name)
		}
	}
	for _, name := range []string{"api_key", "key", "token", "secret"} {
		if _, ok := settings[name]; ok {
			return core.E(core.Invalid, "there is no setting %q: a key isn't written in the configuration", name).
				WithHint("store it: loci providers add NAME; or name the variable that holds it with api_key_env")
		}
	}
	if err := r.readModels(settings); err != nil {
		return err
	}
	r.sendEfforts()
	if err := r.readCommand(settings); err != nil {
		return err
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
			return core.E(core.Invalid, "there is no setting %q of %s", slices.Sorted(maps.Keys(settings))[0], r.Title).
				WithHint("there are base_url, token_command, models.NAME; and of its models %s",
					strings.Join(protocol.ModelSettings(), ", "))
		}
		var err error
		if *of, err = c.Set(settings); err != nil {
			return err
		}
	}
	return nil
}

// sendEfforts makes a server of the user's own be asked for the reasoning efforts that they say its models have.
func (r *Row) sendEfforts() {
	q, ok := r.Protocol.(openai.Quirks)
	if !ok || !r.Named || q.Effort != "" {
		return
	}
	for _, m := range r.models {
		if len(m.efforts) > 0 {
			q.Effort = openai.EffortFlat
		}
	}
	r.Protocol = q
}

// readCommand takes the command that prints a token out of settings: requests are signed with that, and no key is needed.
func (r *Row) readCommand(settings map[string]string) error {
	line, ok := settings["token_command"]
	if !ok {
		return nil
	}
	delete(settings, "token_command")
	args, err := command.Words(line)
	if err != nil {
		return err
	}
	name := r.Name
	r.Keys, r.NoKey, r.commanded = nil, true, true
	r.Sign = func(protocol.Values, http.RoundTripper) (protocol.Signer, error) { return command.New(name, args), nil }
	return nil
}

// Settings names what says in the configuration where the provider is.
func (r Row) Settings() []string {
	if r.configuredURL == "" {
		return nil
	}
	return []string{"providers." + r.Name + ".base_url"}
}

// Variables returns the names of all variables that rows read, sorted.
func Variables(rows []Row) []string {
	var names []string
	for _, row := range rows {
		names = append(names, row.Variables()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
