// Package client is the typed way to talk to the daemon over the Unix socket: one method for each operation that our
// programs use.
//
// Promises: every error is an *Error with a kind; a broken stream resumes where it left off; a session that the
// daemon has forgotten is registered again; a daemon that isn't running is started if the caller allows it. The
// client makes as few requests as it can, because people notice startup time. It holds no agent state and may import
// only daemon/api and daemon/ipc.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

const (
	base         = "http://loci" // the host is never looked up
	maxErrorBody = 1 << 20
	maxBody      = 256 << 20
	idleTimeout  = 90 * time.Second
)

// Options say how to reach the daemon.
type Options struct {
	Socket  string
	Version string         // our own; a daemon of another version is replaced, or the user is told about it
	Ensure  *EnsureOptions // how to start the daemon if nobody listens; nil: never
	Notify  func(string)   // gets one line to show to the user; nil: dropped

	Patience time.Duration // how long the daemon may stay silent before it is asked whether it is alive, and then has to answer; 0: 5 s
}

// Client talks to one daemon. It is safe for use by many goroutines.
type Client struct {
	opts Options
	http *http.Client

	mu           sync.Mutex
	socket       string      // where the daemon was last found
	registered   *api.Client // what to register again; nil: nothing registered yet
	session      string
	versionNoted bool
	replaced     bool // a daemon of another version was asked to make room

	renew sync.Mutex // held while registering again
}

// New makes a client. It does not connect.
func New(opts Options) *Client {
	c := &Client{opts: opts, socket: opts.Socket}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			DisableCompression:  true,
			MaxIdleConnsPerHost: 2,
			IdleConnTimeout:     idleTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Socket returns where the daemon was last found.
func (c *Client) Socket() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.socket
}

// SessionID returns the id of the registered session, or "".
func (c *Client) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// dial connects, starting the daemon if nobody listens.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	conn, err := ipc.Dial(ctx, c.Socket())
	if err == nil || c.opts.Ensure == nil || !ipc.Refused(err) {
		return conn, err
	}
	if _, err := c.ensure(ctx); err != nil {
		return nil, err
	}
	return ipc.Dial(ctx, c.Socket())
}

func (c *Client) ensure(ctx context.Context) (RunningDaemon, error) {
	if err := c.homeGone(); err != nil {
		return RunningDaemon{}, err
	}
	opts := *c.opts.Ensure
	opts.Socket, opts.Version = c.Socket(), c.opts.Version
	if opts.Notify == nil {
		opts.Notify = c.opts.Notify
	}
	result, err := Ensure(ctx, opts)
	if err != nil {
		return result, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket = result.Socket
	c.versionNoted = c.versionNoted || !opts.fits(result.Status) // Ensure left it running and said so
	return result, nil
}

func (c *Client) notify(line string) {
	if c.opts.Notify != nil {
		c.opts.Notify(line)
	}
}

// request describes one call. The body is kept as bytes so that it can be sent again.
type request struct {
	method, path string
	query        any
	body         any
	form         []byte // used instead of body: a form, with its type in header
	header       http.Header
	accept       string
	bare         bool // sent without the session

	silence time.Duration // how long the response may be silent before the daemon is asked whether it is alive; 0: the client's patience
}

// send makes the call and returns a successful response; the caller closes its body. If the daemon doesn't know the
// session, send registers it again and repeats the call once: a request refused for that reason stored nothing.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	body := r.form
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, &Error{Kind: api.KindInvalid, Message: "the request cannot be written: " + err.Error(), Err: err}
		}
	}
	session := c.SessionID()
	if r.bare {
		session = ""
	}
	resp, err := c.attempt(ctx, r, body, session)
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusPreconditionFailed || session == "" {
		return resp, err
	}
	if err := c.registerAgain(ctx, session); err != nil {
		return nil, err
	}
	return c.attempt(ctx, r, body, c.SessionID())
}

func (c *Client) attempt(ctx context.Context, r request, body []byte, session string) (*http.Response, error) {
	url := base + r.path
	if q := queryOf(r.query).Encode(); q != "" {
		url += "?" + q
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, url, reader)
	if err != nil {
		return nil, &Error{Kind: api.KindInvalid, Message: err.Error(), Err: err}
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	// Without a user agent the contract treats us as a current client, which gets relations only on request.
	req.Header.Set("User-Agent", "")
	req.Header.Set(api.HeaderVersion, c.opts.Version)
	if body != nil && r.form == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if session != "" {
		req.Header.Set(api.HeaderClient, session)
	}
	resp, err := c.watched(req, r.silence)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	daemon := resp.Header.Get(api.HeaderVersion)
	if c.replaces(r, daemon) {
		_ = resp.Body.Close() // the other version's answer is discarded
		if _, err := c.ensure(ctx); err != nil {
			return nil, err
		}
		return c.attempt(ctx, r, body, session)
	}
	c.noteVersion(r.path, daemon)
	if resp.StatusCode/100 != 2 {
		return nil, readError(resp)
	}
	return resp, nil
}

// replaces reports whether a daemon of another version should be replaced before a read-only request is repeated. It
// happens at most once, and never for a client with a session, for which Register has already decided.
func (c *Client) replaces(r request, daemon string) bool {
	if r.method != http.MethodGet || c.opts.Ensure == nil || c.opts.Version == "" || daemon == "" || daemon == c.opts.Version {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replaced || c.versionNoted || c.registered != nil {
		return false
	}
	c.replaced = true
	return true
}

// noteVersion warns once that the daemon is of another version. Register and read-only requests go further: they
// replace an idle one.
func (c *Client) noteVersion(path, daemon string) {
	if daemon == "" || c.opts.Version == "" || daemon == c.opts.Version || path == api.PathClients && c.opts.Ensure != nil {
		return
	}
	c.mu.Lock()
	noted := c.versionNoted
	c.versionNoted = true
	c.mu.Unlock()
	if !noted {
		c.notify(fmt.Sprintf("the daemon is version %s, this is %s: `loci daemon restart` replaces it", daemon, c.opts.Version))
	}
}

// call makes a call and decodes the response.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	out, _, err := callHeader[T](ctx, c, r)
	return out, err
}

func callHeader[T any](ctx context.Context, c *Client, r request) (out T, header http.Header, err error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return out, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or broken: closing tells us nothing new
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return out, nil, transportError(ctx, err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return out, resp.Header, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, nil, &Error{
			Status: resp.StatusCode, Kind: api.KindInternal, Err: err,
			Message: fmt.Sprintf("the answer of %s %s is not understood: %v", r.method, r.path, err),
		}
	}
	return out, resp.Header, nil
}

// done makes a call and ignores the response.
func (c *Client) done(ctx context.Context, r request) error {
	_, err := call[json.RawMessage](ctx, c, r)
	return err
}
