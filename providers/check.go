package providers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// Limits of a check.
const (
	checkStep   = 10 * time.Second // for a look-up, a connection or a listing
	checkTry    = 3 * time.Second  // for each other path
	checkAnswer = 90 * time.Second // for the answer of a model, which may have to be loaded
	checkBody   = 64 << 10
)

// checking is one check of one endpoint.
type checking struct {
	p     *Providers
	e     endpoint
	model string
	found []core.Finding
}

func (c *checking) good(name, format string, args ...any) {
	c.found = append(c.found, core.Finding{Name: name, Good: true, Detail: fmt.Sprintf(format, args...)})
}

func (c *checking) bad(name, detail, hint string) {
	c.found = append(c.found, core.Finding{Name: name, Detail: detail, Hint: hint})
}

// Check implements core.Catalogue. It sends the key to nobody but the provider's own address: what is asked of other places
// is asked on the same host.
func (p *Providers) Check(ctx context.Context, name, model string, env core.Env) ([]core.Finding, error) {
	if provider, of, ok := core.Handle(name).Split(); ok && model == "" { // a whole handle
		name, model = provider, of
	}
	row, ok := p.find(name)
	switch {
	case !ok:
		return nil, unknown(p.known(), name)
	case row.Offline:
		return []core.Finding{{Name: "model", Good: true, Detail: "it is built in and needs nothing"}}, nil
	case !row.Built():
		return nil, core.E(core.Unsupported, "%s is not supported yet", row.Title)
	}
	return p.check(ctx, row, model, env, true)
}

// Try implements core.Catalogue.
func (p *Providers) Try(ctx context.Context, s core.Provider, key core.Secret) ([]core.Finding, error) {
	row, err := Named(p.base, s.Name, map[string]string{"protocol": s.Protocol, "base_url": s.BaseURL})
	if err != nil {
		return nil, err
	}
	row.NoKey = key == ""
	if key != "" {
		row.key = &storedKey{base: row.BaseURL, open: func() (core.Secret, error) { return key, nil }}
	}
	return p.check(ctx, row, "", nil, false)
}

// check checks a row, up to its first fault; with answer, a model is asked too.
func (p *Providers) check(ctx context.Context, row Row, model string, env core.Env, answer bool) ([]core.Finding, error) {
	e, err := p.endpoint(row, env)
	c := &checking{p: p, e: e, model: model}
	if err != nil {
		c.bad("settings", err.Error(), core.HintOf(err))
		return c.found, nil
	}
	c.good("address", "%s, by the protocol %s", e.base, e.protocol.Name())
	if e.keyVar == "" && !e.keyless() {
		err := e.noKey()
		c.bad("key", err.Error(), core.HintOf(err))
		return c.found, nil
	}
	if from := e.keyFrom(); from != "" {
		c.good("key", "%s", from)
	}
	s, err := p.hold(e)
	if err != nil {
		return nil, err
	}
	defer p.release(s)
	if c.reach(ctx) && c.list(ctx, s) && answer {
		c.answer(ctx, s)
	}
	return c.found, nil
}

// reach looks the host up and asks it for something without the key.
func (c *checking) reach(ctx context.Context) bool {
	at, err := url.Parse(c.e.base)
	if err != nil {
		c.bad("address", "it is none", "set base_url anew")
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, checkStep)
	defer cancel()
	proxy := c.proxy(ctx)
	switch {
	case proxy != "":
		c.good("proxy", "requests go through %s, as the daemon's environment says", proxy)
	case net.ParseIP(at.Hostname()) == nil && at.Hostname() != "localhost" && c.p.cfg.HTTP == nil && c.p.cfg.Dial == nil:
		if _, err := net.DefaultResolver.LookupHost(ctx, at.Hostname()); err != nil {
			c.bad("name", "the host "+at.Hostname()+" is not found", "check how it is written, and that this machine has a network")
			return false
		}
		c.good("name", "%s is found", at.Hostname())
	}
	page, err := c.look(ctx, c.e.base+"/models")
	if err != nil {
		c.unreachable(at, proxy, err)
		return false
	}
	if page.status >= 300 && page.status < 400 && page.location != "" {
		c.redirected(at, page.location)
		return false
	}
	if at.Scheme == "http" && strings.Contains(strings.ToLower(page.body), "http request to an https server") {
		c.bad("connection", "the server wants TLS", "write the address with https://")
		return false
	}
	what := "it answers"
	if at.Scheme == "https" {
		what = "it answers, and its certificate is good"
	}
	c.good("connection", "%s", what)
	return true
}

