package providers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// endpoint is a row as one caller sees it: its address and key.
type endpoint struct {
	row      Row
	protocol protocol.Protocol
	base     string
	values   protocol.Values // the values of its variables
	keyVar   string          // the variables that it was set up with; "" if none
	baseVar  string
	headers  map[string]string
	asked    bool // the caller has set it up with a key or an address
	moved    bool // the address isn't the row's default
	foreign  bool // nor is it any of the vendor's, like a regional host
	kept     bool // the key is a stored one

	elsewhere string // the stored key is for this address, and isn't sent to another
}

// endpoint reads the caller's variables for a row.
func (p *Providers) endpoint(row Row, env core.Env) (endpoint, error) {
	e := endpoint{row: row, protocol: row.Protocol, values: protocol.Values{}, headers: map[string]string{}}
	for _, name := range row.Vars {
		if v, set := value(env, name); set != "" {
			e.values[name] = v
		}
	}
	if err := e.readKey(env); err != nil {
		return e, err
	}
	for header, name := range row.Headers {
		if v, set := value(env, name); set != "" {
			e.headers[header] = v.Reveal()
		}
	}
	if row.AppTitle != "" {
		e.headers["X-Title"] = row.AppTitle
	}
	base, baseVar := value(env, row.BaseURLVar)
	if base == "" && row.configuredURL != "" {
		base, baseVar = core.Secret(row.configuredURL), "providers."+row.Name+".base_url"
	}
	e.baseVar = baseVar
	e.asked = base != "" || row.key != nil || row.commanded || e.keyVar != "" && row.BaseURL != "" && !row.Local
	if base == "" {
		var err error
		if e.base, err = e.fill(env); err != nil {
			return e, err
		}
		return e, e.takeStored()
	}
	var err error
	if e.base, err = address(row.Protocol, baseVar, base.Reveal()); err != nil {
		return e, err
	}
	e.base = ownPath(e.base, row.BaseURL)
	e.moved = e.base != row.BaseURL
	e.foreign = e.moved && !under(e.base, row.BaseURL) && !row.owns(e.base)
	switch {
	case !e.foreign || row.Elsewhere == nil:
	case row.configured:
		e.protocol = row.Elsewhere
	default:
		e.protocol = spokenAt(p.known(), e.base, row.Elsewhere)
	}
	return e, e.takeStored()
}

// ownPath returns an address on a vendor's host with the vendor's own path, if it was given without one or with the usual
// /v1 where the vendor's operations are elsewhere.
func ownPath(base, vendors string) string {
	at, err := url.Parse(base)
	own, err2 := url.Parse(vendors)
	if err != nil || err2 != nil || !under(base, vendors) || at.Path != "/v1" || strings.Contains(own.Host, "{") {
		return base
	}
	at.Path = own.Path
	return at.String()
}

// readKey takes the first of the row's keys that is fully set. A key that is set only in part, is blank or can't be sent
// is an error, because every request would fail with it.
func (e *endpoint) readKey(env core.Env) error {
	var lacks error
	for _, key := range e.row.Keys {
		first, missing := "", ""
		for _, name := range key.Needs {
			v, set := value(env, name)
			if err := usable(env, name, v); err != nil {
				return err
			}
			switch {
			case set == "":
				missing = name
			case first == "":
				first = name
			}
		}
		switch {
		case first == "":
			continue
		case missing != "":
			if lacks == nil && !e.row.NotFirst { // what is set may be for others
				lacks = core.E(core.Unauthenticated, "%s is set and %s is not", first, missing).
					WithHint("set %s too, or unset %s", missing, first)
			}
			continue
		}
		for _, name := range append(slices.Clone(key.Needs), key.Takes...) {
			if v, set := value(env, name); set != "" {
				e.values[name] = v
			}
		}
		e.keyVar = key.Needs[0]
		return nil
	}
	return lacks
}

// usable checks the value of a key's variable.
func usable(env core.Env, name string, v core.Secret) error {
	said := false
	if env != nil {
		raw, ok := env(name)
		said = ok && raw != ""
	}
	if !said || v != "" && strings.IndexFunc(v.Reveal(), unicode.IsControl) < 0 {
		return nil
	}
	return core.E(core.Unauthenticated, "%s holds no usable key", name).
		WithHint("set it to the key alone, without blanks or line breaks, or unset it")
}

// fill puts the caller's variables into the row's own address.
func (e *endpoint) fill(env core.Env) (string, error) {
	base := e.row.BaseURL
	for _, name := range placeholders(base) {
		v, set := value(env, name)
		switch {
		case set != "" && !plain(v.Reveal()):
			return "", core.E(core.Invalid, "%s is no part of an address", name).WithHint("it may hold letters, digits, dots and dashes")
		case set == "" && e.asked:
			return "", core.E(core.Invalid, "%s is set and %s is not", cmp.Or(e.keyVar, "token_command"), name).
				WithHint("%s", e.missing(name))
		}
		e.values[name] = v
		base = strings.ReplaceAll(base, "{"+name+"}", v.Reveal())
	}
	if e.row.Settle != nil {
		base = e.row.Settle(base)
	}
	return base, nil
}

// missing says what to set where the address of a provider isn't known.
func (e *endpoint) missing(name string) string {
	hint := "set " + name + " too: the address of " + e.row.Title + " is made of it"
	if e.row.BaseURLVar != "" {
		hint += "; or set " + e.row.BaseURLVar + " to the whole address"
	}
	return hint
}

