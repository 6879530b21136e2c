package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// lingerEnd is how long a finished answer waits for the end of its stream.
const lingerEnd = 2 * time.Second

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts   protocol.Options
	quirks Quirks
	who    wire.Who
	http   *http.Client
	left   wire.RefusalMemory[refused] // what was refused of a model's requests
}

var _ protocol.Server = (*Client)(nil)

// New returns a client.
func New(opts protocol.Options, quirks Quirks) *Client {
	return &Client{
		opts: opts, quirks: quirks,
		who:  wire.Who{Provider: opts.Provider, Endpoint: opts.BaseURL, Secrets: opts.Values.Secrets(), KeyVar: opts.KeyVar},
		http: &http.Client{Transport: opts.HTTP, CheckRedirect: wire.NoRedirect},
	}
}

// errBreak says that the consumer of the sequence has left.
var errBreak = errors.New("the consumer left")

// Stream implements core.ChatModel.
func (c *Client) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		sent := false
		out := func(d core.Delta) bool { sent = true; return yield(d, nil) }
		for {
			left := c.left.Of(req.Model)
			b := &builder{req: req, can: abilitiesOf(req), left: left}
			body := b.build()
			err := c.ask(ctx, req, body, out)
			if err != nil && !sent && c.leaveOut(req.Model, err, body, left) {
				continue
			}
			if err != nil && !errors.Is(err, errBreak) {
				yield(core.Delta{}, err)
			}
			return
		}
	}
}

// abilitiesOf returns what the model takes: as its listing said, or by its name.
func abilitiesOf(req core.ChatRequest) abilities {
	if own, ok := req.Info.Own.(abilities); ok {
		return own
	}
	return assumed(req.Model)
}

// ask makes one request, and the same once more if the model wrote a call that its service could not read.
func (c *Client) ask(ctx context.Context, req core.ChatRequest, body *request, out func(core.Delta) bool) error {
	r := newReader(c.who, req, out)
	for attempt := 1; ; attempt++ {
		r.begin()
		if err := c.once(ctx, req.Model, body, r); err != nil {
			return err
		}
		if !r.malformed() || attempt > 1 {
			break
		}
	}
	last, err := r.end()
	if err != nil {
		return err
	}
	if !out(last) {
		return errBreak
	}
	return nil
}

// operation returns the path of an operation of a model; a model's name may say of which kind it is.
func operation(model, name string) string {
	if !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + url.PathEscape(strings.TrimPrefix(model, "models/"))
	}
	return "/" + model + ":" + name
}

// once sends a request and reads its answer.
func (c *Client) once(ctx context.Context, model string, body *request, r *reader) error {
	raw, err := wire.Encode(body)
	if err != nil {
		return c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	path := operation(model, "streamGenerateContent") + "?alt=sse"
	if c.quirks.Whole {
		path = operation(model, "generateContent")
	}
	resp, err := c.send(watch, http.MethodPost, path, raw)
	if err != nil {
		return c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	events := wire.NewEvents(c.who, watch.Reader(resp.Body), c.opts.Comments)
	for lingers := false; !r.whole; {
		e, err := events.Next()
		if err != nil && r.complete() && ctx.Err() == nil {
			return nil // nothing but the end of the stream is missing
		}
		if errors.Is(err, io.EOF) {
			return c.who.Cut()
		}
		if err != nil {
			return c.who.Network(ctx, watch, err)
		}
		heard, err := r.event(e)
		if err != nil {
			return err
		}
		if heard {
			events.Heard()
		} else if err := events.Note(); err != nil {
			return c.who.Network(ctx, watch, err)
		}
		if r.complete() && !lingers {
			lingers = true
			watch.Within(lingerEnd)
		}
	}
	return nil
}

// send makes a request; an answer that is not a success is an error.
func (c *Client) send(watch *wire.Watch, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(watch.Context(), method, c.opts.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, c.who.E(core.Invalid, "the address of %s is not a URL", c.opts.Provider)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	watch.Pause()
	if err != nil {
		return nil, err
	}
	wire.Unpack(resp)
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), wire.MaxError)) // whatever was read is good enough
	return nil, c.who.Status(resp.StatusCode, resp.Header, said)
}

// exchange sends a small JSON document and returns the whole answer.
func (c *Client) exchange(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	resp, err := c.send(watch, method, path, body)
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), wire.MaxBody))
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	return raw, nil
}
