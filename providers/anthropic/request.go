package anthropic

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"loci/core"
	"loci/providers/internal/wire"
)

// request is the body of a request. Its bytes depend only on what it is made from.
type request struct {
	Model       string    `json:"model"`
	MaxTokens   int       `json:"max_tokens"`
	System      []block   `json:"system,omitempty"`
	Tools       []tool    `json:"tools,omitempty"`
	Choice      *choice   `json:"tool_choice,omitempty"`
	Thinking    *thinking `json:"thinking,omitempty"`
	Output      *output   `json:"output_config,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	Stream      bool      `json:"stream,omitempty"`
	Messages    []message `json:"messages"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a block of content: one of ours, or one that goes back exactly as it came.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	Source    *source         `json:"source,omitempty"` // of an image
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *mark           `json:"cache_control,omitempty"`
	verbatim  json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (b block) MarshalJSON() ([]byte, error) {
	if b.verbatim != nil {
		return b.verbatim, nil
	}
	type plain block
	return wire.Encode(plain(b))
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64
}

func imageBlock(p *core.Picture) block {
	return block{Type: "image", Source: &source{Type: "base64", MediaType: p.Type, Data: p.Data}}
}

// said is what a user says, with the pictures in their places.
func said(m *core.ChatMessage) []block {
	if len(m.Pictures) == 0 {
		return []block{textBlock(m.Text)}
	}
	var out []block
	for _, piece := range m.Pieces() {
		if piece.Picture != nil {
			out = append(out, imageBlock(piece.Picture))
		} else if strings.TrimSpace(piece.Text) != "" {
			out = append(out, textBlock(piece.Text))
		}
	}
	return out
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *mark           `json:"cache_control,omitempty"`
}

type choice struct {
	Type            string `json:"type"`
	Name            string `json:"name,omitempty"`
	DisableParallel bool   `json:"disable_parallel_tool_use,omitempty"`
}

type thinking struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

type output struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string `json:"type"`
	Schema any    `json:"schema"`
}

// builder makes the body of a request.
type builder struct {
	quirks Quirks
	req    core.ChatRequest
	can    abilities
	left   wire.Refusals[refused]
	// worded says that a call is asked for in words. They stand at the end of this request alone, so thinking that follows
	// them isn't valid in a later one.
	worded bool
}

func (b *builder) build() *request {
	b.req.Messages = wire.UniqueCalls(b.req.Messages, true)
	out := &request{Model: b.req.Model, Stream: !b.quirks.Whole}
	b.think(out)
	b.choose(out)
	b.form(out)
	out.Messages = b.messages(out.Thinking)
	if strings.TrimSpace(b.req.System) != "" {
		out.System = []block{{Type: "text", Text: b.req.System}}
	}
	for _, t := range b.req.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, Schema: schema(t.Parameters)})
	}
	if t := b.req.Settings.Temperature; t != nil && b.can.Sampling && !b.left.Has(refusedSampling) && out.Thinking == nil {
		warm := min(*t, 1)
		out.Temperature = &warm
	}
	b.limit(out)
	if !b.quirks.Plain && !b.left.Has(refusedMarks) {
		b.mark(out)
	}
	return out
}

// think decides how the model thinks. Without a wanted effort it does what it does by itself; where it thinks by itself its
// thoughts are asked for, and that thinking which no longer fits its past is left out instead of the request refused.
func (b *builder) think(out *request) {
	effort := b.req.Settings.ReasoningEffort
	if b.left.Has(refusedThinking) {
		return
	}
	if effort != "" && !b.left.Has(refusedEffort) {
		if e := b.can.effort(effort); e != "" && (effort != "none" || !b.can.Off) {
			out.Output = &output{Effort: e}
		}
	}
	switch {
	case effort == "" && !b.can.Always, !b.can.thinks():
	case effort == "none" && b.can.Off:
		if b.can.Always || b.can.Foreign {
			out.Thinking = &thinking{Type: "disabled"}
		}
	case effort == "none" && b.can.Between:
		out.Thinking = &thinking{Type: "between_tools"}
	case b.can.Adaptive:
		out.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
	case b.forces(), !b.begunThinking(): // neither goes together with a budget
	default:
		out.Thinking = &thinking{Type: "enabled", Budget: max(budgets[effort], leastBudget)}
	}
	if t := out.Thinking; t != nil && t.Display != "" && b.can.Binds && !b.left.Has(refusedBinding) {
		t.Binding = &binding{Mismatch: "drop_block"}
	}
}

// forces reports whether a call is forced by the request's own field.
func (b *builder) forces() bool {
	mode := b.req.Choice.Mode
	return len(b.req.Tools) > 0 && (mode == core.ChoiceRequired || mode == core.ChoiceNamed) && b.can.Forced && !b.left.Has(refusedChoice)
}

// begunThinking reports whether a tool loop that is going on began with thinking, as a budget demands. One goes on as long as
// returns are what follows the last answer, whatever else a person has said since.
func (b *builder) begunThinking() bool {
	for i, m := range slices.Backward(b.req.Messages) {
		if m.Role != core.ChatAssistant {
			continue
		}
		if i+1 == len(b.req.Messages) || b.req.Messages[i+1].Role != core.ChatTool {
			return true
		}
		blocks := replayed(m)
		return len(blocks) > 0 && isThought(blocks[0].Type)
	}
	return true
}

