package openai

import (
	"context"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
)

// responsesNative is what of an assistant turn is kept for Responses: its output items, verbatim.
type responsesNative struct {
	Items []json.RawMessage `json:"items"`
}

// responsesTurn is one request on Responses.
type responsesTurn struct {
	responsesReader
	client *Client
	req    openai.CreateResponseRequest
}

func newResponsesTurn(c *Client, req core.ChatRequest, x *exchange) turn {
	t := &responsesTurn{client: c, responsesReader: responsesReader{who: c.who, index: map[string]int{}}}
	t.req = responsesRequest(c.opts.Quirks, req, !c.noSummary.Load())
	x.set = map[string]any{"input": responsesInput(req.Messages)}
	x.wrap = wrapResponse
	return t
}

func (t *responsesTurn) open(ctx context.Context) (stream, error) {
	return t.client.api.CreateResponseStream(ctx, t.req)
}

// dropSummary reports whether a request failed only because the account may not see summaries of the reasoning, and
// remembers it.
func (c *Client) dropSummary(req core.ChatRequest, err error) bool {
	if c.opts.Quirks.wire(req.Model) != Responses || core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "summar") {
		return false
	}
	return !c.noSummary.Swap(true)
}

// wrapResponse makes the last event of an answer that did not stream.
func wrapResponse(whole []byte) []byte {
	var status struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(whole, &status) != nil || status.Status == "" {
		status.Status = "completed"
	}
	name, err := encode("response." + status.Status)
	if err != nil {
		return whole
	}
	return []byte(`{"type":` + string(name) + `,"response":` + string(whole) + `}`)
}

func responsesRequest(q Quirks, req core.ChatRequest, summary bool) openai.CreateResponseRequest {
	store := false
	out := openai.CreateResponseRequest{Model: req.Model, Instructions: req.System, Store: &store}
	for _, tool := range req.Tools {
		out.Tools = append(out.Tools, openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: map[string]any{
			"name": tool.Name, "description": tool.Description, "parameters": parameters(tool.Parameters), "strict": false,
		}})
	}
	if len(req.Tools) > 0 {
		out.ToolChoice = responsesChoice(q.Force, req.Choice)
		if !req.Parallel && q.Parallel != ParallelNever {
			off := false
			out.ParallelToolCalls = &off
		}
	}
	if q.CacheKey && req.CacheKey != "" {
		out.PromptCacheKey = cacheKey(req.CacheKey)
	}
	out.MaxOutputTokens = req.Settings.MaxOutputTokens
	if t := req.Settings.Temperature; t != nil && !Reasons(req.Model) {
		t32 := float32(*t)
		out.Temperature = &t32
	}
	out.Text = textConfig(req.Settings.ResponseFormat)
	if !strings.Contains(req.Model, "non-reasoning") {
		out.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
		reasoning := openai.ResponseReasoning{Effort: req.Settings.ReasoningEffort}
		if summary && !q.NoSummary {
			reasoning.Summary = "auto"
		}
		if reasoning != (openai.ResponseReasoning{}) {
			out.Reasoning = &reasoning
		}
	}
	return out
}

func responsesChoice(force Force, choice core.ToolChoice) any {
	if choice.Mode == core.ChoiceNamed && force == ForceNamed {
		return map[string]any{"type": "function", "name": choice.Name}
	}
	return toolChoice(force, choice)
}

// textConfig turns the form of Chat's response_format into that of Responses.
func textConfig(format any) *openai.ResponseTextConfig {
	m, ok := format.(map[string]any)
	if !ok {
		return nil
	}
	kind, _ := m["type"].(string)
	if kind == "" || kind == "text" {
		return nil
	}
	out := &openai.ResponseTextFormat{Type: kind}
	inner, ok := m["json_schema"].(map[string]any)
	if !ok {
		inner = m
	}
	out.Name, _ = inner["name"].(string)
	out.Schema = inner["schema"]
	out.Strict, _ = inner["strict"].(bool)
	return &openai.ResponseTextConfig{Format: out}
}

