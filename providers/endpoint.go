package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"loci/core"
	"loci/providers/ollama"
	"loci/providers/openai"
)

// endpoint is a row as one asker sees it: where it is, with which key.
type endpoint struct {
	row     Row
	base    string
	key     core.Secret
	keyVar  string // the variables that it was set up with; "" where there is none
	baseVar string
	headers map[string]string
	quirks  openai.Quirks
	asked   bool // the asker has set it up: a key or an address
	moved   bool // the address is not the row's own
}

// endpointOf reads the asker's variables for a row.
func endpointOf(row Row, env core.Env) (endpoint, error) {
	e := endpoint{row: row, base: row.BaseURL, quirks: row.Quirks, headers: map[string]string{}}
	key, keyVar := value(env, row.KeyVars...)
	base, baseVar := value(env, row.BaseURLVar)
	e.key, e.keyVar, e.baseVar = key, keyVar, baseVar
	if err := usable(env, key, keyVar, row.KeyVars); err != nil {
		return e, err
	}
	e.asked = base != "" || key != "" && row.BaseURL != "" && !row.Local
	for header, name := range row.Headers {
		if v, set := value(env, name); set != "" {
			e.headers[header] = v.Reveal()
		}
	}
	if row.AppTitle != "" {
		e.headers["X-Title"] = row.AppTitle
	}
	if base == "" {
		return e, nil
	}
	var err error
	if row.Protocol == Ollama {
		e.base, err = ollama.BaseURL(base.Reveal())
	} else {
		e.base, err = baseURL(baseVar, base.Reveal())
	}
	if err != nil {
		return e, err
	}
	e.moved = e.base != row.BaseURL
	if e.moved && row.Quirks.OwnHost {
		e.quirks = quirksAt(e.base)
	}
	return e, nil
}

// usable checks what the variables of a key hold: one of blanks alone, or one that cannot be sent, is a slip that every
// request would fail by.
func usable(env core.Env, key core.Secret, keyVar string, names []string) error {
	wrong := keyVar
	if key != "" && strings.IndexFunc(key.Reveal(), unicode.IsControl) < 0 {
		return nil
	}
	for _, name := range names {
		if env == nil || key != "" {
			break
		}
		if v, ok := env(name); ok && v != "" {
			wrong = name
		}
	}
	if wrong == "" {
		return nil
	}
	return core.E(core.Unauthenticated, "%s holds no usable key", wrong).WithHint("set it to the key alone, without blanks or line breaks, or unset it")
}

// baseURL checks an address that a variable holds. One without a path means the usual /v1; one that ends in an
// operation is cut back to where operations begin.
func baseURL(variable, text string) (string, error) {
	bad := core.E(core.Invalid, "%s is not the address of a server", variable).WithHint("write it like http://127.0.0.1:8000/v1")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", bad
	}
	if u.User != nil {
		return "", core.E(core.Invalid, "%s holds credentials", variable).WithHint("put the key into its own variable")
	}
	u.RawQuery, u.Fragment = "", ""
	path := strings.TrimRight(u.Path, "/")
	for _, operation := range []string{"/chat/completions", "/responses", "/models"} {
		path = strings.TrimSuffix(path, operation)
	}
	if path == "" {
		path = "/v1"
	}
	u.Path = path
	return u.String(), nil
}

// quirksAt returns the quirks of the row that an address belongs to, or the generic ones.
func quirksAt(base string) openai.Quirks {
	u, err := url.Parse(base)
	if err != nil {
		return generic
	}
	for _, row := range cloud() {
		if own, err := url.Parse(row.BaseURL); err == nil && own.Host == u.Host {
			return row.Quirks
		}
	}
	return generic
}

// keyless reports whether the endpoint works without a key: local servers, and whatever an address was set for.
func (e endpoint) keyless() bool { return e.row.NoKey || e.moved }

// local reports whether the server is the person's own.
func (e endpoint) local() bool { return e.row.Local || loopback(e.base) }

// loopback reports whether an address stays on this machine.
func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// probed reports whether the endpoint may be contacted without the asker naming it: it was set up, or it is Ollama at
// its own address on loopback.
func (e endpoint) probed() bool {
	return e.asked || e.row.Protocol == Ollama && loopback(e.base)
}

// id tells endpoints apart without holding the key in the open.
func (e endpoint) id() string {
	h := sha256.New()
	parts := []string{e.row.Name, e.base, e.key.Reveal()}
	for name, v := range e.headers {
		parts = append(parts, name+"="+v)
	}
	slices.Sort(parts[3:])
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// because says what led to the endpoint.
func (e endpoint) because() string {
	switch {
	case e.keyVar != "":
		return e.keyVar + " is set"
	case e.baseVar != "":
		return e.baseVar + " is set"
	}
	return e.row.Title + " is running"
}

// where says at which machine a model of the endpoint is asked: that is where what is said goes.
func (e endpoint) where() string {
	host := e.base
	if u, err := url.Parse(e.base); err == nil && u.Host != "" {
		host = u.Host
	}
	if loopback(e.base) {
		return "on this machine, at " + host
	}
	return "at " + host
}

// failure says why an endpoint that somebody set up gives no model; "" where it does, or where nobody did.
func (e endpoint) failure(err error, models int) string {
	if !e.asked || err == nil && models > 0 {
		return ""
	}
	who := e.row.Title
	if e.moved {
		who += " at " + e.base
	}
	said := map[core.Kind]string{
		core.Unauthenticated: "refused it", core.NoCredit: "has no credit left", core.RateLimited: "takes no more requests for now",
		core.Timeout: "did not answer in time", core.Unavailable: "cannot be reached",
	}[core.KindOf(err)]
	switch {
	case err == nil:
		said = "lists no model: name one with --model"
	case said == "refused it" && e.keyVar == "":
		said = "wants a key"
	case said == "":
		said = "did not list its models"
	}
	return e.because() + ", but " + who + " " + said
}
