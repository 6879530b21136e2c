package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"loci/core"
	"loci/daemon/api"
)

// Peer is how a request came.
type Peer int

// The kinds of peers. Only one on the socket can register a session, and so name a workspace.
const (
	PeerTCP Peer = iota
	PeerSocket
)

type peerKey struct{}

// ConnContext marks a connection with the kind of its peer; give it to http.Server.ConnContext.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if conn.LocalAddr().Network() == "unix" {
		return WithPeer(ctx, PeerSocket)
	}
	return WithPeer(ctx, PeerTCP)
}

// WithPeer marks a context with the kind of the peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}

// call is what is known of a request beside its operation.
type call struct {
	id      string // names the request in the log and in what goes wrong
	peer    Peer
	client  core.Client
	current bool // a client of the contract's version 1.0 or newer
	control *http.ResponseController
	logger  *slog.Logger
}

type callKey struct{}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// guard is what every request passes before its operation.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &tracked{ResponseWriter: w}
		w = t
		w.Header().Set(api.HeaderVersion, s.cfg.Version)
		c := call{id: requestID(), peer: peerOf(r.Context()), current: currentClient(r), control: http.NewResponseController(w), logger: s.cfg.Logger}
		ctx := context.WithValue(r.Context(), callKey{}, c)
		defer s.recovered(ctx, t, r)
		if err := s.sameSite(w, r, c.peer); err != nil {
			writeError(ctx, w, err)
			return
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		path := cleanPath(r)
		if err := s.authorized(r, path, c.peer); err != nil {
			writeError(ctx, w, err)
			return
		}
		if hosted(path) {
			writeError(ctx, w, core.E(core.Unsupported, "%s belongs to the hosted service; a server of one's own does not have it", path))
			return
		}
		if path != api.PathStatus && path != api.PathShutdown && path != api.PathLogs { // these work before the store is open
			if err := s.ready(r.Context()); err != nil {
				writeError(ctx, w, err)
				return
			}
		}
		var err error
		if c.client, err = s.clientOf(r, c.peer); err != nil {
			writeError(ctx, w, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// tracked is a response that knows whether its answer has begun.
type tracked struct {
	http.ResponseWriter
	begun bool
}

func (t *tracked) WriteHeader(status int) {
	t.begun = t.begun || status >= http.StatusOK
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(b []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// recovered turns a panic of a handler into an answer and a line in the log. One that ends the connection goes on, and so
// does one in the middle of an answer, which an error behind it would only spoil: the client sees that it broke off.
func (s *Server) recovered(ctx context.Context, w *tracked, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && err == http.ErrAbortHandler { //nolint:errorlint // the value itself is the signal
		panic(v)
	}
	err := core.E(core.Internal, "%s %s panicked: %v\n%s", r.Method, r.URL.Path, v, debug.Stack())
	if w.begun {
		logFault(ctx, err)
		panic(http.ErrAbortHandler)
	}
	writeError(ctx, w, err)
}

// sameSite refuses requests that another site, or another host's name, sends through a browser, and allows the pages of
// this machine to read the answers.
func (s *Server) sameSite(w http.ResponseWriter, r *http.Request, peer Peer) error {
	if !s.knownHost(r.Host, peer) {
		return core.E(core.Forbidden, "the host %q is not this server", r.Host)
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Origin") == "" {
		return core.E(core.Forbidden, "requests of other sites are refused")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || !s.knownHost(u.Host, PeerTCP) {
		return core.E(core.Forbidden, "requests of the site %q are refused", origin)
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Expose-Headers", strings.Join([]string{api.HeaderVersion, api.HeaderError, api.HeaderHint, "ETag"}, ", "))
	return nil
}

func (s *Server) knownHost(host string, peer Peer) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	if peer == PeerSocket && (name == "" || name == "loci") {
		return true
	}
	return name == "localhost" || name != "" && slices.Contains(s.cfg.Hosts, name)
}

// authorized checks the token where one is set. The socket is its owner's alone and needs none.
func (s *Server) authorized(r *http.Request, path string, peer Peer) error {
	if s.cfg.Token == "" || peer == PeerSocket || path == "/v1/health" {
		return nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		given, _ = strings.CutPrefix(r.Header.Get("X-Bare-Password"), "password ")
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(s.cfg.Token.Reveal())) != 1 {
		return core.E(core.Unauthenticated, "Unauthorized") //nolint:misspell // the contract's word
	}
	return nil
}

// clientOf is who asks: the session that the request names, or the API.
func (s *Server) clientOf(r *http.Request, peer Peer) (core.Client, error) {
	services := s.services()
	if services == nil { // the status of a daemon that is not open yet
		return core.Client{Kind: core.ClientAPI}, nil
	}
	id := r.Header.Get(api.HeaderClient)
	switch {
	case id == "":
		return services.Clients.Anonymous(), nil
	case peer != PeerSocket:
		return core.Client{}, core.E(core.Forbidden, "client sessions are for clients on the socket")
	}
	return services.Clients.Get(core.ClientID(id))
}

// currentClient recognises clients of version 1.0 and newer by what they send, as the contract does.
func currentClient(r *http.Request) bool {
	if v := r.Header.Get("X-Stainless-Package-Version"); v != "" {
		major, _, _ := strings.Cut(v, ".")
		return major != "0" && strings.Trim(major, "0123456789") == "" && major != ""
	}
	agent := r.UserAgent()
	for _, name := range []string{"letta-client/", "@letta-ai/letta-client/"} {
		if v, ok := strings.CutPrefix(agent, name); ok {
			return !strings.HasPrefix(v, "0.")
		}
	}
	return agent == "" || r.Header.Get(api.HeaderClient) != ""
}

// cleanPath takes off what the contract allows beside the path proper, the trailing slash and the name "latest" for the
// version, and returns the path that is served.
func cleanPath(r *http.Request) string {
	strip := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "/latest/"); ok {
			p = "/v1/" + rest
		}
		if trimmed := strings.TrimRight(p, "/"); trimmed != "" {
			return trimmed
		}
		return "/"
	}
	r.URL.Path = strip(r.URL.Path)
	if r.URL.RawPath != "" {
		r.URL.RawPath = strip(r.URL.RawPath)
	}
	return r.URL.Path
}

// hosted reports paths that only the hosted service has.
func hosted(path string) bool {
	rest, ok := strings.CutPrefix(path, "/v1/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	switch first {
	case "templates", "_internal_templates", "legacy-templates", "projects", "feeds", "pipelines", "environments", "sandboxes",
		"client-side-access-tokens", "metadata", "device-storage-key":
		return true
	}
	return false
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	writeError(r.Context(), w, core.E(core.NotFound, "there is no operation %s %s", r.Method, r.URL.Path))
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	writeStatus(w, &statusError{
		status: http.StatusMethodNotAllowed, kind: core.Unsupported,
		body: api.ErrorBody{Detail: r.Method + " is not offered at " + r.URL.Path},
	})
}

func requestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// operationID names an operation by its method and path.
func operationID(method, path string) string {
	clean := strings.NewReplacer("{", "", "}", "", "/", "-", "_", "-").Replace(strings.Trim(path, "/"))
	return strings.ToLower(method) + "-" + clean
}
