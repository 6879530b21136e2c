package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// messagesWire is Anthropic Messages. It is one request: it remembers what the request's checks found out.
type messagesWire struct {
	server *Server
	header http.Header
	in     messagesBody
	claude Claude
	blocks []promptBlock // tools, system and messages, in the order in which a model reads them
	cache  cacheUse
	lost   []object // what was dropped of the thinking that was sent back
}

// messagesBody is a request. A field that it doesn't have is refused, as the service does.
type messagesBody struct {
	Model     string           `json:"model"`
	MaxTokens *int             `json:"max_tokens"`
	Stream    bool             `json:"stream"`
	System    json.RawMessage  `json:"system"`
	Messages  []messagesInput  `json:"messages"`
	Tools     []map[string]any `json:"tools"`
	Choice    *struct {
		Type            string `json:"type"`
		Name            string `json:"name"`
		DisableParallel bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type    string `json:"type"`
		Budget  *int   `json:"budget_tokens"`
		Display string `json:"display"`
		Binding *struct {
			Mismatch string `json:"prefix_mismatch_behavior"`
		} `json:"block_binding"`
	} `json:"thinking"`
	Output *struct {
		Effort string `json:"effort"`
		Format any    `json:"format"`
	} `json:"output_config"`
	Temperature *float64       `json:"temperature"`
	TopP        *float64       `json:"top_p"`
	TopK        *int           `json:"top_k"`
	Stop        []string       `json:"stop_sequences"`
	Metadata    map[string]any `json:"metadata"`
	Tier        string         `json:"service_tier"`
}

type messagesInput struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	blocks  []map[string]any
}

// parse implements protocol.
func (m *messagesWire) parse(body []byte) (Request, error) {
	req := Request{Wire: Messages}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m.in); err != nil {
		return req, fmt.Errorf("%s: Extra inputs are not permitted", strings.TrimPrefix(err.Error(), "json: "))
	}
	req.Model, req.Stream = m.in.Model, m.in.Stream
	m.claude = m.server.claude(m.in.Model)
	if err := m.read(); err != nil {
		return req, err
	}
	if err := m.check(); err != nil {
		return req, err
	}
	req.Tokens, req.CacheRead, req.Dropped = m.cache.total, m.cache.read, len(m.lost)
	for _, b := range m.blocks {
		if b.at == inSystem {
			req.System += textIn(b.value)
		}
	}
	for _, t := range m.in.Tools {
		name, _ := t["name"].(string)
		req.Tools = append(req.Tools, name)
	}
	if c := m.in.Choice; c != nil {
		req.ToolChoice = map[string]string{"auto": "auto", "any": "required", "none": "none", "tool": c.Name}[c.Type]
		on := !c.DisableParallel
		req.Parallel = &on
	}
	for _, msg := range m.in.Messages {
		req.Messages = append(req.Messages, plainMessages(msg)...)
	}
	return req, nil
}

// plainMessages puts a message into the form of all wires: each tool result is a message of its own.
func plainMessages(in messagesInput) []Message {
	var out []Message
	said := Message{Role: in.Role}
	for _, b := range in.blocks {
		switch b["type"] {
		case "text":
			said.Text += textIn(b)
		case "tool_use":
			id, _ := b["id"].(string)
			name, _ := b["name"].(string)
			args, _ := json.Marshal(b["input"]) // it was decoded from JSON
			said.Calls = append(said.Calls, Call{ID: id, Name: name, Arguments: string(args)})
		case "tool_result":
			id, _ := b["tool_use_id"].(string)
			out = append(out, Message{Role: "tool", CallID: id, Text: contentText(b["content"])})
		}
	}
	if said.Text != "" || len(said.Calls) > 0 || len(out) == 0 {
		out = append(out, said)
	}
	return out
}

func textIn(b map[string]any) string { s, _ := b["text"].(string); return s }

