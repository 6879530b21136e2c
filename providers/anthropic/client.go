package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// version is the wire's own, and binding the beta in which a request says what to do with thinking that doesn't fit its past.
const (
	version     = "2023-06-01"
	bindingBeta = "thinking-binding-controls-2026-08-01"
)

// mostPauses limits how often a model may pause in one answer.
const mostPauses = 10

// noticeThoughts is the kind of notice that says what was left out of the thinking that was sent back.
const noticeThoughts = "thoughts"

// Client asks one server with one key. It is safe for concurrent use.
type Client struct {
	opts   protocol.Options
	quirks Quirks
	who    wire.Who
	calls  wire.Caller

	left wire.RefusalMemory[refused] // what was refused of a model's requests

	mu   sync.Mutex
	told map[string]bool // conversations whose person knows that thinking was left out
}

var _ protocol.Server = (*Client)(nil)

// New returns a client.
func New(opts protocol.Options, quirks Quirks) *Client {
	calls := wire.NewCaller(opts)
	return &Client{opts: opts, quirks: quirks, who: calls.Who, calls: calls, told: map[string]bool{}}
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
	out = wire.TextCalls{Items: true}.Read(b.req, out)
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
	header := inVersion()
	if body.Thinking != nil && body.Thinking.Binding != nil {
		header["Anthropic-Beta"] = []string{bindingBeta}
	}
	return c.calls.Stream(ctx, "/messages", header, body, r)
}

// inVersion are the headers that every request has.
func inVersion() http.Header { return http.Header{"Anthropic-Version": {version}} }
