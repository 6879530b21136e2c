package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// event is one event of a stream, with the fields that we need.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type       string       `json:"type"`
		Text       string       `json:"text"`
		Thinking   string       `json:"thinking"`
		Signature  string       `json:"signature"`
		Partial    string       `json:"partial_json"`
		StopReason string       `json:"stop_reason"`
		Details    *stopDetails `json:"stop_details"`
	} `json:"delta"`
	Usage   *usage    `json:"usage"`
	Changes []dropped `json:"input_transformations"`
}

// answer is a message as it begins a stream, or whole.
type answer struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Details    *stopDetails      `json:"stop_details"`
	Usage      *usage            `json:"usage"`
	Changes    []dropped         `json:"input_transformations"`
}

type stopDetails struct {
	Explanation string `json:"explanation"`
}

// dropped is a change that the server made to the request.
type dropped struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// part is a block that is still arriving.
type part struct {
	kind      string
	fields    map[string]json.RawMessage // as it began
	text      strings.Builder            // of text, thinking or arguments
	signature string
	call      int    // its index among the calls
	started   string // arguments that came with its beginning
	done      bool
}

// reader reads the events of one answer, which may take several requests.
type reader struct {
	who     wire.Who
	out     func(core.Delta) bool
	offered []string
	open    map[int]*part // of this request, by index
	parts   []*part       // of all requests, in order
	ids     []string      // of the calls
	stop    string
	why     string // of a refusal
	usage   tally
	dropped []dropped
	said    bool // there was text
	thought bool // the last piece was reasoning
	mended  bool // the blocks can't be sent back as they came
	ended   bool // the server said so
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
	r.open, r.stop, r.ended = map[int]*part{}, "", false
	r.usage.next()
}

// Event implements wire.EventReader. It reports whether the event was a piece of the answer.
func (r *reader) Event(in wire.Event) (heard bool, err error) {
	if in.Whole {
		return true, r.whole(in.Data)
	}
	var e event
	if !wire.Decode(in.Data, &e) {
		return false, r.who.InBand(in.Data)
	}
	ok := true
	switch e.Type {
	case "error":
		return false, r.who.InBand(in.Data)
	case "message_start":
		var m answer
		wire.Decode(e.Message, &m) // an odd one tells nothing
		r.dropped = append(r.dropped, m.Changes...)
		r.usage.add(m.Usage)
		ok = r.blocks(m.Content)
	case "content_block_start":
		ok = r.start(e.Index, e.Block)
	case "content_block_delta":
		ok = r.delta(&e)
	case "content_block_stop":
		ok = r.close(r.open[e.Index])
	case "message_delta":
		r.dropped = append(r.dropped, e.Changes...)
		r.usage.add(e.Usage)
		r.stopped(e.Delta.StopReason, e.Delta.Details)
	case "message_stop":
		r.ended = true
	default: // a ping, or what is newer than we are
		return false, nil
	}
	if !ok {
		return false, errBreak
	}
	return true, nil
}

func (r *reader) stopped(reason string, details *stopDetails) {
	if reason != "" {
		r.stop = reason
	}
	if details != nil && details.Explanation != "" {
		r.why = details.Explanation
	}
}

// whole reads an answer that wasn't streamed.
func (r *reader) whole(data []byte) error {
	var m answer
	if !wire.Decode(data, &m) || m.Type == "error" || m.StopReason == "" {
		return r.who.InBand(data)
	}
	r.dropped = append(r.dropped, m.Changes...)
	r.usage.add(m.Usage)
	r.stopped(m.StopReason, m.Details)
	r.ended = true
	if !r.blocks(m.Content) {
		return errBreak
	}
	return nil
}

// blocks reads blocks that came whole.
func (r *reader) blocks(content []json.RawMessage) bool {
	for i, raw := range content {
		if !r.start(i, raw) || !r.close(r.open[i]) {
			return false
		}
	}
	return true
}

// start opens a block. What it already holds is read as its first piece.
func (r *reader) start(index int, raw json.RawMessage) bool {
	var b struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	p := &part{fields: map[string]json.RawMessage{}, call: -1}
	if json.Unmarshal(raw, &p.fields) != nil || !wire.Decode(raw, &b) {
		r.mended = true
		return true
	}
	for k, v := range p.fields { // the event's bytes are read over by the next one's
		p.fields[k] = slices.Clone(v)
	}
	p.kind, p.signature = b.Type, b.Signature
	r.open[index] = p
	r.parts = append(r.parts, p)
	switch b.Type {
	case "text":
		return r.say(p, b.Text)
	case "thinking":
		if r.thought && !r.piece(core.Delta{Reasoning: "\n\n"}) {
			return false
		}
		return r.reason(p, b.Thinking)
	case "tool_use":
		if p.started = strings.TrimSpace(string(b.Input)); p.started == "" || p.started == "null" {
			p.started = "{}"
		}
		return r.call(p, b.ID, b.Name)
	}
	return true
}