// responsesInput makes the items. A turn with its native items goes out exactly as it came in.
func responsesInput(messages []core.ChatMessage) []any {
	items := []any{}
	for _, m := range messages {
		switch m.Role {
		case core.ChatUser:
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: "user", Content: m.Text})
		case core.ChatReminder:
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: "user", Content: reminder(m.Text)})
		case core.ChatAssistant:
			items = append(items, assistantItems(m)...)
		case core.ChatTool:
			for _, r := range m.Returns {
				items = append(items, openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: r.CallID, Output: r.Text})
			}
		}
	}
	return items
}

func assistantItems(m core.ChatMessage) []any {
	var items []any
	var native responsesNative
	if m.Native != nil && json.Unmarshal(m.Native.Data, &native) == nil && len(native.Items) > 0 {
		for _, item := range native.Items {
			items = append(items, item)
		}
		return items
	}
	if m.Text != "" {
		items = append(items, openai.ResponseInputMessage{Type: "message", Role: "assistant", Content: m.Text})
	}
	for _, call := range m.Calls {
		args := call.Arguments
		if args == "" {
			args = "{}"
		}
		items = append(items, map[string]any{"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": args})
	}
	return items
}

// responseEvent is one event of Responses, as far as it is needed.
type responseEvent struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	Delta        json.RawMessage `json:"delta"`
	SummaryIndex int             `json:"summary_index"`
	Item         json.RawMessage `json:"item"`
	Response     *struct {
		Error      json.RawMessage   `json:"error"`
		Output     []json.RawMessage `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage *responseUsage `json:"usage"`
	} `json:"response"`
}

type responseUsage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Total     int `json:"total_tokens"`
	InputMore *struct {
		Cached *int `json:"cached_tokens"`
		Write  *int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputMore *struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *responseUsage) core() *core.Usage {
	out := &core.Usage{Prompt: u.Input, Completion: u.Output, Total: u.Total}
	if out.Total == 0 {
		out.Total = u.Input + u.Output
	}
	if u.InputMore != nil {
		out.Cached, out.CacheWrite = u.InputMore.Cached, u.InputMore.Write
	}
	if u.OutputMore != nil {
		out.Reasoning = u.OutputMore.Reasoning
	}
	return out
}

// outputItem is an item of the answer, as far as it is needed. Its raw form is what is kept.
type outputItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// responsesReader reads the events of one answer.
type responsesReader struct {
	who      wire.Who
	index    map[string]int // item id → number of the call
	calls    []string       // arguments seen so far, by call
	items    []json.RawMessage
	text     map[string]bool // items whose text or reasoning was streamed
	finish   core.Finish
	usage    *core.Usage
	answered bool
}

func (r *responsesReader) event(data []byte, out func(core.Delta) bool) (done bool, err error) {
	var e responseEvent
	if json.Unmarshal(data, &e) != nil {
		return false, r.who.E(core.Unavailable, "%s sent an event that cannot be read", r.who.Provider)
	}
	ok := true
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		ok = r.say(e.ItemID, "", plain(e.Delta), out)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		ok = r.say(e.ItemID, plain(e.Delta), "", out)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			ok = r.say(e.ItemID, "\n\n", "", out)
		}
	case "response.output_item.added":
		ok = r.added(e.Item, out)
	case "response.function_call_arguments.delta":
		ok = r.arguments(e.ItemID, plain(e.Delta), out)
	case "response.output_item.done":
		ok = r.itemDone(e.Item, out)
	case "response.completed", "response.incomplete":
		return true, r.ended(e, out)
	case "response.failed":
		return false, r.failed(e)
	}
	if !ok {
		return false, errBreak
	}
	return false, nil
}

func (r *responsesReader) say(item, reasoning, text string, out func(core.Delta) bool) bool {
	if reasoning == "" && text == "" {
		return true
	}
	if r.text == nil {
		r.text = map[string]bool{}
	}
	r.text[item] = true
	r.answered = r.answered || text != ""
	return out(core.Delta{Reasoning: reasoning, Text: text})
}

// added opens a call as soon as its name is known.
func (r *responsesReader) added(raw json.RawMessage, out func(core.Delta) bool) bool {
	var item outputItem
	if json.Unmarshal(raw, &item) != nil || item.Type != "function_call" {
		return true
	}
	if _, known := r.index[item.ID]; known && item.ID != "" {
		return true
	}
	id := item.CallID
	if id == "" {
		id = newCallID()
	}
	r.index[item.ID] = len(r.calls)
	r.calls = append(r.calls, item.Arguments)
	return out(core.Delta{Call: &core.CallDelta{Index: len(r.calls) - 1, ID: id, Name: item.Name, Arguments: item.Arguments}})
}

func (r *responsesReader) arguments(item, piece string, out func(core.Delta) bool) bool {
	at, ok := r.index[item]
	if !ok || piece == "" {
		return true
	}
	r.calls[at] += piece
	return out(core.Delta{Call: &core.CallDelta{Index: at, Arguments: piece}})
}

// itemDone keeps an item and hands out what of it was not streamed.
func (r *responsesReader) itemDone(raw json.RawMessage, out func(core.Delta) bool) bool {
	var item outputItem
	if json.Unmarshal(raw, &item) != nil {
		return true
	}
	r.items = append(r.items, append(json.RawMessage(nil), raw...))
	if item.Type == "function_call" {
		if _, known := r.index[item.ID]; !known {
			return r.added(raw, out)
		}
		if at := r.index[item.ID]; len(item.Arguments) > len(r.calls[at]) && strings.HasPrefix(item.Arguments, r.calls[at]) {
			return r.arguments(item.ID, item.Arguments[len(r.calls[at]):], out)
		}
		return true
	}
	if r.text[item.ID] {
		return true
	}
	for _, s := range item.Summary {
		if !r.say(item.ID, s.Text, "", out) {
			return false
		}
	}
	if item.Type != "message" {
		return true
	}
	for _, c := range item.Content {
		if !r.say(item.ID, "", c.Text+c.Refusal, out) {
			return false
		}
	}
	return true
}

func (r *responsesReader) ended(e responseEvent, out func(core.Delta) bool) error {
	r.finish = core.FinishStop
	if e.Response == nil {
		return nil
	}
	if len(r.items) == 0 {
		for _, item := range e.Response.Output {
			if !r.itemDone(item, out) {
				return errBreak
			}
		}
	}
	if e.Response.Usage != nil {
		r.usage = e.Response.Usage.core()
	}
	if e.Type == "response.incomplete" {
		r.finish = core.FinishLength
		if e.Response.Incomplete.Reason == "content_filter" {
			r.finish = core.FinishFiltered
		}
	}
	return nil
}

func (r *responsesReader) failed(e responseEvent) error {
	if e.Response == nil || len(e.Response.Error) == 0 || string(e.Response.Error) == "null" {
		return r.who.E(core.Unavailable, "%s gave up in the middle of the answer", r.who.Provider)
	}
	return r.who.InBand([]byte(`{"error":` + string(e.Response.Error) + `}`))
}

func (r *responsesReader) end(func(core.Delta) bool) (core.Delta, error) {
	switch {
	case r.finish == "":
		return core.Delta{}, r.who.Cut()
	case r.finish == core.FinishStop && !r.answered && len(r.calls) == 0:
		return core.Delta{}, r.who.Empty()
	}
	last := core.Delta{End: true, Finish: r.finish, Usage: r.usage}
	if len(r.items) > 0 && r.finish == core.FinishStop {
		if raw, err := encode(responsesNative{Items: r.items}); err == nil {
			last.Native = raw
		}
	}
	return last, nil
}
