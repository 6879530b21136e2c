package gemini

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// request is the body of a request. Its bytes depend only on what it is made from.
type request struct {
	System   *content    `json:"systemInstruction,omitempty"`
	Tools    []toolset   `json:"tools,omitempty"`
	Choice   *toolConfig `json:"toolConfig,omitempty"`
	Config   *config     `json:"generationConfig,omitempty"`
	Contents []content   `json:"contents"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is a part of a content: one of ours, or one that goes back exactly as it came.
type part struct {
	Text      *string           `json:"text,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Inline    *blob             `json:"inlineData,omitempty"`
	verbatim  json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (p part) MarshalJSON() ([]byte, error) {
	if p.verbatim != nil {
		return p.verbatim, nil
	}
	type plain part
	return wire.Encode(plain(p))
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []responsePart    `json:"parts,omitempty"`
}

type responsePart struct {
	Inline *blob `json:"inlineData"`
}

type blob struct {
	Type string `json:"mimeType"`
	Data []byte `json:"data"` // base64
}

func imageOf(p *core.Picture) *blob { return &blob{Type: p.Type, Data: p.Data} }

type toolset struct {
	Functions []function `json:"functionDeclarations"`
}

type toolConfig struct {
	Calling calling `json:"functionCallingConfig"`
}

type calling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type config struct {
	Temperature *float64  `json:"temperature,omitempty"`
	MaxOutput   int       `json:"maxOutputTokens,omitempty"`
	MIME        string    `json:"responseMimeType,omitempty"`
	Schema      any       `json:"responseJsonSchema,omitempty"`
	Thinking    *thinking `json:"thinkingConfig,omitempty"`
}

// thinking has a level or a budget, never both.
type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
}

// builder makes the body of a request.
type builder struct {
	req  core.ChatRequest
	can  abilities
	left wire.Refusals[refused]
	open []openCall // of the turn before
}

// openCall is a call as it was sent, which the next content answers.
type openCall struct{ id, name, callID string }

func (b *builder) build() *request {
	b.req.Messages = wire.UniqueCalls(b.req.Messages, true)
	out := &request{}
	b.choose(out)
	if !b.structures() {
		b.req = wire.Worded(b.req)
	}
	b.configure(out)
	system := b.req.System
	if strings.TrimSpace(system) != "" && b.left.Has(refusedSystem) {
		out.Contents = append(out.Contents, content{Role: "user", Parts: []part{textPart(core.Reminder(system))}})
	} else if strings.TrimSpace(system) != "" {
		out.System = &content{Parts: []part{textPart(system)}}
	}
	out.Contents = append(out.Contents, b.contents()...)
	var set toolset
	for _, t := range b.req.Tools {
		set.Functions = append(set.Functions, functionOf(t))
	}
	if len(set.Functions) > 0 {
		out.Tools = []toolset{set}
	}
	return out
}

// choose says whether and which tools are to be called: in words where the model may not be forced. The wire has no word
// against several calls at once.
func (b *builder) choose(out *request) {
	mode := b.req.Choice.Mode
	switch {
	case len(b.req.Tools) == 0, mode == core.ChoiceAuto:
	case b.left.Has(refusedChoice):
		b.req = wire.Unforced(b.req)
	case mode == core.ChoiceNone:
		out.Choice = &toolConfig{calling{Mode: "NONE"}}
	case mode == core.ChoiceNamed:
		out.Choice = &toolConfig{calling{Mode: "ANY", Allowed: []string{b.req.Choice.Name}}}
	default:
		out.Choice = &toolConfig{calling{Mode: "ANY"}}
	}
}

func (b *builder) configure(out *request) {
	c := config{Thinking: b.think()}
	if t := b.req.Settings.Temperature; t != nil {
		c.Temperature = t
	}
	n, t := b.req.Settings.MaxOutputTokens, c.Thinking
	budgeted := t != nil && t.Budget != nil
	if n > 0 && budgeted { // the limit includes what it thinks
		n += *t.Budget
	}
	if most := b.req.Most; most > 0 && (n == 0 || n > most) {
		n = most
		if budgeted {
			*t.Budget = min(*t.Budget, max(most/2, b.can.LeastBudget))
		}
	}
	if n > 0 {
		if most := b.req.Info.MaxOutput; most > 0 {
			n = min(n, most)
		}
		if most := b.left.Limit; most > 0 {
			n = min(n, most)
		}
		c.MaxOutput = n
	}
	if f := wire.FormatOf(&b.req); f.Kind != core.AnswerText {
		c.MIME = "application/json"
		if f.Schema != nil {
			c.Schema = answerSchema(f.Schema)
		}
	}
	if c != (config{}) {
		out.Config = &c
	}
}

