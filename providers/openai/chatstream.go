package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// chunk is one event of Chat or, with Message in place of Delta, an answer that wasn't streamed.
type chunk struct {
	Choices []struct {
		Delta        *piece `json:"delta"`
		Message      *piece `json:"message"`
		FinishReason string `json:"finish_reason"`
		TokenIDs     []int  `json:"token_ids"`
		Logprobs     *struct {
			Content []core.TokenLogprob `json:"content"`
		} `json:"logprobs"`
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
	ToolCalls        []pieceCall       `json:"tool_calls"`
	FunctionCall     *pieceFunction    `json:"function_call"` // the only call, in the format of older servers
}

type pieceCall struct {
	Index    count         `json:"index"`
	ID       string        `json:"id"`
	Function pieceFunction `json:"function"`
}

type pieceFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// count is a number in any form that servers send: 12, 12.0 or "12". It is nil if absent.
type count struct{ n *int }

// UnmarshalJSON implements json.Unmarshaler. Anything but a number counts as absent, without an error.
func (c *count) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err == nil && f >= 0 && f < 1e12 {
		c.n = new(int(f))
	}
	return nil
}

// value returns the number, 0 if absent.
func (c count) value() int {
	if c.n == nil {
		return 0
	}
	return *c.n
}

type usage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Total      count `json:"total_tokens"`
	PromptMore *struct {
		Cached count `json:"cached_tokens"`
		Write  count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore *struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit count `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// core returns nil if nothing is reported: every prompt has at least one token.
func (u *usage) core() *core.Usage {
	out := counted(u.Prompt, u.Completion, u.Total)
	if out == nil {
		return nil
	}
	out.Cached = u.CacheHit.n
	if u.PromptMore != nil {
		if u.PromptMore.Cached.n != nil {
			out.Cached = u.PromptMore.Cached.n
		}
		out.CacheWrite = u.PromptMore.Write.n
	}
	if u.CompletionMore != nil {
		out.Reasoning = u.CompletionMore.Reasoning.n
	}
	return out
}

func counted(prompt, completion, total count) *core.Usage {
	out := &core.Usage{Prompt: prompt.value(), Completion: completion.value(), Total: total.value()}
	if out.Total == 0 {
		out.Total = out.Prompt + out.Completion
	}
	if out.Total == 0 {
		return nil
	}
	return out
}

// chatReader reads the events of one answer.
type chatReader struct {
	who      wire.Who
	history  History
	texts    bool // there may be calls in the text
	x        *exchange
	swallows func() // records that the server omits the opening mark of thoughts
	split    wire.Splitter
	calls    callList
	finish   string
	usage    *core.Usage
	thought  strings.Builder
	details  []map[string]json.RawMessage
	answered bool // some text has arrived
	refused  bool // the text was the model's refusal
	wish     *core.TokenWish
	tokens   core.Tokens
}

func newChatReader(c *Client, req core.ChatRequest, x *exchange) chatReader {
	return chatReader{
		who: c.who, history: c.quirks.History, texts: req.Info.TextCalls != "", wish: req.Tokens, x: x,
		calls: callList{offered: names(req.Tools)},
		split: wire.Splitter{Hold: c.swallowing(req.Model)}, swallows: func() { c.swallows(req.Model) },
	}
}

func names(tools []core.ToolSpec) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func (r *chatReader) event(data []byte, out func(core.Delta) bool) (done bool, err error) {
	var c chunk
	if !wire.Decode(data, &c) {
		return false, r.who.E(core.Unavailable, "%s sent an event that cannot be read", r.who.Provider)
	}
	for _, u := range []*usage{c.Usage, c.groqUsage()} {
		if u == nil {
			continue
		}
		if known := u.core(); known != nil {
			r.usage = known
		}
	}
	alive := true // and nothing else
	for _, choice := range c.Choices {
		p := choice.Delta
		if p == nil {
			p = choice.Message
			p.number()
		}
		if p != nil && !r.piece(p, out) {
			return false, errBreak
		}
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
		if r.wish != nil {
			r.tokens.IDs = append(r.tokens.IDs, choice.TokenIDs...)
			if choice.Logprobs != nil {
				r.tokens.Logprobs = append(r.tokens.Logprobs, choice.Logprobs.Content...)
			}
		}
		alive = alive && choice.FinishReason == "" && p.empty()
	}
	if !alive {
		r.x.alive.Heard()
	} else if err := r.x.alive.Note(); err != nil {
		return false, r.who.Silent()
	}
	if r.calls.lost > mostLost {
		return false, r.who.E(core.Unavailable, "%s sends pieces of a tool call that never gets a name", r.who.Provider)
	}
	return r.finish != "", nil
}

func (c *chunk) groqUsage() *usage {
	if c.Groq == nil {
		return nil
	}
	return c.Groq.Usage
}

// number gives the calls of a complete message distinct indices: each entry is one call.
func (p *piece) number() {
	if p == nil {
		return
	}
	for i := range p.ToolCalls {
		p.ToolCalls[i].Index.n = new(i)
	}
}

// empty reports whether nothing of the answer is in a piece: some servers keep a stream alive with those.
func (p *piece) empty() bool {
	if p == nil {
		return true
	}
	reasoning, text := content(p.Content)
	return reasoning+text+p.Refusal+plain(p.ReasoningContent)+plain(p.Reasoning) == "" &&
		len(p.ReasoningDetails)+len(p.ToolCalls) == 0 && p.FunctionCall == nil
}

// settled reports whether nothing that matters is still to come.
func (r *chatReader) settled() bool { return r.usage != nil }

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
	r.refused = r.refused || p.Refusal != ""
	split := r.split.Add(text + p.Refusal)
	split.Reasoning = reasoning + split.Reasoning
	if !r.say(split, out) {
		return false
	}
	calls := p.ToolCalls
	if f := p.FunctionCall; f != nil && len(calls) == 0 {
		calls = []pieceCall{{Index: count{new(functionCall)}, Function: *f}}
	}
	for _, c := range calls {
		if !call(r.calls.add(c.Index.n, c.ID, c.Function.Name, argumentsPiece(c.Function.Arguments)), out) {
			return false
		}
	}
	return true
}

// functionCall stands in for the index of a call in the older format, which has none.
const functionCall = -2

func call(deltas []core.CallDelta, out func(core.Delta) bool) bool {
	for _, d := range deltas {
		if !out(core.Delta{Call: &d}) {
			return false
		}
	}
	return true
}

func (r *chatReader) say(p wire.Split, out func(core.Delta) bool) bool {
	if p.Flip && r.answered {
		r.answered = false
		r.swallows()
		if !out(core.Delta{Thought: true}) {
			return false
		}
	}
	if p.Reasoning != "" {
		r.thought.WriteString(p.Reasoning)
		if !out(core.Delta{Reasoning: p.Reasoning}) {
			return false
		}
	}
	if p.Text != "" {
		r.answered = true
		return out(core.Delta{Text: p.Text})
	}
	return true
}

func (r *chatReader) end(out func(core.Delta) bool) (core.Delta, error) {
	if !r.say(r.split.End(), out) || !call(r.calls.end(), out) {
		return core.Delta{}, errBreak
	}
	last := core.Delta{End: true, Usage: r.usage, Native: r.native()}
	if r.wish != nil {
		last.Tokens = &r.tokens
		if r.wish.IDs && len(r.tokens.IDs) == 0 {
			return core.Delta{}, r.who.E(core.Invalid, "%s gave no ids of its tokens", r.who.Provider).
				WithHint("return_token_ids is known to vLLM, and to SGLang in versions since July 2026: update it")
		}
	}
	switch r.finish {
	case "":
		if !r.x.ended || r.calls.half() { // otherwise the server has said that the answer is complete
			return core.Delta{}, r.who.Cut()
		}
	case "error", "abort":
		return core.Delta{}, r.who.E(core.Unavailable, "%s gave up in the middle of the answer", r.who.Provider)
	case "length", "model_length", "max_tokens":
		last.Finish = core.FinishLength
		return last, nil
	case "content_filter":
		last.Finish = core.FinishFiltered
		return last, nil
	case "refusal":
		last.Finish = core.FinishRefused
		return last, nil
	}
	if !r.answered && r.calls.opened == 0 {
		return core.Delta{}, r.who.Empty()
	}
	last.Finish = core.FinishStop
	if r.refused {
		last.Finish = core.FinishRefused
	}
	return last, nil
}

// detail keeps a piece of the reasoning's native form, joining the pieces of a block.
func (r *chatReader) detail(raw json.RawMessage) {
	var piece map[string]json.RawMessage
	if json.Unmarshal(raw, &piece) != nil || piece == nil {
		return
	}
	n := len(r.details)
	if n == 0 || piece["index"] == nil || string(r.details[n-1]["index"]) != string(piece["index"]) ||
		string(r.details[n-1]["type"]) != string(piece["type"]) {
		r.details = append(r.details, piece)
		return
	}
	block := r.details[n-1]
	for field, value := range piece {
		switch field {
		case "text", "summary", "data":
			if joined, err := wire.Encode(plain(block[field]) + plain(value)); err == nil {
				block[field] = joined
			}
		default:
			if string(value) != "null" {
				block[field] = value
			}
		}
	}
}

// native returns what the server wants sent back.
func (r *chatReader) native() json.RawMessage {
	var n chatNative
	switch r.history {
	case HistoryCalls, HistoryAlways:
		if r.calls.opened > 0 || r.texts {
			n.ReasoningContent = r.thought.String()
		}
	case HistoryDetails:
		n.ReasoningDetails = r.details
	}
	if n.ReasoningContent == "" && len(n.ReasoningDetails) == 0 {
		return nil
	}
	raw, err := wire.Encode(n)
	if err != nil {
		return nil
	}
	return raw
}

// content reads a message's content: text, or an array of text and thinking parts.
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

// plain reads a JSON string; anything else counts as empty.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// argumentsPiece reads a piece of arguments: text or, from some servers, the complete object.
func argumentsPiece(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw)
	}
	return plain(raw)
}