// contentText reads a text or a list of blocks.
func contentText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		text := ""
		for _, b := range v {
			if m, ok := b.(map[string]any); ok {
				text += textIn(m)
			}
		}
		return text
	}
	return ""
}

// thinks reports whether the model thinks, and whether its thoughts are shown.
func (m *messagesWire) thinks() (on, shown bool) {
	t := m.in.Thinking
	switch {
	case m.claude.Thinking == nil:
		return true, true // a server of no particular model shows what it was told to think
	case t == nil:
		return m.claude.Always, false
	case t.Type == "disabled":
		return false, false
	}
	return true, t.Display == "summarized" || t.Display == "" && !m.claude.Always
}

// send implements protocol.
func (m *messagesWire) send(o *writer, req Request, id string, t Turn) {
	message := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": req.Model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "stop_details": nil, "container": nil, "diagnostics": nil,
	}
	if m.header.Get("Anthropic-Beta") != "" && strings.Contains(m.header.Get("Anthropic-Beta"), bindingBeta) {
		message["input_transformations"] = m.lost
		if m.lost == nil {
			message["input_transformations"] = []object{}
		}
	}
	usage := m.usage(t, o.counted)
	content := m.content(t)
	stop := object{"stop_reason": stopReason(t), "stop_sequence": nil, "stop_details": stopDetails(t), "container": nil}
	if !req.Stream {
		o.w.Header().Set("Content-Type", "application/json")
		for k, v := range stop {
			message[k] = v
		}
		blocks := []object{}
		for _, b := range content {
			blocks = append(blocks, b.whole)
		}
		message["content"] = blocks
		if usage != nil {
			message["usage"] = usage
		}
		o.line("", message, "\n")
		return
	}
	m.stream(o, t, message, usage, content, stop)
}

func (m *messagesWire) stream(o *writer, t Turn, message, usage object, content []sentBlock, stop object) {
	o.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	event := func(name string, body object) bool {
		if !o.wait(o.gap) {
			return false
		}
		body["type"] = name
		o.line("event: "+name+"\ndata: ", body, "\n\n")
		return true
	}
	if usage != nil { // what was generated so far: cumulative from here on
		begun := object{}
		for k, v := range usage {
			begun[k] = v
		}
		begun["output_tokens"] = 1
		delete(begun, "output_tokens_details")
		message["usage"] = begun
	}
	ok := event("message_start", object{"message": message})
	for i, b := range content {
		ok = ok && event("content_block_start", object{"index": i, "content_block": b.start})
		if i == 0 {
			ok = ok && event("ping", object{})
		}
		for _, d := range b.deltas {
			ok = ok && event("content_block_delta", object{"index": i, "delta": d})
		}
		ok = ok && (t.Fail != nil || event("content_block_stop", object{"index": i}))
	}
	if !ok || m.broken(o, t.Fail) {
		return
	}
	last := object{"delta": stop}
	if usage != nil {
		delete(usage, "cache_creation")
		last["usage"] = usage
	}
	if event("message_delta", last) {
		event("message_stop", object{})
	}
}

func (m *messagesWire) broken(o *writer, f *Fail) bool {
	if f != nil && f.Broken == MidStream {
		kind, message := "overloaded_error", orText(f.Message, "Overloaded")
		if f.Message != "" {
			kind = "invalid_request_error"
		}
		if strings.HasSuffix(f.Code, "_error") {
			kind = f.Code
		}
		o.line("event: error\ndata: ", object{"type": "error", "error": object{"type": kind, "message": message, "details": nil}}, "\n\n")
		return true
	}
	return broken(o, f)
}