// structures reports whether the model takes the form of an answer as a parameter.
func (b *builder) structures() bool {
	return (b.can.Structures || len(b.req.Tools) == 0) && !b.left.Has(refusedSchema)
}

// think decides how the model thinks. Without a wanted effort it does what it does by itself; its thoughts are asked for.
func (b *builder) think() *thinking {
	if !b.can.Thinks || b.left.Has(refusedThinking) {
		return nil
	}
	out := &thinking{Include: true}
	effort := b.req.Settings.ReasoningEffort
	if effort == "" || b.left.Has(refusedEffort) {
		return out
	}
	if b.can.MostBudget > 0 {
		n := b.can.budget(effort)
		out.Budget, out.Include = &n, n > 0
	} else {
		out.Level = b.can.level(effort)
	}
	return out
}

// blank stands for a text of nothing but white space, which is refused.
const blank = "(blank)"

func textPart(text string) part {
	if strings.TrimSpace(text) == "" {
		text = blank
	}
	return part{Text: &text}
}

// contents makes the contents. A turn goes out as it came in, if it may.
func (b *builder) contents() []content {
	var out []content
	if len(b.req.Messages) == 0 || b.req.Messages[0].Role == core.ChatAssistant || b.req.Messages[0].Role == core.ChatTool {
		out = append(out, content{Role: "user", Parts: []part{textPart(core.Reminder("The conversation goes on."))}})
	}
	for i := range b.req.Messages {
		m := &b.req.Messages[i]
		switch m.Role {
		case core.ChatUser:
			out = append(out, said(m))
		case core.ChatReminder:
			out = append(out, content{Role: "user", Parts: []part{textPart(core.Reminder(m.Text))}})
		case core.ChatAssistant:
			parts := b.replayed(m)
			if len(parts) == 0 {
				parts = b.plainTurn(m)
			}
			out = append(out, content{Role: "model", Parts: parts})
		case core.ChatTool:
			out = append(out, b.responses(m)...)
		}
	}
	return out
}

// said is what a user says, with the pictures in their places.
func said(m *core.ChatMessage) content {
	out := content{Role: "user"}
	for _, piece := range m.Pieces() {
		if piece.Picture != nil {
			out.Parts = append(out.Parts, part{Inline: imageOf(piece.Picture)})
		} else if strings.TrimSpace(piece.Text) != "" {
			out.Parts = append(out.Parts, textPart(piece.Text))
		}
	}
	if len(out.Parts) == 0 {
		out.Parts = []part{textPart(m.Text)}
	}
	return out
}

// plainTurn is a turn in the normalised form.
func (b *builder) plainTurn(m *core.ChatMessage) []part {
	var parts []part
	if strings.TrimSpace(m.Text) != "" || len(m.Calls) == 0 {
		parts = append(parts, textPart(m.Text))
	}
	b.open = nil
	for i, c := range m.Calls {
		args := json.RawMessage(c.Arguments)
		var object map[string]json.RawMessage
		if json.Unmarshal(args, &object) != nil || object == nil {
			args = json.RawMessage("{}")
		}
		p := part{Call: &functionCall{ID: c.ID, Name: c.Name, Args: args}}
		if i == 0 && b.can.Signs {
			p.Signature = foreignSignature
		}
		parts = append(parts, p)
		b.open = append(b.open, openCall{id: c.ID, name: c.Name, callID: c.ID})
	}
	return parts
}

// responses answers each call of the turn before, in order and in one content. What images a model can't take in them
// follows in a content of its own.
func (b *builder) responses(m *core.ChatMessage) []content {
	out := content{Role: "user"}
	for i, call := range b.open {
		r := core.ChatReturn{Text: "There is no return.", IsError: true}
		for j := range m.Returns {
			if m.Returns[j].CallID == call.callID || j == i && m.Returns[j].CallID == "" {
				r = m.Returns[j]
				break
			}
		}
		response := &functionResponse{ID: call.id, Name: call.name, Response: map[string]string{"output": r.Text}}
		if r.IsError {
			response.Response = map[string]string{"error": r.Text}
		}
		for k := range r.Pictures {
			if b.can.Shows {
				response.Parts = append(response.Parts, responsePart{imageOf(&r.Pictures[k])})
			}
		}
		out.Parts = append(out.Parts, part{Response: response})
	}
	b.open = nil
	if len(out.Parts) == 0 {
		return nil
	}
	if shown, any := wire.Returned(m); any && !b.can.Shows {
		return []content{out, said(&shown)}
	}
	return []content{out}
}
