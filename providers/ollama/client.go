package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"loci/core"
	"loci/providers/internal/textcalls"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// Client asks one server. It is safe for concurrent use.
type Client struct {
	opts  protocol.Options
	who   wire.Who
	calls wire.Caller
	keep  time.Duration // see Protocol.KeepAlive
	left  wire.RefusalMemory[refused]
}

// refused is a part of a request that some servers do not take, and that can be left out.
type refused string

const refusedFormat refused = "format"

// formRefused reports whether an error complains of the form that the answer was to have: old servers have no schemas, and to some
// this one has no grammar.
func formRefused(err error, req *core.ChatRequest) bool {
	return err != nil && core.KindOf(err) == core.Invalid && wire.FormatOf(req).Kind != core.AnswerText &&
		wire.Says(strings.ToLower(err.Error()), "format", "grammar", "schema")
}

var (
	_ protocol.Server   = (*Client)(nil)
	_ protocol.Embedder = (*Client)(nil)
	_ protocol.Prober   = (*Client)(nil)
)

// New returns a client.
func New(opts protocol.Options) *Client {
	c := &Client{opts: opts, calls: wire.NewCaller(opts)}
	c.who, c.calls.Refused = c.calls.Who, c.refused
	return c
}

// errBreak says that the consumer of the sequence has left.
var errBreak = errors.New("the consumer left")

// Stream implements core.ChatModel.
func (c *Client) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		sent := false
		out := func(d core.Delta) bool { sent = true; return yield(d, nil) }
		left := c.left.Of(req.Model)
		err := c.ask(ctx, req, left, out)
		if !sent && formRefused(err, &req) && c.left.Learn(req.Model, left, refusedFormat, 0) {
			err = c.ask(ctx, req, c.left.Of(req.Model), out)
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(core.Delta{}, err)
		}
	}
}

