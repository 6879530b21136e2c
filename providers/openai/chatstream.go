package openai

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// chunk is one event of Chat, and with Message in place of Delta an answer that did not stream.
type chunk struct {
	Choices []struct {
		Delta        *piece `json:"delta"`
		Message      *piece `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	Groq  *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

// piece is the new part of the assistant's message. Fields that servers write in several forms stay raw.
type piece struct {
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	Reasoning        json.RawMessage   `json:"reasoning"`
	ReasoningContent json.RawMessage   `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	PromptMore *struct {
		Cached *int `json:"cached_tokens"`
		Write  *int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore *struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit *int `json:"prompt_cache_hit_tokens"` // DeepSeek
}

func (u *usage) core() *core.Usage {
	out := &core.Usage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Total, Cached: u.CacheHit}
	if out.Total == 0 {
		out.Total = out.Prompt + out.Completion
	}
	if u.PromptMore != nil {
		if u.PromptMore.Cached != nil {
			out.Cached = u.PromptMore.Cached
		}
		out.CacheWrite = u.PromptMore.Write
	}
	if u.CompletionMore != nil {
		out.Reasoning = u.CompletionMore.Reasoning
	}
	return out
}

// chatReader reads the events of one answer.
type chatReader struct {
	who      wire.Who
	history  History
	split    wire.Splitter
	calls    callList
	finish   string
	usage    *core.Usage
	thought  strings.Builder
	details  []map[string]json.RawMessage
	answered bool // some text came
}

func newChatReader(c *Client) chatReader {
	return chatReader{who: c.who, history: c.opts.Quirks.History}
}

func (r *chatReader) event(data []byte, out func(core.Delta) bool) (done bool, err error) {
	var c chunk
	if json.Unmarshal(data, &c) != nil {
		return false, r.who.E(core.Unavailable, "%s sent an event that cannot be read", r.who.Provider)
	}
	if c.Usage != nil {
		r.usage = c.Usage.core()
	} else if c.Groq != nil && c.Groq.Usage != nil {
		r.usage = c.Groq.Usage.core()
	}
	for _, choice := range c.Choices {
		p := choice.Delta
		if p == nil {
			p = choice.Message
		}
		if p != nil && !r.piece(p, out) {
			return false, errBreak
		}
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
	}
	return r.finish != "", nil
}

func (r *chatReader) piece(p *piece, out func(core.Delta) bool) bool {
	reasoning, text := content(p.Content)
	if reasoning == "" {
		reasoning = plain(p.ReasoningContent)
	}
	if reasoning == "" {
		reasoning = plain(p.Reasoning)
	}
	for _, d := range p.ReasoningDetails {
		r.detail(d)
	}
	inline, text := r.split.Add(text + p.Refusal)
	if !r.say(reasoning+inline, text, out) {
		return false
	}
	for _, c := range p.ToolCalls {
		for _, d := range r.calls.add(c.Index, c.ID, c.Function.Name, argumentsPiece(c.Function.Arguments)) {
			if !out(core.Delta{Call: &d}) {
				return false
			}
		}
	}
	return true
}

func (r *chatReader) say(reasoning, text string, out func(core.Delta) bool) bool {
	if reasoning != "" {
		r.thought.WriteString(reasoning)
		if !out(core.Delta{Reasoning: reasoning}) {
			return false
		}
	}
	if text != "" {
		r.answered = true
		return out(core.Delta{Text: text})
	}
	return true
}

func (r *chatReader) end(out func(core.Delta) bool) (core.Delta, error) {
	if !r.flush(out) {
		return core.Delta{}, errBreak
	}
	last := core.Delta{End: true, Usage: r.usage, Native: r.native()}
	switch r.finish {
	case "":
		return core.Delta{}, r.who.Cut()
	case "error", "abort":
		return core.Delta{}, r.who.E(core.Unavailable, "%s gave up in the middle of the answer", r.who.Provider)
	case "length", "model_length", "max_tokens":
		last.Finish = core.FinishLength
		return last, nil
	case "content_filter":
		last.Finish = core.FinishFiltered
		return last, nil
	}
	if !r.answered && r.calls.opened == 0 {
		return core.Delta{}, r.who.Empty()
	}
	last.Finish = core.FinishStop
	return last, nil
}

// flush hands out what was held back in doubt.
func (r *chatReader) flush(out func(core.Delta) bool) bool {
	reasoning, text := r.split.End()
	return r.say(reasoning, text, out)
}

// detail keeps a piece of the reasoning's own form; the pieces of one block become one block again.
func (r *chatReader) detail(raw json.RawMessage) {
	var piece map[string]json.RawMessage
	if json.Unmarshal(raw, &piece) != nil || piece == nil {
		return
	}
	n := len(r.details)
	if n == 0 || piece["index"] == nil || string(r.details[n-1]["index"]) != string(piece["index"]) || string(r.details[n-1]["type"]) != string(piece["type"]) {
		r.details = append(r.details, piece)
		return
	}
	block := r.details[n-1]
	for field, value := range piece {
		switch field {
		case "text", "summary", "data":
			if joined, err := encode(plain(block[field]) + plain(value)); err == nil {
				block[field] = joined
			}
		default:
			if string(value) != "null" {
				block[field] = value
			}
		}
	}
}

// native is what the server wants to see again.
func (r *chatReader) native() json.RawMessage {
	var n chatNative
	switch r.history {
	case HistoryCalls, HistoryAlways:
		if r.calls.opened > 0 {
			n.ReasoningContent = r.thought.String()
		}
	case HistoryDetails:
		n.ReasoningDetails = r.details
	}
	if n.ReasoningContent == "" && len(n.ReasoningDetails) == 0 {
		return nil
	}
	raw, err := encode(n)
	if err != nil {
		return nil
	}
	return raw
}

// content reads a message's content: a text, or an array of parts with text and thinking.
func content(raw json.RawMessage) (reasoning, text string) {
	if len(raw) == 0 || raw[0] != '[' {
		return "", plain(raw)
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			_, inner := content(p.Thinking)
			reasoning += inner
			continue
		}
		text += p.Text
	}
	return reasoning, text
}

// plain reads a JSON string; anything else is nothing.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// argumentsPiece reads a piece of arguments: text, or from some servers the whole object at once.
func argumentsPiece(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw)
	}
	return plain(raw)
}
