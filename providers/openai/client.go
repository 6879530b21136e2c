package openai

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
)

// Options says whom to ask and how.
type Options struct {
	Provider string // the catalogue row's name
	BaseURL  string
	Key      core.Secret
	KeyVar   string // the variable that holds it, for hints
	Headers  map[string]string
	Quirks   Quirks
	HTTP     http.RoundTripper // required
	Idle     time.Duration     // how long the server may be silent; 0: five minutes
}

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts      Options
	who       wire.Who
	api       *openai.Client
	noSummary atomic.Bool // the account may not ask for summaries
}

var _ core.ChatModel = (*Client)(nil)

// New returns a client.
func New(opts Options) *Client {
	config := openai.DefaultConfig(opts.Key.Reveal())
	config.BaseURL = opts.BaseURL
	config.EmptyMessagesLimit = math.MaxUint32 // comments are stripped before go-openai counts them; never give up for them
	config.HTTPClient = &http.Client{Transport: transport{opts.HTTP}, CheckRedirect: wire.NoRedirect}
	return &Client{
		opts: opts,
		who:  wire.Who{Provider: opts.Provider, Endpoint: opts.BaseURL, Key: opts.Key, KeyVar: opts.KeyVar},
		api:  openai.NewClientWithConfig(config),
	}
}

// turn is one request and the reading of its answer.
type turn interface {
	// open sends the request.
	open(ctx context.Context) (stream, error)
	// event reads one event and hands out what is new; done says that the answer is complete.
	event(data []byte, out func(core.Delta) bool) (done bool, err error)
	// end returns the last delta, after the stream's end.
	end(out func(core.Delta) bool) (core.Delta, error)
}

// stream is what go-openai's readers have in common.
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
		err := c.ask(ctx, req, out)
		if err != nil && !sent && c.dropSummary(req, err) {
			err = c.ask(ctx, req, out)
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(core.Delta{}, err)
		}
	}
}

func (c *Client) ask(ctx context.Context, req core.ChatRequest, out func(core.Delta) bool) error {
	var t turn
	x := &exchange{who: c.who, headers: c.opts.Headers, whole: c.opts.Quirks.Whole}
	if c.opts.Quirks.wire(req.Model) == Responses {
		t = newResponsesTurn(c, req, x)
	} else {
		t = newChatTurn(c, req, x)
	}
	x.watch = wire.NewWatch(context.WithValue(ctx, exchangeKey{}, x), c.opts.Idle)
	defer x.watch.Stop()
	s, err := t.open(x.watch.Context())
	if err != nil {
		return c.who.Network(ctx, x.watch, err)
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

func (c *Client) read(ctx context.Context, x *exchange, s stream, t turn, out func(core.Delta) bool) (core.Delta, error) {
	for done := false; ; {
		data, err := s.RecvRaw()
		if errors.Is(err, io.EOF) || err != nil && done && ctx.Err() == nil {
			return t.end(out)
		}
		if err != nil {
			return core.Delta{}, c.who.Network(ctx, x.watch, err)
		}
		if done, err = t.event(data, out); err != nil {
			return core.Delta{}, err
		}
	}
}