// choose says whether and which tools are to be called: in words where the model may not be forced.
func (b *builder) choose(out *request) {
	mode := b.req.Choice.Mode
	switch {
	case len(b.req.Tools) == 0:
		return
	case b.forces() && mode == core.ChoiceNamed:
		out.Choice = &choice{Type: "tool", Name: b.req.Choice.Name}
	case b.forces():
		out.Choice = &choice{Type: "any"}
	case mode == core.ChoiceNone && !b.left.Has(refusedChoice):
		out.Choice = &choice{Type: "none"}
		return
	case mode != core.ChoiceAuto:
		b.worded = mode != core.ChoiceNone
		b.req = wire.Unforced(b.req)
	}
	if !b.req.Parallel && len(b.req.Tools) > 0 {
		if out.Choice == nil {
			out.Choice = &choice{Type: "auto"}
		}
		out.Choice.DisableParallel = true
	}
}

// limit sets the limit of the answer, which includes what the model thinks and which the wire demands.
func (b *builder) limit(out *request) {
	most := b.req.Info.MaxOutput
	if most <= 0 {
		most = b.can.Output
	}
	if n := b.left.Limit; n > 0 {
		most = min(most, n)
	}
	if n := b.req.Most; n > 0 {
		most = min(most, n)
	}
	limit := most
	if n := b.req.Settings.MaxOutputTokens; n > 0 {
		limit = n
		if t := out.Thinking; t != nil && t.Budget > 0 {
			limit += t.Budget
		}
	} else if b.req.Window > 0 { // what is asked for must still fit beside a conversation that nearly fills the window
		limit = min(limit, max(b.req.Window/4, leastBudget*2))
	}
	out.MaxTokens = max(min(limit, most), 1)
	if t := out.Thinking; t != nil && t.Budget > 0 {
		t.Budget = min(t.Budget, out.MaxTokens/2)
		if t.Budget < leastBudget { // no room to think in
			out.Thinking = nil
		}
	}
}

// form asks for the form of the answer: in words where the model doesn't take the schema. An object of any kind has no parameter.
func (b *builder) form(out *request) {
	f := wire.FormatOf(&b.req)
	if f.Kind == core.AnswerText {
		return
	}
	schema, ok := wire.Closed(f.Schema)
	if !ok || b.can.Foreign || b.left.Has(refusedFormat) {
		b.req, b.worded = wire.Worded(b.req), true
		return
	}
	if out.Output == nil {
		out.Output = &output{}
	}
	out.Output.Format = &format{Type: "json_schema", Schema: schema}
}

// schema returns a tool's schema, which must be one of an object.
func schema(raw json.RawMessage) json.RawMessage {
	var of struct {
		Type any `json:"type"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &of) != nil || of.Type != "object" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return raw
}

// blank stands for a text of nothing but white space, which is refused.
const blank = "(blank)"

func textBlock(text string) block {
	if strings.TrimSpace(text) == "" {
		text = blank
	}
	return block{Type: "text", Text: text}
}

// messages makes the messages. A turn goes out as it came in, if it may; its thinking only where the model thinks.
func (b *builder) messages(think *thinking) []message {
	var out []message
	if len(b.req.Messages) == 0 || b.req.Messages[0].Role == core.ChatAssistant || b.req.Messages[0].Role == core.ChatTool {
		out = append(out, message{Role: "user", Content: []block{textBlock(core.Reminder("The conversation goes on."))}})
	}
	off := think != nil && think.Type == "disabled" || think == nil && !b.can.Always && !b.can.Foreign
	for _, m := range b.req.Messages {
		switch m.Role {
		case core.ChatUser:
			out = append(out, message{Role: "user", Content: said(&m)})
		case core.ChatReminder:
			out = append(out, message{Role: "user", Content: []block{textBlock(core.Reminder(m.Text))}})
		case core.ChatAssistant:
			blocks := replayed(m)
			if off {
				blocks = slices.DeleteFunc(blocks, func(b block) bool { return isThought(b.Type) })
			}
			if len(blocks) == 0 {
				blocks = plainTurn(m)
			}
			out = append(out, message{Role: "assistant", Content: blocks})
		case core.ChatTool:
			msg := message{Role: "user"}
			for _, r := range m.Returns {
				result := block{Type: "tool_result", ToolUseID: safeID(r.CallID), IsError: r.IsError}
				if strings.TrimSpace(r.Text) != "" {
					result.Content = []block{{Type: "text", Text: r.Text}}
				}
				for i := range r.Pictures {
					result.Content = append(result.Content, imageBlock(&r.Pictures[i]))
				}
				msg.Content = append(msg.Content, result)
			}
			out = append(out, msg)
		}
	}
	return out
}

// plainTurn is a turn in the normalised form.
func plainTurn(m core.ChatMessage) []block {
	var blocks []block
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		blocks = append(blocks, textBlock(m.Text))
	}
	for _, c := range m.Calls {
		input := json.RawMessage(c.Arguments)
		var object map[string]json.RawMessage
		if json.Unmarshal(input, &object) != nil || object == nil {
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, block{Type: "tool_use", ID: safeID(c.ID), Name: c.Name, Input: input})
	}
	return blocks
}

var legalID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`) })

// safeID returns an id that the wire accepts: that of a call from elsewhere may hold other characters.
func safeID(id string) string {
	if legalID().MatchString(id) {
		return id
	}
	return "call_" + wire.ShortID(id, 24)
}
