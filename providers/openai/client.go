package openai

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// How long a finished answer waits for the end of its stream.
const (
	lingerUsage = 10 * time.Second // if the usage may still arrive
	lingerEnd   = 2 * time.Second
)

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts   protocol.Options
	quirks Quirks
	who    wire.Who
	api    *openai.Client

	mu   sync.Mutex
	left map[string]map[wire.Refusal]time.Time // what was refused of a model's requests, and when
	open map[string]bool                       // models whose thoughts arrive without their opening mark
}

var (
	_ protocol.Server   = (*Client)(nil)
	_ protocol.Embedder = (*Client)(nil)
)

// New returns a client.
func New(opts protocol.Options, quirks Quirks) *Client {
	config := openai.DefaultConfig("") // the transport signs
	config.BaseURL = opts.BaseURL
	config.EmptyMessagesLimit = math.MaxUint32 // we strip comments before go-openai counts them, so it must never give up
	config.HTTPClient = &http.Client{Transport: transport{opts.HTTP}, CheckRedirect: wire.NoRedirect}
	if opts.Comments <= 0 {
		opts.Comments = wire.DefaultComments
	}
	return &Client{
		opts: opts, quirks: quirks, left: map[string]map[wire.Refusal]time.Time{}, open: map[string]bool{},
		who: wire.Who{Provider: opts.Provider, Endpoint: opts.BaseURL, Secrets: opts.Values.Secrets(), KeyVar: opts.KeyVar},
		api: openai.NewClientWithConfig(config),
	}
}

// roundTrip is one request and the reading of its answer.
type roundTrip interface {
	// open sends the request.
	open(ctx context.Context) (stream, error)
	// event reads one event and yields what is new; done says that the answer is complete.
	event(data []byte, out func(core.Delta) bool) (done bool, err error)
	// settled reports whether a complete answer also has its usage.
	settled() bool
	// end returns the last delta after the stream has ended.
	end(out func(core.Delta) bool) (core.Delta, error)
}

// stream is the common part of go-openai's readers.
type stream interface {
	RecvRaw() ([]byte, error)
	Close() error
}

// errBreak says that the consumer of the sequence has left.
var errBreak = errors.New("the consumer left")

// Stream implements core.ChatModel.
func (c *Client) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		sent := false
		out := func(d core.Delta) bool { sent = true; return yield(d, nil) }
		left := c.leftOut(req.Model)
		err := c.ask(ctx, req, left, out)
		for err != nil && !sent && c.leaveOut(req, wire.Refused(err), left) {
			left = c.leftOut(req.Model)
			err = c.ask(ctx, req, left, out)
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(core.Delta{}, err)
		}
	}
}

// leaveOut remembers that a part of the request was refused, and reports whether a retry without it may help: whether
// this wire has such a part, and the request that failed still had it. Another request may have learned it meanwhile.
func (c *Client) leaveOut(req core.ChatRequest, part wire.Refusal, left map[wire.Refusal]bool) bool {
	responses := c.quirks.wire(req.Family()) == Responses
	switch {
	case left[part]:
		return false
	case part == wire.RefusedChoice && (len(req.Tools) == 0 || req.Choice.Mode == core.ChoiceAuto),
		part == wire.RefusedFormat && wire.FormatOf(&req).Kind == core.AnswerText,
		part == wire.RefusedSummary && !responses,
		(part == wire.RefusedUsage || part == wire.RefusedSystem) && responses,
		part == wire.RefusedTools, part == "":
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left[req.Model] == nil {
		c.left[req.Model] = map[wire.Refusal]time.Time{}
	}
	c.left[req.Model][part] = time.Now()
	return true
}

// leftOut returns what to leave out of a model's requests.
func (c *Client) leftOut(model string) map[wire.Refusal]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[wire.Refusal]bool{}
	for part, at := range c.left[model] {
		if time.Since(at) < wire.RefusalFresh {
			out[part] = true
		}
	}
	return out
}

func (c *Client) swallows(model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[model] = true
}

func (c *Client) swallowing(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[model]
}

func (c *Client) ask(ctx context.Context, req core.ChatRequest, left map[wire.Refusal]bool, out func(core.Delta) bool) error {
	var t roundTrip
	x := &exchange{who: c.who, whole: c.quirks.Whole, alive: wire.KeepAlives{Most: c.opts.Comments}}
	on := c.quirks.wire(req.Family())
	forced := req.Choice.Mode == core.ChoiceRequired || req.Choice.Mode == core.ChoiceNamed
	if left[wire.RefusedChoice] || forced && c.quirks.Force == ForceNot {
		req = wire.Unforced(req)
	}
	req.Messages = wire.UniqueCalls(req.Messages, on == Responses)
	out = wire.TextCalls{Items: on == Responses}.Read(req, out)
	req = c.formed(req, left)
	if on == Responses {
		t = newResponsesTurn(c, req, x, left)
	} else {
		t = newChatTurn(c, req, x, left)
	}
	x.watch = wire.NewWatch(context.WithValue(ctx, exchangeKey{}, x), c.opts.Idle)
	defer x.watch.Stop()
	s, err := t.open(x.watch.Context())
	if err != nil {
		return c.withoutChat(ctx, x.status, c.who.Network(ctx, x.watch, err))
	}
	defer s.Close()
	last, err := c.read(ctx, x, s, t, out)
	if err != nil {
		return err
	}
	if !out(last) {
		return errBreak
	}
	return nil
}

// formed asks for the form of the answer in words where the server refused it as a parameter, or would leave no room for calls.
func (c *Client) formed(req core.ChatRequest, left map[wire.Refusal]bool) core.ChatRequest {
	callable := len(req.Tools) > 0 && req.Choice.Mode != core.ChoiceNone
	switch kind := wire.FormatOf(&req).Kind; {
	case kind == core.AnswerText:
		req.Settings.ResponseFormat = nil
		return req
	case left[wire.RefusedFormat], c.quirks.FormBars && callable:
		return wire.Worded(req)
	case kind == core.AnswerObject: // refused where no message speaks of JSON
		return wire.AlsoWorded(req)
	}
	return req
}

func (c *Client) read(ctx context.Context, x *exchange, s stream, t roundTrip, out func(core.Delta) bool) (core.Delta, error) {
	for done, settled := false, false; ; {
		data, err := s.RecvRaw()
		if errors.Is(err, io.EOF) || err != nil && done && ctx.Err() == nil {
			return t.end(out)
		}
		if err != nil {
			return core.Delta{}, c.who.Network(ctx, x.watch, err)
		}
		was := done
		if done, err = t.event(data, out); err != nil {
			return core.Delta{}, err
		}
		switch {
		case done && t.settled() && !settled:
			settled = true
			x.watch.Within(lingerEnd)
		case done && !was && !settled:
			x.watch.Within(lingerUsage)
		}
	}
}