func (r *reader) delta(e *event) bool {
	p := r.open[e.Index]
	if p == nil {
		r.mended = true
		p = &part{call: -1, fields: map[string]json.RawMessage{}}
		r.open[e.Index] = p
	}
	switch d := &e.Delta; d.Type {
	case "text_delta":
		return r.say(p, d.Text)
	case "thinking_delta":
		return r.reason(p, d.Thinking)
	case "signature_delta":
		p.signature += d.Signature
	case "input_json_delta":
		if p.call < 0 || d.Partial == "" {
			return true
		}
		p.text.WriteString(d.Partial)
		return r.piece(core.Delta{Call: &core.CallDelta{Index: p.call, Arguments: d.Partial}})
	default:
		r.mended = true // something that can't be put into the block
	}
	return true
}

// piece hands out a piece of the answer.
func (r *reader) piece(d core.Delta) bool {
	r.thought = d.Reasoning != ""
	return r.out(d)
}

func (r *reader) say(p *part, text string) bool {
	p.text.WriteString(text)
	if text == "" {
		return true
	}
	r.said = r.said || strings.TrimSpace(text) != ""
	return r.piece(core.Delta{Text: text})
}

func (r *reader) reason(p *part, text string) bool {
	p.text.WriteString(text)
	return text == "" || r.piece(core.Delta{Reasoning: text})
}

func (r *reader) call(p *part, id, name string) bool {
	if id == "" || len(id) > mostID || slices.Contains(r.ids, id) {
		id, r.mended = wire.NewCallID(), true
	}
	known := wire.ToolName(name, r.offered)
	r.mended = r.mended || known != name
	p.call = len(r.ids)
	r.ids = append(r.ids, id)
	return r.piece(core.Delta{Call: &core.CallDelta{Index: p.call, ID: id, Name: known}})
}

// mostID limits the id of a call, in bytes.
const mostID = 256

// close ends a block.
func (r *reader) close(p *part) bool {
	if p == nil || p.done {
		return true
	}
	p.done = true
	switch {
	case p.kind == "thinking" && p.text.Len() > 0 && p.signature != "":
		return r.out(core.Delta{Signature: p.signature})
	case p.call >= 0 && p.text.Len() == 0:
		args := wire.Unquoted(p.started)
		p.text.WriteString(args)
		return r.piece(core.Delta{Call: &core.CallDelta{Index: p.call, Arguments: args}})
	}
	return true
}

// raw returns a block as it is to be sent back; nil if it can't be.
func (p *part) raw() json.RawMessage {
	set := func(name string, v any) bool {
		raw, err := wire.Encode(v)
		p.fields[name] = raw
		return err == nil
	}
	ok := true
	switch {
	case p.call >= 0:
		text := strings.TrimSpace(p.text.String())
		if text == "" {
			text = "{}"
		}
		ok = strings.HasPrefix(text, "{") && json.Valid([]byte(text))
		p.fields["input"] = json.RawMessage(text)
	case p.kind == "text":
		ok = set("text", p.text.String())
		delete(p.fields, "citations") // null where there are none; others end in mended
	case p.kind == "thinking":
		ok = set("thinking", p.text.String()) && set("signature", p.signature) && p.signature != ""
	}
	if !ok {
		return nil
	}
	raw, err := wire.Encode(p.fields)
	if err != nil {
		return nil
	}
	return raw
}

// native returns the blocks that go back verbatim.
func (r *reader) native() []json.RawMessage {
	if r.mended || len(r.parts) == 0 {
		return nil
	}
	var out []json.RawMessage
	for _, p := range r.parts {
		raw := p.raw()
		if raw == nil {
			return nil
		}
		out = append(out, raw)
	}
	return out
}

// Complete implements wire.EventReader: the answer is whole: the server gave its reason to stop.
func (r *reader) Complete() bool { return r.stop != "" }

// Ended implements wire.EventReader.
func (r *reader) Ended() bool { return r.ended }

// end returns the last delta.
func (r *reader) end(keep bool) (core.Delta, error) {
	for _, p := range r.parts {
		if !r.close(p) {
			return core.Delta{}, errBreak
		}
	}
	last := core.Delta{End: true, Finish: core.FinishStop, Usage: r.usage.core()}
	empty := !r.said && len(r.ids) == 0
	switch r.stop {
	case "max_tokens":
		last.Finish = core.FinishLength
	case "model_context_window_exceeded":
		if empty {
			return core.Delta{}, r.who.E(core.TooLong, "%s: the window was full before the answer began (%s)", r.who.Provider, r.stop)
		}
		last.Finish = core.FinishLength
	case "refusal":
		last.Finish = core.FinishRefused
		if !r.said && r.why != "" && !r.out(core.Delta{Text: r.why}) {
			return core.Delta{}, errBreak
		}
	default:
		if empty {
			return core.Delta{}, r.who.Empty()
		}
		if blocks := r.native(); keep && blocks != nil {
			last.Native, _ = wire.Encode(native{Blocks: blocks}) // they were encoded before
		}
	}
	return last, nil
}

// lost says which of the thinking that was sent back the server left out; "" if none.
func (r *reader) lost() string {
	n := 0
	why := ""
	for _, d := range r.dropped {
		if d.Type == "thinking_dropped" {
			n++
			why = strings.ReplaceAll(strings.TrimSuffix(d.Reason, "_binding_mismatch"), "_", " ")
		}
	}
	if n == 0 {
		return ""
	}
	return r.who.Provider + " left out " + core.Count(n, "earlier thought") + " of the model: its " + orElse(why, "prefix") + " differs. " +
		"The conversation itself is complete; " + strconv.Itoa(n) + " of its thoughts are not."
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
