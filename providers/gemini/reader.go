package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// answer is an answer, or a piece of one, with the fields that we need.
type answer struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish  string `json:"finishReason"`
		Message string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

// arrived is a part of an answer, with the fields that we need.
type arrived struct {
	kept
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// reader reads the pieces of one answer, which may take two requests.
type reader struct {
	who     wire.Who
	out     func(core.Delta) bool
	offered []string
	parts   []*heldPart
	ids     []string // of the calls
	finish  string
	why     string // of a refusal
	blocked string // why the request itself was refused
	before  *core.Usage
	usage   *usage
	said    bool // there was text
	mended  bool // the parts can't be sent back as they came
	whole   bool // it wasn't streamed, and is all there
}

func newReader(who wire.Who, req core.ChatRequest, out func(core.Delta) bool) *reader {
	r := &reader{who: who, out: out}
	for _, t := range req.Tools {
		r.offered = append(r.offered, t.Name)
	}
	return r
}

// begin prepares for the answer of another request.
func (r *reader) begin() {
	r.before = plus(r.before, r.usage.core())
	r.parts, r.finish, r.usage, r.whole, r.mended = nil, "", nil, false, false
}

// Event implements wire.EventReader: it reads one piece. It reports whether that was a piece of the answer.
func (r *reader) Event(in wire.Event) (heard bool, err error) {
	var a answer
	switch {
	case !wire.Decode(in.Data, &a) && bytes.HasPrefix(bytes.TrimSpace(in.Data), []byte("{")): // it is not whole
		return false, r.who.Cut()
	case len(a.Error) > 0 && string(a.Error) != "null", !json.Valid(in.Data):
		return false, r.who.InBand(in.Data)
	}
	if in.Whole && len(a.Candidates) == 0 && a.Feedback.Reason == "" {
		return false, r.who.InBand(in.Data)
	}
	r.whole = in.Whole
	if a.Usage != nil {
		r.usage = a.Usage
	}
	if a.Feedback.Reason != "" {
		r.blocked, r.why = a.Feedback.Reason, a.Feedback.Message
	}
	if len(a.Candidates) == 0 {
		return a.Usage != nil || r.blocked != "", nil
	}
	c := &a.Candidates[0]
	for _, raw := range c.Content.Parts {
		if !r.part(raw) {
			return false, errBreak
		}
	}
	if c.Finish != "" {
		r.finish, r.why = c.Finish, c.Message
	}
	if in.Whole && c.Finish == "" {
		return false, r.who.Cut()
	}
	return true, nil
}

// Complete implements wire.EventReader: the answer is whole: the server gave its reason to stop.
func (r *reader) Complete() bool { return r.finish != "" || r.blocked != "" }

// Ended implements wire.EventReader.
func (r *reader) Ended() bool { return r.whole }

// heldPart is a part as it goes back: exactly as it came, or the joined pieces of a text.
type heldPart struct {
	raw     json.RawMessage
	text    strings.Builder
	thought bool
}

// piece is a part that is text and nothing else.
type piece struct {
	Text    *string `json:"text"`
	Thought bool    `json:"thought"`
}

// part reads a part, which is kept as it came: only the pieces of a text are joined, if none is signed.
func (r *reader) part(raw json.RawMessage) bool {
	var text piece
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&text) == nil && text.Text != nil {
		if n := len(r.parts); n == 0 || r.parts[n-1].raw != nil || r.parts[n-1].thought != text.Thought {
			r.parts = append(r.parts, &heldPart{thought: text.Thought})
		}
		r.parts[len(r.parts)-1].text.WriteString(*text.Text)
		return r.say(text)
	}
	var p arrived
	var compact bytes.Buffer
	if !wire.Decode(raw, &p) || json.Compact(&compact, raw) != nil {
		r.mended = true
		return true
	}
	r.parts = append(r.parts, &heldPart{raw: compact.Bytes()})
	if p.Call != nil {
		return r.call(&p)
	}
	return r.say(piece{Text: p.Text, Thought: p.Thought})
}

