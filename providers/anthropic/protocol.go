package anthropic

import (
	"net/http"
	"net/url"
	"path"

	"loci/core"
	"loci/providers/protocol"
)

// Quirks is how a server differs. It is the protocol as that server speaks it.
type Quirks struct {
	Hour  bool // what is cached is kept for an hour instead of five minutes
	Plain bool // cache marks are left out
	Whole bool // requests don't stream
}

// Name implements protocol.Protocol.
func (q Quirks) Name() string { return "anthropic" }

// Address implements protocol.AddressParser. By convention, addresses for this wire are given without the version that its
// operations are under, whether or not they have a path.
func (q Quirks) Address(variable, text string) (string, error) {
	base, err := protocol.Address(variable, text, "/v1", "/count_tokens", "/messages", "/models")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if last := path.Base(u.Path); !isVersion(last) {
		return u.JoinPath("v1").String(), nil
	}
	return base, nil
}

// isVersion reports whether a part of a path is like v1 or v1beta.
func isVersion(part string) bool {
	return len(part) > 1 && part[0] == 'v' && part[1] >= '0' && part[1] <= '9'
}

// Open implements protocol.Protocol.
func (q Quirks) Open(o protocol.Options) (protocol.Server, error) { return New(o, q), nil }

// settable are the settings and their values, and what each does.
func settable() map[string]map[string]func(q *Quirks) {
	return map[string]map[string]func(q *Quirks){
		"cache": {
			"5m": func(q *Quirks) { q.Hour = false }, "1h": func(q *Quirks) { q.Hour = true },
			"off": func(q *Quirks) { q.Plain = true },
		},
		"stream": {"on": func(q *Quirks) { q.Whole = false }, "off": func(q *Quirks) { q.Whole = true }},
	}
}

// Set implements protocol.Configurer.
func (q Quirks) Set(settings map[string]string) (protocol.Protocol, error) {
	if err := protocol.Apply(&q, settings, settable()); err != nil {
		return nil, err
	}
	return q, nil
}

// Sign authenticates as the official clients do: a key by the header of its own, else a token as bearer.
func Sign(key, token core.Secret) protocol.Signer { return signer{key: key, token: token} }

type signer struct{ key, token core.Secret }

// Sign implements protocol.Signer.
func (s signer) Sign(req *http.Request) error {
	if s.key != "" {
		req.Header.Set("X-Api-Key", s.key.Reveal())
		return nil
	}
	return protocol.Bearer(s.token).Sign(req)
}