func stopReason(t Turn) string {
	switch {
	case t.Finish == "length":
		return "max_tokens"
	case t.Finish == "content_filter":
		return "refusal"
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func stopDetails(t Turn) any {
	if stopReason(t) != "refusal" {
		return nil
	}
	return object{"type": "refusal", "category": "general_harms", "explanation": t.Refusal}
}

// sentBlock is a block of an answer, whole and as it is streamed.
type sentBlock struct {
	whole, start object
	deltas       []object
}

func (m *messagesWire) content(t Turn) []sentBlock {
	var out []sentBlock
	on, shown := m.thinks()
	if t.Reasoning != "" && on {
		text := t.Reasoning
		if !shown {
			text = ""
		}
		out = append(out, m.thought(t.Sealed, text))
	}
	if t.Text != "" {
		b := sentBlock{
			whole: object{"type": "text", "text": t.Text, "citations": nil},
			start: object{"type": "text", "text": "", "citations": nil},
		}
		for _, p := range pieces(t.Text) {
			b.deltas = append(b.deltas, object{"type": "text_delta", "text": p})
		}
		out = append(out, b)
	}
	for _, c := range t.Calls {
		caller := object{"type": "direct"}
		b := sentBlock{
			whole: object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments), "caller": caller},
			start: object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}, "caller": caller},
		}
		for _, p := range append([]string{""}, halves(c.Arguments)...) {
			b.deltas = append(b.deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		out = append(out, b)
	}
	return out
}

// thought is a block of thinking, signed.
func (m *messagesWire) thought(sealed bool, text string) sentBlock {
	if sealed {
		b := object{"type": "redacted_thinking", "data": m.sign("")}
		return sentBlock{whole: b, start: b}
	}
	signature := m.sign(text)
	b := sentBlock{
		whole: object{"type": "thinking", "thinking": text, "signature": signature},
		start: object{"type": "thinking", "thinking": "", "signature": ""},
	}
	for _, p := range pieces(text) {
		b.deltas = append(b.deltas, object{"type": "thinking_delta", "thinking": p})
	}
	b.deltas = append(b.deltas, object{"type": "signature_delta", "signature": signature})
	return b
}

// usage counts what the turn says, or else what the cache did.
func (m *messagesWire) usage(t Turn, counted bool) object {
	u := t.Usage
	if u == nil {
		return nil
	}
	if !counted {
		out := object{"input_tokens": u.Prompt, "output_tokens": u.Completion}
		if u.Cached != nil {
			out["input_tokens"], out["cache_read_input_tokens"] = u.Prompt-*u.Cached, *u.Cached
		}
		if u.Reasoning != nil {
			out["output_tokens_details"] = object{"thinking_tokens": *u.Reasoning}
		}
		return out
	}
	c := m.cache
	return object{
		"input_tokens": c.total - c.read - c.short - c.long, "output_tokens": u.Completion,
		"cache_read_input_tokens": c.read, "cache_creation_input_tokens": c.short + c.long,
		"cache_creation":        object{"ephemeral_5m_input_tokens": c.short, "ephemeral_1h_input_tokens": c.long},
		"output_tokens_details": object{"thinking_tokens": len(t.Reasoning) / 4},
		"service_tier":          "standard", "inference_geo": "global", "speed": "standard", "server_tool_use": nil,
	}
}

// listMessages lists the models as Anthropic does, in pages.
func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.listed++
	s.mu.Unlock()
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if limit <= 0 || limit > 1000 {
		limit = 20
	}
	models := s.Models
	if after := r.URL.Query().Get("after_id"); after != "" {
		for i, m := range models {
			if m.Name == after {
				models = models[i+1:]
				break
			}
		}
	}
	more := len(models) > limit
	models = models[:min(len(models), limit)]
	data := []object{}
	for _, m := range models {
		row := object{"type": "model", "id": m.Name, "display_name": m.Name, "created_at": "2026-09-22T00:00:00Z"}
		if m.Window > 0 {
			row["max_input_tokens"] = m.Window
		}
		if c := m.Claude; c != nil {
			row["max_tokens"], row["capabilities"] = c.MaxOutput, c.capabilities()
		}
		data = append(data, row)
	}
	out := object{"data": data, "has_more": more, "first_id": nil, "last_id": nil}
	if len(models) > 0 {
		out["first_id"], out["last_id"] = models[0].Name, models[len(models)-1].Name
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, out)
}
