package mcpclient

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
)

// Bounds of a connection.
const (
	mostRedirects  = 5
	mostHeader     = 256 << 10
	handshakeTime  = 10 * time.Second
	reconnectTries = 2
)

// open returns the way to a server.
func (s *session) open() (*link, error) {
	if s.to.Server.Transport == core.MCPStdio {
		return s.start()
	}
	client, err := s.web()
	if err != nil {
		return nil, err
	}
	l := &link{unused: client.CloseIdleConnections}
	if s.to.Server.Transport == core.MCPSSE {
		l.transport = &mcp.SSEClientTransport{Endpoint: s.to.Server.URL, HTTPClient: client, MaxEventSize: mostMessage}
	} else {
		l.transport = &mcp.StreamableClientTransport{
			Endpoint: s.to.Server.URL, HTTPClient: client, MaxEventSize: mostMessage, MaxRetries: reconnectTries,
		}
	}
	return l, nil
}

// web is a client that reaches the host of the server, and nothing else.
func (s *session) web() (*http.Client, error) {
	if s.m.cfg.Dial == nil {
		return nil, core.E(core.Unsupported, "there is no network here, so the server %s is not reached", s.to.Server.Name)
	}
	to, err := url.Parse(s.to.Server.URL)
	if err != nil {
		return nil, core.E(core.Invalid, "the address of %s is no URL", s.to.Server.Name)
	}
	base := &http.Transport{
		DialContext: s.m.cfg.Dial(s.to.Server.Grants.Private), ForceAttemptHTTP2: true, TLSHandshakeTimeout: handshakeTime,
		MaxResponseHeaderBytes: mostHeader, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}
	return &http.Client{Transport: &addressed{base: base, to: to, s: s}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > mostRedirects {
			return core.E(core.Unavailable, "the server %s redirects more than %d times", s.to.Server.Name, mostRedirects)
		}
		return nil // where it leads is judged as every request is
	}}, nil
}

// addressed sends requests to one host, with what the server wants to see of a person.
type addressed struct {
	base *http.Transport
	to   *url.URL
	s    *session
}

// CloseIdleConnections implements what http.Client.CloseIdleConnections looks for.
func (a *addressed) CloseIdleConnections() { a.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (a *addressed) RoundTrip(r *http.Request) (*http.Response, error) {
	name := a.s.to.Server.Name
	if r.URL.Host != a.to.Host || r.URL.Scheme != a.to.Scheme {
		return nil, core.E(core.Forbidden, "the server %s sends its client to %s, which is another address than its own", name,
			plain(r.URL.Scheme+"://"+r.URL.Host, 200)).WithHint("add it with the address that it redirects to")
	}
	r = r.Clone(r.Context())
	secrets := &a.s.to.Secrets
	for header, value := range secrets.Headers {
		r.Header.Set(header, value)
	}
	if secrets.Token != "" {
		header, value := a.s.to.Server.AuthHeader, secrets.Token
		if header == "" {
			header = "Authorization"
		}
		if strings.EqualFold(header, "Authorization") && !strings.Contains(value, " ") {
			value = "Bearer " + value
		}
		r.Header.Set(header, value)
	}
	r.Header.Set("User-Agent", "loci/"+a.s.m.cfg.Version)
	resp, err := a.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		_ = resp.Body.Close() // it says nothing that is needed
		return nil, core.E(core.Unauthenticated, "the server %s refuses the credential that it got (HTTP %d)", name, resp.StatusCode).
			WithHint("give it a token or a header: loci mcp add --help")
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what can't be read is no stream
	body := a.s.budget.over(resp.Body)
	if kind != "text/event-stream" {
		body = io.LimitReader(body, mostMessage)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}
