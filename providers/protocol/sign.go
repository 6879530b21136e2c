package protocol

import (
	"net/http"
	"net/url"

	"loci/core"
)

// Values holds the values of a row's variables by name.
type Values map[string]core.Secret

// Secrets returns the texts that must not appear in any error or log.
func (v Values) Secrets() []core.Secret {
	out := make([]core.Secret, 0, len(v))
	for _, s := range v {
		out = append(out, s)
	}
	return out
}

// Signer authenticates requests to a server. It may change the header of a request and read its body through GetBody; it
// is called once per request, concurrently. A Signer that keeps something between requests is an io.Closer.
type Signer interface {
	Sign(req *http.Request) error
}

// Bearer sends a key as is; an empty key isn't sent.
type Bearer core.Secret

// Sign implements Signer.
func (b Bearer) Sign(req *http.Request) error {
	if b != "" {
		req.Header.Set("Authorization", "Bearer "+core.Secret(b).Reveal())
	}
	return nil
}

// Signed returns a transport that adds the headers to each request and signs it. It refuses requests to any origin other
// than baseURL's, so that the key isn't leaked.
func Signed(base http.RoundTripper, baseURL string, headers map[string]string, signer Signer) http.RoundTripper {
	u, err := url.Parse(baseURL)
	if err != nil {
		u = &url.URL{}
	}
	return &signedTransport{base: base, scheme: u.Scheme, host: u.Host, headers: headers, signer: signer}
}

type signedTransport struct {
	base         http.RoundTripper
	scheme, host string
	headers      map[string]string
	signer       Signer
}

// RoundTrip implements http.RoundTripper.
func (s *signedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	err := s.prepare(out)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was sent
		}
		return nil, err
	}
	return s.base.RoundTrip(out)
}

func (s *signedTransport) prepare(out *http.Request) error {
	if out.URL.Scheme != s.scheme || out.URL.Host != s.host {
		return core.E(core.Invalid, "a request for %s is not sent to %s", s.host, out.URL.Host)
	}
	for name, value := range s.headers {
		out.Header.Set(name, value)
	}
	return s.signer.Sign(out)
}
