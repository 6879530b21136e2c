package client

import (
	"context"
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

// patience is how long a silent daemon is waited for, and then how long it has to say it is alive: ten seconds in
// all.
const patience = 5 * time.Second

// ErrSilent means that a daemon accepts connections and doesn't answer: it was stopped, or it hangs.
var ErrSilent = errors.New("the daemon does not answer")

func silentError(after time.Duration) error {
	return &Error{
		Kind:    api.KindTimeout,
		Err:     ErrSilent,
		Message: fmt.Sprintf("%v: it has said nothing for %v", ErrSilent, after.Round(time.Millisecond)),
		Hint:    "loci daemon status says who holds the home; loci daemon restart replaces it, forcibly if necessary",
	}
}

// watch ends a request if its response is silent and the daemon as a whole doesn't answer either. A live daemon may
// take as long as it likes: each time the response has been silent for a while, it is asked over a separate
// connection.
type watch struct {
	client  *Client
	silence time.Duration
	ctx     context.Context //nolint:containedctx // the request's, which this lives as long as
	cancel  context.CancelCauseFunc

	mu    sync.Mutex // guards timer and over
	timer *time.Timer
	over  bool
	looks sync.WaitGroup
}

// watched makes a request under a watch, which ends when the response body is closed.
func (c *Client) watched(req *http.Request, silence time.Duration) (*http.Response, error) {
	if silence == 0 {
		silence = c.patience()
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{client: c, silence: silence, ctx: ctx, cancel: cancel}
	w.timer = time.AfterFunc(silence, w.look)
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		err = w.reason(err)
		w.stop()
		return nil, err
	}
	w.heard()
	resp.Body = &watchedBody{body: resp.Body, watch: w}
	return resp, nil
}

func (c *Client) patience() time.Duration {
	if c.opts.Patience > 0 {
		return c.opts.Patience
	}
	return patience
}

// heard restarts the silence timer.
func (w *watch) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(w.silence)
	}
}

// look asks the daemon whether it is alive.
func (w *watch) look() {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	w.looks.Add(1)
	w.mu.Unlock()
	defer w.looks.Done()
	within := w.client.patience()
	ctx, cancel := context.WithTimeout(w.ctx, within)
	defer cancel()
	if w.client.lives(ctx) || w.ctx.Err() != nil {
		w.heard()
		return
	}
	w.cancel(silentError(w.silence + within))
}

// lives asks for the daemon's status over a separate connection. Any answer will do, even an error. So does a socket
// where nobody listens: the request's own connection will report that.
func (c *Client) lives(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+api.PathStatus, http.NoBody)
	if err != nil {
		return true
	}
	fresh := http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return ipc.Dial(ctx, c.Socket()) },
		DisableKeepAlives: true,
	}
	defer fresh.CloseIdleConnections()
	resp, err := fresh.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close() // the header says enough
	}
	return ctx.Err() == nil
}

// reason reports a silent daemon rather than the error that ending the request caused.
func (w *watch) reason(err error) error {
	if cause := context.Cause(w.ctx); errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}

func (w *watch) stop() {
	w.mu.Lock()
	w.over = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
	w.looks.Wait()
}

// watchedBody is a response body under a watch.
type watchedBody struct {
	body  io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n > 0 {
		b.watch.heard()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.reason(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.body.Close()
	b.watch.stop()
	return err
}
