package providers

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/gemini"
	"loci/providers/ollama"
	"loci/providers/openai"
	"loci/providers/protocol"
)

// named are the settings that only a provider under a name of the user's own has, besides those of every provider.
var named = []string{"protocol", "api_key_env", "auth"}

// The forms of names, and of the variables that a client passes to the daemon.
var (
	nameForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) })
	variableForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`) })
)

// protocols returns the wires by the words that settings have for them.
func protocols() map[string]protocol.Protocol {
	plain := generic
	plain.TokenIDs = true // it may be any server, and says so if it can't
	responses := generic
	responses.Wire = openai.Responses
	return map[string]protocol.Protocol{
		"openai": plain, "openai-responses": responses, "anthropic": anthropic.Quirks{}, "gemini": gemini.Quirks{},
		"ollama": ollama.Protocol{},
	}
}

// Named returns the row of a server under a name of the user's own. It knows where the server is and which wire it
// speaks; at a known vendor's address it keeps that vendor's quirks. The settings that it doesn't use are left in the map.
func Named(rows []Row, name string, settings map[string]string) (Row, error) {
	if err := nameable(rows, name); err != nil {
		return Row{}, err
	}
	words := protocols()
	said := settings["protocol"]
	of, ok := words[said]
	switch {
	case said == "" && settings["base_url"] == "":
		return Row{}, core.E(core.Invalid, "there is no provider %q, and nothing says how to reach one", name).
			WithHint("set base_url and protocol (%s) for a server of your own", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	case said == "":
		return Row{}, core.E(core.Invalid, "protocol is missing").
			WithHint("it can be %s", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	case !ok:
		return Row{}, core.E(core.Invalid, "protocol cannot be %q", said).
			WithHint("it can be %s", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	case settings["base_url"] == "":
		return Row{}, core.E(core.Invalid, "base_url is missing").WithHint("write the server's address, like http://127.0.0.1:8000/v1")
	}
	base, err := address(of, "base_url", settings["base_url"])
	if err != nil {
		return Row{}, err
	}
	if said != "openai-responses" {
		of = spokenAt(rows, base, of)
	}
	row := Row{Name: name, Title: name, Protocol: of, BaseURL: base, Named: true, NoKey: true}
	variable := settings["api_key_env"]
	if variable != "" {
		if !variableForm().MatchString(variable) {
			return Row{}, core.E(core.Invalid, "api_key_env is not the name of a variable").
				WithHint("write the variable's name in capitals, like MY_SERVER_KEY, and export the key under it: no key is written here")
		}
		row.Keys, row.NoKey = keys(variable), false
	}
	auth := settings["auth"]
	if row.Sign, err = signed(auth, row.Protocol, variable); err != nil {
		return Row{}, err
	}
	for _, used := range append([]string{"base_url"}, named...) {
		delete(settings, used)
	}
	row.configuredURL = base
	return row, nil
}

// nameable reports what is wrong with a name for a provider.
func nameable(rows []Row, name string) error {
	if !nameForm().MatchString(name) {
		return core.E(core.Invalid, "%q is no name of a provider", name).
			WithHint("use up to 32 small letters, digits and dashes, and no dash first")
	}
	row, taken := find(rows, name)
	if taken || name == "letta" || name == core.WordsHandle.Provider() {
		why := core.E(core.Invalid, "the name %q is taken", name).WithHint("choose another, like my-%s", name)
		if taken && !row.Built() {
			why = core.E(core.Invalid, "%q is %s, which is not supported yet", name, row.Title).
				WithHint("choose another name, like my-%s", name)
		}
		return why
	}
	return nil
}

// signed returns how requests carry the key in a variable: as a setting says, or as is usual on the wire.
func signed(auth string, of protocol.Protocol, variable string) (Sign, error) {
	if auth == "" {
		switch auth = "bearer"; of.Name() {
		case (anthropic.Quirks{}).Name():
			auth = "x-api-key"
		case (gemini.Quirks{}).Name():
			auth = "x-goog-api-key"
		}
	}
	headers := map[string]string{"bearer": "", "x-api-key": "X-Api-Key", "x-goog-api-key": "X-Goog-Api-Key", "api-key": "Api-Key"}
	header, ok := headers[auth]
	if !ok {
		return nil, core.E(core.Invalid, "auth cannot be %q", auth).WithHint("it can be bearer, x-api-key, x-goog-api-key, api-key")
	}
	if variable == "" {
		variable = storedVar
	}
	return func(values protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
		if header == "" {
			return protocol.Bearer(values[variable]), nil
		}
		return inHeader{name: header, key: values[variable]}, nil
	}, nil
}

// inHeader sends a key in a header of its own; an empty key isn't sent.
type inHeader struct {
	name string
	key  core.Secret
}

// Sign implements protocol.Signer.
func (h inHeader) Sign(req *http.Request) error {
	if h.key != "" {
		req.Header.Set(h.name, h.key.Reveal())
	}
	return nil
}