// placeholders returns the variables in an address.
func placeholders(base string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(base, "{")
		if !ok {
			return names
		}
		name, after, _ := strings.Cut(rest, "}")
		names, base = append(names, name), after
	}
}

// plain reports whether a text can be inserted into an address without changing its structure.
func plain(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-._", r)
	}) < 0
}

// address parses a server's address as its protocol does.
func address(of protocol.Protocol, variable, text string) (string, error) {
	if a, ok := of.(protocol.AddressParser); ok {
		return a.Address(variable, text)
	}
	return protocol.Address(variable, text, "")
}

// spokenAt returns the protocol of the row whose vendor an address belongs to, or else other.
func spokenAt(rows []Row, base string, other protocol.Protocol) protocol.Protocol {
	for _, row := range rows {
		if row.Protocol != nil && row.Protocol.Name() == other.Name() && !row.Local && !row.Named && under(base, row.BaseURL) {
			return row.Protocol
		}
	}
	return other
}

// owns reports whether an address is on one of the vendor's further domains.
func (r Row) owns(base string) bool {
	return slices.ContainsFunc(r.Domains, func(domain string) bool { return under(base, "https://"+domain) })
}

// under reports whether an address is on the vendor's host or a subdomain of it, as regional hosts are.
func under(base, vendors string) bool {
	at, err := url.Parse(base)
	if err != nil {
		return false
	}
	own, err := url.Parse(vendors)
	return err == nil && own.Host != "" && (at.Host == own.Host || strings.HasSuffix(at.Host, "."+own.Host)) && at.Scheme == own.Scheme
}

// keyless reports whether the endpoint works without a key: local servers, and any server whose address the caller set.
func (e endpoint) keyless() bool { return e.row.NoKey || e.foreign }

// hintVar returns the variable that a hint about the key should name.
func (e endpoint) hintVar() string {
	if e.kept {
		return "the key that is stored: loci providers add " + e.row.Name
	}
	if e.keyVar == "" && len(e.row.Keys) > 0 {
		return e.row.Keys[0].Needs[0]
	}
	return e.keyVar
}

// noKey returns the error for a missing key.
func (e endpoint) noKey() error {
	if e.elsewhere != "" {
		const why = "%w for %s at %s: the stored one is for %s, and is sent nowhere else"
		return core.E(core.Unauthenticated, why, core.ErrNoKey, e.row.Title, e.base, e.elsewhere).
			WithHint("store one for this address: loci providers add NAME --url %s", e.base)
	}
	if len(e.row.Keys) == 0 {
		return core.E(core.Unauthenticated, "%w for %s", core.ErrNoKey, e.row.Title).
			WithHint("store one: loci providers add %s", e.row.Name)
	}
	return core.E(core.Unauthenticated, "%w for %s", core.ErrNoKey, e.row.Title).
		WithHint("set %s, or store a key: loci providers add %s", strings.Join(e.row.Keys[0].Needs, " and "), e.row.Name)
}

// local reports whether the server is the user's own.
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

// probed reports whether the endpoint may be contacted: it was set up, or its row is tried on loopback.
func (e endpoint) probed() bool {
	return e.asked || e.row.Probe && loopback(e.base)
}

// id identifies an endpoint without exposing its key.
func (e endpoint) id() string {
	h := sha256.New()
	parts := []string{e.row.Name, e.base}
	for name, v := range e.values {
		parts = append(parts, name+"="+v.Reveal())
	}
	for name, v := range e.headers {
		parts = append(parts, name+": "+v)
	}
	slices.Sort(parts[2:])
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// because says why the endpoint is used.
func (e endpoint) because() string {
	switch {
	case e.kept:
		return "a key of " + e.row.Name + " is stored"
	case e.keyVar != "":
		return e.keyVar + " is set"
	case e.baseVar != "":
		return e.baseVar + " is set"
	}
	return e.row.Title + " is running"
}

// where says which machine runs a model of the endpoint, and so where the conversation is sent.
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

// failure says why an endpoint that somebody set up offers no model; "" if it does, or if nobody set it up.
func (e endpoint) failure(err error, models []core.ModelInfo) string {
	if !e.asked || err == nil && slices.ContainsFunc(models, func(m core.ModelInfo) bool { return m.Hidden == "" }) {
		return ""
	}
	who := e.row.Title
	if e.moved || e.row.Named {
		who += " at " + e.base
	}
	said := map[core.Kind]string{
		core.Unauthenticated: "refused it", core.NoCredit: "has no credit left", core.RateLimited: "takes no more requests for now",
		core.Timeout: "did not answer in time", core.Unavailable: "cannot be reached",
	}[core.KindOf(err)]
	var instead *wire.ListingError
	switch {
	case err == nil && len(models) > 0:
		said = fmt.Sprintf(
			"lists %s, none for chats (%s: %s): loci models --all shows them, and any can be named with --model",
			core.Count(len(models), "model"),
			models[0].Name,
			models[0].Hidden,
		)
	case err == nil:
		said = "lists no model: name one with --model"
	case said == "" && errors.As(err, &instead):
		said = "did not list its models: " + instead.Text
	case errors.Is(err, wire.ErrPlain):
		said = wire.ErrPlain.Error()
	case errors.Is(err, wire.ErrListing):
		said = "answered something that is no list of models"
	case said == "refused it" && e.keyVar == "":
		said = "wants a key"
		if name := e.hintVar(); name != "" {
			said += ": set " + name
		}
	case said == "":
		said = "did not list its models"
	}
	return e.because() + ", but " + who + " " + said
}
