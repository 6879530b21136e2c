package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// version is the wire's own, and binding the beta in which a request says what to do with thinking that doesn't fit its past.
const (
	version     = "2023-06-01"
	bindingBeta = "thinking-binding-controls-2026-08-01"
)

// Limits on one answer.
const (
	mostPauses = 10              // times that a model may pause
	lingerEnd  = 2 * time.Second // how long a finished answer waits for the end of its stream
)

// noticeThoughts is the kind of notice that says what was left out of the thinking that was sent back.
const noticeThoughts = "thoughts"

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts   protocol.Options
	quirks Quirks
	who    wire.Who
	http   *http.Client

	left wire.RefusalMemory[refused] // what was refused of a model's requests

	mu   sync.Mutex
	told map[string]bool // conversations whose person knows that thinking was left out
}

var _ protocol.Server = (*Client)(nil)

// New returns a client.
func New(opts protocol.Options, quirks Quirks) *Client {
	return &Client{
		opts: opts, quirks: quirks, told: map[string]bool{},
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
			b := &builder{quirks: c.quirks, req: req, can: abilitiesOf(req), left: left}
			body := b.build()
			err := c.ask(ctx, b, body, out)
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

// ask makes one request, and more while the model pauses its turn: what it said goes back and it goes on.
func (c *Client) ask(ctx context.Context, b *builder, body *request, out func(core.Delta) bool) error {
	r := newReader(c.who, b.req, out)
	asked := body.Messages
	for pauses := 0; ; pauses++ {
		r.begin()
		if err := c.once(ctx, body, r); err != nil {
			return err
		}
		said := r.native()
		if r.stop != "pause_turn" || said == nil || pauses == mostPauses {
			break
		}
		turn := message{Role: "assistant"}
		for _, raw := range said {
			turn.Content = append(turn.Content, block{verbatim: raw})
		}
		body.Messages = append(asked[:len(asked):len(asked)], turn)
	}
	last, err := r.end(!b.can.Binds || !b.worded)
	if err != nil {
		return err
	}
	if words := r.lost(); words != "" && c.tell(b.req) && !out(core.Delta{Notice: &core.Notice{Kind: noticeThoughts, Text: words}}) {
		return errBreak
	}
	if !out(last) {
		return errBreak
	}
	return nil
}

// mostTold bounds of how many conversations it is remembered.
const mostTold = 10_000

// tell reports whether a person hears for the first time that thinking was left out of a conversation.
func (c *Client) tell(req core.ChatRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.told) >= mostTold {
		clear(c.told)
	}
	key := req.CacheKey + "/" + req.Prefix
	before := c.told[key]
	c.told[key] = true
	return !before
}

// once sends a request and reads its answer.
func (c *Client) once(ctx context.Context, body *request, r *reader) error {
	raw, err := wire.Encode(body)
	if err != nil {
		return c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	beta := ""
	if body.Thinking != nil && body.Thinking.Binding != nil {
		beta = bindingBeta
	}
	resp, err := c.send(watch, http.MethodPost, "/messages", raw, beta)
	if err != nil {
		return c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	events := wire.NewEvents(c.who, watch.Reader(resp.Body), c.opts.Comments)
	for lingers := false; !r.ended; {
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
func (c *Client) send(watch *wire.Watch, method, path string, body []byte, beta string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(watch.Context(), method, c.opts.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, c.who.E(core.Invalid, "the address of %s is not a URL", c.opts.Provider)
	}
	req.Header.Set("Anthropic-Version", version)
	if beta != "" {
		req.Header.Set("Anthropic-Beta", beta)
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
