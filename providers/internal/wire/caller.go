package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"loci/core"
	"loci/providers/protocol"
)

// lingerEnd is how long a finished answer waits for the end of its stream.
const lingerEnd = 2 * time.Second

// Caller makes requests of one server.
type Caller struct {
	Who      Who
	Base     string // what paths are behind
	HTTP     http.RoundTripper
	Idle     time.Duration // see NewWatch
	Comments time.Duration // see NewEvents

	// Refused says what an answer means that is not a success; nil: Who.Status.
	Refused func(status int, header http.Header, said []byte) *core.Error
}

// NewCaller returns a caller of the server that options name.
func NewCaller(opts protocol.Options) Caller {
	return Caller{
		Who:  Who{Provider: opts.Provider, Endpoint: opts.BaseURL, Secrets: opts.Values.Secrets(), KeyVar: opts.KeyVar},
		Base: opts.BaseURL, HTTP: opts.HTTP, Idle: opts.Idle, Comments: opts.Comments,
	}
}

// Send makes a request, with a JSON document unless body is nil; an answer that is not a success is an error. What the network
// says is not yet one for people: see Who.Network.
func (c *Caller) Send(watch *Watch, method, path string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(watch.Context(), method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, c.Who.E(core.Invalid, "the address of %s is not a URL", c.Who.Provider)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: c.HTTP, CheckRedirect: NoRedirect}).Do(req)
	watch.Pause()
	if err != nil {
		return nil, err
	}
	Unpack(resp)
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), MaxError)) // whatever was read is good enough
	if c.Refused != nil {
		return nil, c.Refused(resp.StatusCode, resp.Header, said)
	}
	return nil, c.Who.Status(resp.StatusCode, resp.Header, said)
}

// Exchange makes a request as Send does and returns the whole answer.
func (c *Caller) Exchange(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	watch := NewWatch(ctx, c.Idle)
	defer watch.Stop()
	resp, err := c.Send(watch, method, path, header, body)
	if err != nil {
		return nil, c.Who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), MaxBody))
	if err != nil {
		return nil, c.Who.Network(ctx, watch, err)
	}
	return raw, nil
}

// EventReader makes an answer of events.
type EventReader interface {
	// Event reads one; heard: it was a piece of the answer and no keep-alive.
	Event(e Event) (heard bool, err error)
	Complete() bool // nothing but the end of the stream is missing
	Ended() bool    // nothing more is to be read
}

// Stream posts a document and reads the events of its answer to their end.
func (c *Caller) Stream(ctx context.Context, path string, header http.Header, body any, r EventReader) error {
	raw, err := Encode(body)
	if err != nil {
		return c.Who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	watch := NewWatch(ctx, c.Idle)
	defer watch.Stop()
	resp, err := c.Send(watch, http.MethodPost, path, header, raw)
	if err != nil {
		return c.Who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	events := NewEvents(c.Who, watch.Reader(resp.Body), c.Comments)
	for lingers := false; !r.Ended(); {
		e, err := events.Next()
		if err != nil && r.Complete() && ctx.Err() == nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return c.Who.Cut()
		}
		if err != nil {
			return c.Who.Network(ctx, watch, err)
		}
		heard, err := r.Event(e)
		if err != nil {
			return err
		}
		if heard {
			events.Heard()
		} else if err := events.Note(); err != nil {
			return c.Who.Network(ctx, watch, err)
		}
		if r.Complete() && !lingers {
			lingers = true
			watch.Within(lingerEnd)
		}
	}
	return nil
}