// proxy names the proxy that requests go through; "" if none.
func (c *checking) proxy(ctx context.Context) string {
	t, ok := c.p.http.(*http.Transport)
	if !ok || t.Proxy == nil {
		return ""
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.e.base, nil)
	if err != nil {
		return ""
	}
	through, err := t.Proxy(req)
	if err != nil || through == nil {
		return ""
	}
	return through.Host
}

// look asks for a page without any key, and follows no redirect.
func (c *checking) look(ctx context.Context, at string) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return page{}, err
	}
	resp, err := c.p.http.RoundTrip(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, checkBody))
	if len(body) > 0 {
		err = nil
	}
	return page{resp.StatusCode, resp.Header.Get("Location"), string(body)}, err
}

// page is what a server answered to somebody without a key.
type page struct {
	status         int
	location, body string
}

func (c *checking) redirected(at *url.URL, to string) {
	target, err := at.Parse(to)
	where := "elsewhere"
	if err == nil {
		target.RawQuery, target.Fragment, target.User = "", "", nil
		where = strings.TrimSuffix(target.String(), "/models")
	}
	c.bad("address", "it sends requests on to "+where+", which are not followed: no key was sent there",
		"if that is where the server is, set base_url to "+where)
}

// unreachable explains why nothing came back.
func (c *checking) unreachable(at *url.URL, proxy string, err error) {
	const name = "connection"
	text := err.Error()
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var lookup *net.DNSError
	switch {
	case proxy != "" && (strings.Contains(text, "proxyconnect") || strings.Contains(text, "Proxy Authentication")):
		c.bad("proxy", "the proxy "+proxy+" does not let the request through: "+tail(text),
			"check HTTPS_PROXY, or put "+at.Hostname()+" into NO_PROXY; then loci daemon restart")
	case errors.As(err, &lookup):
		c.bad("name", "the host "+at.Hostname()+" is not found", "check how it is written, and that this machine has a network")
	case errors.As(err, &unknown):
		c.bad("certificate", "nobody that this machine trusts has signed the server's certificate",
			"trust its authority: SSL_CERT_FILE=/path/to/ca.pem loci daemon restart")
	case errors.As(err, &host):
		c.bad("certificate", "the server's certificate is for another name than "+at.Hostname(), "write the name that the certificate has")
	case errors.As(err, &invalid):
		c.bad("certificate", "the server's certificate is not valid: "+tail(invalid.Error()),
			"have it renewed, or check this machine's clock")
	case errors.As(err, &record), strings.Contains(text, "HTTP response to HTTPS client"):
		c.bad("connection", "the server speaks no TLS", "write the address with http://, if the way there is safe")
	case errors.Is(err, syscall.ECONNREFUSED):
		c.bad(name, "nothing listens at "+at.Host, "start the server, or correct the port")
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		c.bad(name, "nothing came back from "+at.Host+" in "+core.InWords(checkStep),
			"check the address, and firewalls between here and there")
	case strings.Contains(text, "malformed HTTP"):
		c.bad(name, "what listens at "+at.Host+" speaks no HTTP", "correct the port")
	default:
		c.bad(name, at.Host+" does not answer: "+tail(text), "check the address and the network")
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// tail is the part of an error that says what was wrong, in one bounded line.
func tail(text string) string {
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	return text[:min(len(text), 200)]
}

// list asks for the models, and where that fails looks for where the server has them.
func (c *checking) list(ctx context.Context, s *server) bool {
	within, cancel := context.WithTimeout(ctx, checkStep)
	defer cancel()
	_, err := s.all(within, core.ListedNow)
	kind := core.KindOf(err)
	switch {
	case err == nil:
		models, _ := s.models(within, 0)
		c.good("models", "%s", core.Count(len(models), "model")+" listed")
		return true
	case kind == core.Unauthenticated, kind == core.NoCredit, kind == core.RateLimited, kind == core.Timeout:
		c.bad(aspect(kind), err.Error(), core.HintOf(err))
		return false
	}
	if base, of, ok := c.find(ctx); ok {
		hint := "set base_url to " + base
		if of.Name() != c.e.protocol.Name() {
			hint += ", and protocol to " + of.Name()
		}
		what := "there are no models at " + c.e.base + ", but at " + base
		if of.Name() != c.e.protocol.Name() {
			what += ", where the server speaks the protocol " + of.Name()
		}
		c.bad("path", what, hint)
		return false
	}
	if c.model != "" {
		c.good("models", "%s", "it lists none ("+err.Error()+"); a model was named")
		return true
	}
	c.bad("path", "what answers at "+c.e.base+" lists no models: "+err.Error(),
		"correct base_url; if the server has no list, name a model: loci providers check "+c.e.row.Name+" --model MODEL")
	return false
}

// find looks on the same host for the path and the protocol by which the server lists models.
func (c *checking) find(ctx context.Context) (string, protocol.Protocol, bool) {
	at, err := url.Parse(c.e.base)
	if err != nil {
		return "", nil, false
	}
	wires := protocols()
	delete(wires, "openai-responses")
	order := []protocol.Protocol{c.e.protocol}
	for _, name := range []string{"openai", "anthropic", "ollama"} {
		if of := wires[name]; of.Name() != c.e.protocol.Name() {
			order = append(order, of)
		}
	}
	for _, of := range order {
		for _, path := range paths(at.Path, of.Name()) {
			there := *at
			there.Path = path
			if of.Name() == c.e.protocol.Name() && there.String() == c.e.base {
				continue
			}
			if c.listsAt(ctx, there.String(), of) {
				return there.String(), of, true
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", nil, false
}

// paths are where servers have their models, those nearest to what was written first.
func paths(written, of string) []string {
	if of == "ollama" {
		return []string{""}
	}
	written = strings.TrimRight(written, "/")
	up := written[:max(0, strings.LastIndexByte(written, '/'))]
	out := []string{written + "/v1", up, up + "/v1", "/v1", "/api/v1", "/openai/v1", "/inference/v1", "/anthropic/v1"}
	for i := len(out) - 1; i >= 0; i-- {
		if slices.Contains(out[:i], out[i]) || out[i] == "" {
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// listsAt reports whether the server lists models under another address of the same origin.
func (c *checking) listsAt(ctx context.Context, base string, of protocol.Protocol) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTry)
	defer cancel()
	e := c.e
	e.base, e.protocol = base, of
	if e.row.Sign == nil && of.Name() != c.e.row.Protocol.Name() || e.row.Named {
		if sign, err := signed("", of, e.keyVar); err == nil {
			e.row.Sign = sign
		}
	}
	s, err := c.p.newServer(e)
	if err != nil {
		return false
	}
	defer s.close()
	listing, err := s.wire.List(ctx)
	return err == nil && len(listing.Models) > 0
}

// aspect is what a kind of failure is about.
func aspect(kind core.Kind) string {
	switch kind { //nolint:exhaustive // the others are about the answer
	case core.Unauthenticated:
		return "key"
	case core.NoCredit:
		return "credit"
	case core.NotFound:
		return "model"
	}
	return "answer"
}

// answer asks a model for a word.
func (c *checking) answer(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, checkAnswer)
	defer cancel()
	models, _ := s.models(ctx, 0)
	name := c.model
	if name == "" {
		for _, m := range models {
			if m.Hidden == "" {
				name = m.Name
				break
			}
		}
	}
	if name == "" {
		c.bad("models", "it has none that can chat", "load one, or name one: loci providers check "+c.e.row.Name+" --model MODEL")
		return
	}
	info, err := s.describe(ctx, name)
	if err == nil {
		err = asked(ctx, s, info)
	}
	if err == nil {
		c.good("answer", "%s answers", info.Handle)
		return
	}
	hint := core.HintOf(err)
	if core.KindOf(err) == core.NotFound || errors.Is(err, wire.ErrListing) {
		var handles []string
		for _, m := range models {
			if m.Hidden == "" {
				handles = append(handles, string(m.Handle))
			}
		}
		if near := core.NearHandles(core.Handle(c.e.row.Name+"/"+name), handles); len(near) > 0 {
			hint = "it has " + strings.Join(near, ", ")
		}
	}
	c.bad(aspect(core.KindOf(err)), err.Error(), hint)
}

// asked asks a model for one word, without the retries of a run: a person waits.
func asked(ctx context.Context, s *server, info core.ModelInfo) error {
	req := core.ChatRequest{
		Model: info.Name, System: "Answer with one word.", Messages: []core.ChatMessage{{Role: core.ChatUser, Text: "Say OK."}},
		Settings: core.ModelSettings{MaxOutputTokens: 256}, Window: info.ContextWindow, Info: info,
	}
	for d, err := range s.wire.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if d.End {
			return nil
		}
	}
	return nil
}