func (c *Client) ask(ctx context.Context, req core.ChatRequest, left wire.Refusals[refused], out func(core.Delta) bool) error {
	body, err := wire.Encode(c.chatRequest(wire.Unforced(req), left)) // the server ignores which tool is to be called
	if err != nil {
		return c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	resp, err := c.calls.Send(watch, http.MethodPost, "/api/chat", nil, body)
	if err != nil {
		return c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	r := newReader(c.who, req, wire.TextCalls{Default: textcalls.Hermes}.Read(req, out))
	lines := wire.NewLines(watch.Reader(resp.Body))
	for !r.done {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return c.who.Cut()
		}
		if err != nil {
			return c.who.Network(ctx, watch, err)
		}
		if err := r.line(line); err != nil {
			return err
		}
	}
	return r.end()
}

// refused classifies a failure status. Ollama answers 500 to options of the wrong type, which retrying won't fix.
func (c *Client) refused(status int, header http.Header, body []byte) *core.Error {
	e := c.who.Status(status, header, body)
	switch {
	case status == http.StatusInternalServerError && e.Kind == core.Unavailable &&
		wire.Says(string(body), "option", "invalid format", "required for format"):
		e.Kind = core.Invalid
	case status == http.StatusForbidden:
		e.Kind, e.Hint = core.Invalid, "Ollama refuses the address it is asked under; set OLLAMA_HOST to the one it listens on"
	case status == http.StatusNotFound && strings.Contains(string(body), "not found"):
		e.Hint = "download it with `loci models pull NAME`, or see `loci models`"
	}
	return e
}

// native is what is kept of an assistant turn besides the normalised form.
type native struct {
	Thinking string `json:"thinking"`
}

// chatRequest makes the wire form. Its bytes depend only on the request.
func (c *Client) chatRequest(req core.ChatRequest, left wire.Refusals[refused]) *api.ChatRequest {
	stream, no := true, false
	if left.Has(refusedFormat) || len(req.Tools) > 0 && req.Choice.Mode != core.ChoiceNone {
		req = wire.Worded(req) // the server would force each answer into the form, so that no tool could be called
	}
	out := &api.ChatRequest{
		Model:    req.Model,
		Stream:   &stream,
		Truncate: &no,
		Shift:    &no,
		Messages: messages(req),
		Options:  map[string]any{},
	}
	for _, tool := range req.Tools {
		if req.Choice.Mode != core.ChoiceNone {
			out.Tools = append(out.Tools, toolOf(tool))
		}
	}
	s := req.Settings
	if req.Window > 0 {
		out.Options["num_ctx"] = req.Window
	}
	if s.MaxOutputTokens > 0 {
		out.Options["num_predict"] = s.MaxOutputTokens
	}
	if s.Temperature != nil {
		out.Options["temperature"] = *s.Temperature
	}
	out.Think = think(req.Model, s.ReasoningEffort)
	out.Format = format(wire.FormatOf(&req))
	if c.keep != 0 {
		out.KeepAlive = &api.Duration{Duration: c.keep}
	}
	return out
}

// think turns an effort into Ollama's switch. If unset, a thinking model keeps thinking. Only gpt-oss understands
// levels, and asking a model to think that can't is refused, so the others are sent nothing but "off".
func think(model, effort string) *api.ThinkValue {
	if effort == "" {
		return nil
	}
	if !strings.Contains(model, "gpt-oss") {
		if effort == "none" {
			return &api.ThinkValue{Value: false}
		}
		return nil
	}
	switch effort {
	case "none", "minimal", "low":
		return &api.ThinkValue{Value: "low"}
	case "medium":
		return &api.ThinkValue{Value: "medium"}
	}
	return &api.ThinkValue{Value: "high"}
}

// format is the form of an answer in Ollama's words: a schema, or "json".
func format(f core.AnswerFormat) json.RawMessage {
	switch {
	case f.Kind == core.AnswerText:
		return nil
	case f.Schema != nil:
		if raw, err := wire.Encode(f.Schema); err == nil {
			return raw
		}
	}
	return json.RawMessage(`"json"`)
}

func messages(req core.ChatRequest) []api.Message {
	var out []api.Message
	if req.System != "" {
		out = append(out, api.Message{Role: "system", Content: req.System})
	}
	for _, m := range wire.UniqueCalls(req.Messages, false) {
		switch m.Role {
		case core.ChatUser:
			out = append(out, user(&m))
		case core.ChatReminder:
			out = append(out, api.Message{Role: "user", Content: core.Reminder(m.Text)})
		case core.ChatAssistant:
			out = append(out, assistant(m))
		case core.ChatTool:
			for _, r := range m.Returns {
				out = append(out, api.Message{Role: "tool", Content: r.Text, ToolName: r.Name, ToolCallID: r.CallID})
			}
			if shown, ok := wire.Returned(&m); ok {
				out = append(out, user(&shown))
			}
		}
	}
	return out
}

func user(m *core.ChatMessage) api.Message {
	out := api.Message{Role: "user", Content: m.Text}
	for _, p := range m.Pictures {
		out.Images = append(out.Images, p.Data)
	}
	return out
}

func assistant(m core.ChatMessage) api.Message {
	out := api.Message{Role: "assistant", Content: m.Text}
	if m.Native != nil && len(m.Calls) > 0 {
		var n native
		if json.Unmarshal(m.Native.Data, &n) == nil {
			out.Thinking = n.Thinking
		}
	}
	for i, call := range m.Calls {
		args := api.NewToolCallFunctionArguments()
		if json.Unmarshal([]byte(call.Arguments), &args) != nil { // Ollama refuses text here: wrap it in an object, so it stays readable
			args = api.NewToolCallFunctionArguments()
			if call.Arguments != "" {
				args.Set("invalid_arguments", call.Arguments)
			}
		}
		out.ToolCalls = append(
			out.ToolCalls,
			api.ToolCall{ID: call.ID, Function: api.ToolCallFunction{Index: i, Name: call.Name, Arguments: args}},
		)
	}
	return out
}
