package gemini

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts   protocol.Options
	quirks Quirks
	who    wire.Who
	calls  wire.Caller
	left   wire.RefusalMemory[refused] // what was refused of a model's requests
}

var _ protocol.Server = (*Client)(nil)

// New returns a client.
func New(opts protocol.Options, quirks Quirks) *Client {
	calls := wire.NewCaller(opts)
	return &Client{opts: opts, quirks: quirks, who: calls.Who, calls: calls}
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
	out = wire.TextCalls{Items: true}.Read(req, out)
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
	path := operation(model, "streamGenerateContent") + "?alt=sse"
	if c.quirks.Whole {
		path = operation(model, "generateContent")
	}
	return c.calls.Stream(ctx, path, nil, body, r)
}
