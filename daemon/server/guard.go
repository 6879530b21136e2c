package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"loci/core"
	"loci/daemon/api"
)

// Peer says how a request arrived.
type Peer int

// The kinds of peers. Only one on the socket can register a session and thereby name a workspace.
const (
	PeerTCP Peer = iota
	PeerSocket
)

type peerKey struct{}

// ConnContext marks a connection with the kind of its peer; set it as http.Server.ConnContext.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if conn.LocalAddr().Network() == "unix" {
		return WithPeer(ctx, PeerSocket)
	}
	return WithPeer(ctx, PeerTCP)
}

// WithPeer marks a context with the kind of its peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}

// call is what is known about a request besides its operation.
type call struct {
	id      string // identifies the request in the log and in errors
	peer    Peer
	client  core.Client
	current bool // the client speaks version 1.0 of the contract or newer
	control *http.ResponseController
	logger  *slog.Logger
}

type callKey struct{}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// guard is what every request passes through before its operation.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &responseTracker{ResponseWriter: w}
		w = t
		w.Header().Set(api.HeaderVersion, s.cfg.Version)
		c := call{
			id:      requestID(),
			peer:    peerOf(r.Context()),
			current: currentClient(r),
			control: http.NewResponseController(w),
			logger:  s.cfg.Logger,
		}
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
		client, done, err := s.clientOf(r, c.peer)
		if err != nil {
			writeError(ctx, w, err)
			return
		}
		defer done()
		c.client = client
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// responseTracker is a response that knows whether it has started.
type responseTracker struct {
	http.ResponseWriter
	begun bool
}

func (t *responseTracker) WriteHeader(status int) {
	if t.begun { // an error of writing the answer, whose reader has left
		return
	}
	t.begun = status >= http.StatusOK
	t.ResponseWriter.WriteHeader(status)
}

func (t *responseTracker) Write(b []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (t *responseTracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// recovered turns a handler's panic into a response and a log line. A panic that aborts the connection is passed on,
// and so is one in the middle of a response, where an appended error would only garble it: the client sees that the
// response broke off.
func (s *Server) recovered(ctx context.Context, w *responseTracker, r *http.Request) {
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

// sameSite rejects requests sent under another host name, and requests from web pages: only pages of the configured
// origins may send requests and read the responses. Anybody can serve a page on localhost: the API's reference
// implementation allows those pages, this server doesn't.
func (s *Server) sameSite(w http.ResponseWriter, r *http.Request, peer Peer) error {
	if !knownHost(r.Host, peer) {
		return core.E(core.Forbidden, "the host %q is not this server", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin": // no browser, or a person who typed the address
			return nil
		}
		return core.E(core.Forbidden, "requests of web pages are refused").WithHint(originsHint)
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !slices.Contains(s.cfg.Origins, origin) {
		return core.E(core.Forbidden, "requests of web pages from %q are refused", origin).WithHint(originsHint)
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		return nil
	}
	h.Set(
		"Access-Control-Expose-Headers",
		strings.Join([]string{api.HeaderVersion, api.HeaderError, api.HeaderHint, api.HeaderPartial, "ETag"}, ", "),
	)
	return nil
}

const originsHint = "to let a page of your own in, add its origin to `origins` in the configuration and restart the daemon"

func knownHost(host string, peer Peer) bool {
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
	return name == "localhost"
}

// authorized checks the token if one is set. The socket is private to its owner and needs none.
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

// clientOf returns the caller: the session that the request names, or the API.
func (s *Server) clientOf(r *http.Request, peer Peer) (client core.Client, done func(), err error) {
	nothing := func() {}
	services := s.services()
	if services == nil { // status of a daemon whose store isn't open yet
		return core.Client{Kind: core.ClientAPI}, nothing, nil
	}
	id := r.Header.Get(api.HeaderClient)
	switch {
	case id == "":
		return services.Sessions.Anonymous(), nothing, nil
	case peer != PeerSocket:
		return core.Client{}, nothing, core.E(core.Forbidden, "client sessions are for clients on the socket")
	}
	return services.Sessions.Begin(core.ClientID(id), core.PermissionMode(r.Header.Get(api.HeaderMode)))
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

// cleanPath normalises the variants that the contract allows, a trailing slash and "latest" as the version, and
// returns the path to serve.
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

// operationID derives an operation's name from its method and path.
func operationID(method, path string) string {
	clean := strings.NewReplacer("{", "", "}", "", "/", "-", "_", "-").Replace(strings.Trim(path, "/"))
	return strings.ToLower(method) + "-" + clean
}