// say hands out a piece of text or of a thought.
func (r *reader) say(p piece) bool {
	switch {
	case p.Text == nil || *p.Text == "":
		return true
	case p.Thought:
		return r.out(core.Delta{Reasoning: *p.Text})
	}
	r.said = r.said || strings.TrimSpace(*p.Text) != ""
	return r.out(core.Delta{Text: *p.Text})
}

// native returns what goes back of the answer; nil if that can't be as it came.
func (r *reader) native() json.RawMessage {
	if r.mended || len(r.parts) == 0 {
		return nil
	}
	var turn native
	for _, p := range r.parts {
		raw := p.raw
		if raw == nil {
			fields := map[string]any{"text": p.text.String()}
			if p.thought {
				fields["thought"] = true
			}
			raw, _ = wire.Encode(fields) // a text has a JSON form
		}
		turn.Parts = append(turn.Parts, raw)
	}
	out, _ := wire.Encode(turn) // they came as JSON
	return out
}

// spaceName is how models call the place that all tools are in, and at times write it before a name.
const spaceName = "default_api"

// mostID limits the id of a call, in bytes.
const mostID = 256

func (r *reader) call(p *arrived) bool {
	id, name := p.Call.ID, p.Call.Name
	if rest := strings.TrimLeft(strings.TrimPrefix(name, spaceName), ".:"); slices.Contains(r.offered, rest) {
		name = rest
	}
	name = wire.ToolName(name, r.offered)
	switch {
	case id == "": // models up to 2.5 give none
		id = wire.NewCallID()
	case len(id) > mostID, slices.Contains(r.ids, id):
		id, r.mended = wire.NewCallID(), true
	}
	r.mended = r.mended || name != p.Call.Name
	args := "{}"
	var compact bytes.Buffer
	if s := string(p.Call.Args); s != "" && s != "null" && json.Compact(&compact, p.Call.Args) == nil {
		args = wire.Unquoted(compact.String())
	}
	index := len(r.ids)
	r.ids = append(r.ids, id)
	return r.out(core.Delta{Call: &core.CallDelta{Index: index, ID: id, Name: name, Arguments: args}})
}

// malformed reports whether all that the model had to say is a call that its service could not read.
func (r *reader) malformed() bool {
	switch r.finish {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE":
		return !r.said && len(r.ids) == 0
	}
	return false
}

// filtered reports whether a filter ended the answer.
func (r *reader) filtered() bool {
	switch r.finish {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
		"IMAGE_RECITATION", "MODEL_ARMOR": //nolint:misspell // as Google spells it
		return true
	}
	return false
}

// end returns the last delta.
func (r *reader) end() (core.Delta, error) {
	last := core.Delta{End: true, Finish: core.FinishStop, Usage: plus(r.before, r.usage.core())}
	empty := !r.said && len(r.ids) == 0
	switch {
	case r.malformed():
		e := r.who.E(core.Invalid, "%s wrote a call of a tool that cannot be read, twice (%s)", r.who.Provider, r.finish)
		e.Detail = core.StopInvalidLLMResponse
		return core.Delta{}, e.WithHint("word it differently, or choose another model")
	case r.blocked != "", r.filtered() && empty:
		last.Finish = core.FinishRefused
		if !r.said && !r.out(core.Delta{Text: r.refusal()}) {
			return core.Delta{}, errBreak
		}
		return last, nil
	case r.filtered():
		last.Finish = core.FinishFiltered
		return last, nil
	case r.finish == "MAX_TOKENS":
		last.Finish = core.FinishLength
	case empty:
		return core.Delta{}, r.who.Empty()
	}
	last.Native = r.native()
	return last, nil
}

// refusal says why nothing is answered.
func (r *reader) refusal() string {
	if r.why != "" {
		return r.why
	}
	what, of := "answered", r.finish
	if r.blocked != "" {
		what, of = "sent to the model", r.blocked
	}
	of = strings.ToLower(strings.ReplaceAll(of, "_", " "))
	return "A filter of " + r.who.Provider + " keeps this from being " + what + " (" + of + ")."
}
