package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
)

// responsesNative is what is kept of an assistant turn for Responses: its output items, verbatim.
type responsesNative struct {
	Items []json.RawMessage `json:"items"`
}

// responsesTurn is one request on Responses.
type responsesTurn struct {
	responsesReader
	client *Client
	req    openai.CreateResponseRequest
}

func newResponsesTurn(c *Client, req core.ChatRequest, x *exchange, left map[wire.Refusal]bool) roundTrip {
	t := &responsesTurn{client: c, responsesReader: responsesReader{who: c.who, x: x, offered: names(req.Tools), text: map[string]bool{}}}
	t.req = responsesRequest(c.quirks, req, !left[wire.RefusedSummary])
	x.set = map[string]any{"input": responsesInput(req.Messages)}
	x.wrap = wrapResponse
	return t
}

func (t *responsesTurn) open(ctx context.Context) (stream, error) {
	return t.client.api.CreateResponseStream(ctx, t.req)
}

// wrapResponse turns an answer that wasn't streamed into the last event of a stream.
func wrapResponse(whole []byte) []byte {
	var status struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(whole, &status) != nil || status.Status == "" {
		status.Status = "completed"
	}
	name, err := wire.Encode("response." + status.Status)
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
	if t := req.Settings.Temperature; t != nil && !Reasons(req.Family()) {
		t32 := float32(*t)
		out.Temperature = &t32
	}
	out.Text = textConfig(wire.FormatOf(&req))
	if !strings.Contains(req.Family(), "non-reasoning") {
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

// responsesInput makes the items. A turn with native items goes out exactly as it came in.
func responsesInput(messages []core.ChatMessage) []any {
	items := []any{}
	for _, m := range messages {
		switch m.Role {
		case core.ChatUser:
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: "user", Content: responseContent(&m)})
		case core.ChatReminder:
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: "user", Content: core.Reminder(m.Text)})
		case core.ChatAssistant:
			items = append(items, assistantItems(m)...)
		case core.ChatTool:
			for _, r := range m.Returns {
				out := openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: r.CallID, Output: responseOutput(&r)}
				items = append(items, out)
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

// responseEvent is one event of Responses, with the fields that we need.
type responseEvent struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	Output       count           `json:"output_index"`
	Delta        json.RawMessage `json:"delta"`
	SummaryIndex count           `json:"summary_index"`
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
	Input     count `json:"input_tokens"`
	Output    count `json:"output_tokens"`
	Total     count `json:"total_tokens"`
	InputMore *struct {
		Cached count `json:"cached_tokens"`
		Write  count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputMore *struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// core returns nil if nothing is reported.
func (u *responseUsage) core() *core.Usage {
	out := counted(u.Input, u.Output, u.Total)
	if out == nil {
		return nil
	}
	if u.InputMore != nil {
		out.Cached, out.CacheWrite = u.InputMore.Cached.n, u.InputMore.Write.n
	}
	if u.OutputMore != nil {
		out.Reasoning = u.OutputMore.Reasoning.n
	}
	return out
}

// outputItem is an item of the answer, with the fields that we need. What is kept is its raw form.
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
	x        *exchange
	offered  []string
	calls    []responseCall
	items    []json.RawMessage
	text     map[string]bool // items whose text or reasoning was streamed
	finish   core.Finish
	usage    *core.Usage
	answered bool
	mended   bool // the items can't be sent back as they came
	refused  bool
}

// responseCall is a call that is still arriving. Gateways give one item different names in different events.
type responseCall struct {
	item   string // its id
	call   string // its call_id
	output *int   // its index among the items
	args   string // seen so far
	done   bool
}

func (r *responsesReader) event(data []byte, out func(core.Delta) bool) (done bool, err error) {
	var e responseEvent
	if !wire.Decode(data, &e) {
		return false, r.who.E(core.Unavailable, "%s sent an event that cannot be read", r.who.Provider)
	}
	r.x.alive.Heard()
	ok := true
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		r.refused = r.refused || e.Type == "response.refusal.delta"
		ok = r.say(e.ItemID, "", plain(e.Delta), out)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		ok = r.say(e.ItemID, plain(e.Delta), "", out)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex.value() > 0 {
			ok = r.say(e.ItemID, "\n\n", "", out)
		}
	case "response.output_item.added":
		ok = r.added(e.Item, e.Output.n, out)
	case "response.function_call_arguments.delta":
		ok = r.arguments(r.find(e.ItemID, "", e.Output.n), plain(e.Delta), out)
	case "response.output_item.done":
		ok = r.itemDone(e.Item, e.Output.n, out)
	case "response.completed", "response.incomplete":
		return true, r.ended(e, out)
	case "response.failed":
		return false, r.failed(e)
	}
	if !ok {
		return false, errBreak
	}
	return r.finish != "", nil
}

// settled reports whether nothing more is to come: if there is any usage, the last event has it.
func (r *responsesReader) settled() bool { return true }

func (r *responsesReader) say(item, reasoning, text string, out func(core.Delta) bool) bool {
	if reasoning == "" && text == "" {
		return true
	}
	r.text[item] = true
	r.answered = r.answered || text != ""
	return out(core.Delta{Reasoning: reasoning, Text: text})
}

// find returns the index of a call, by whichever of its names is known; -1 for a new one.
func (r *responsesReader) find(item, call string, output *int) int {
	for _, known := range []func(responseCall) bool{
		func(c responseCall) bool { return item != "" && c.item == item && (!c.done || !c.elsewhere(output)) },
		func(c responseCall) bool { return output != nil && c.output != nil && *c.output == *output && !c.done },
		func(c responseCall) bool { return call != "" && c.call == call && !c.done && !c.elsewhere(output) },
	} {
		if at := slices.IndexFunc(r.calls, known); at >= 0 {
			return at
		}
	}
	return -1
}

// elsewhere reports whether a call is known to be at another index.
func (c responseCall) elsewhere(output *int) bool {
	return output != nil && c.output != nil && *c.output != *output
}

// added opens a call as soon as its name is known.
func (r *responsesReader) added(raw json.RawMessage, output *int, out func(core.Delta) bool) bool {
	var item outputItem
	if !wire.Decode(raw, &item) || item.Type != "function_call" || r.find(item.ID, item.CallID, output) >= 0 {
		return true
	}
	id := item.CallID
	taken := slices.ContainsFunc(r.calls, func(c responseCall) bool { return c.call == id })
	if id == "" || taken || len(id) > mostCallID {
		id, r.mended = wire.NewCallID(), true
	}
	name := wire.ToolName(item.Name, r.offered)
	r.mended = r.mended || name != item.Name
	r.calls = append(r.calls, responseCall{item: item.ID, call: item.CallID, output: output, args: item.Arguments})
	return out(core.Delta{Call: &core.CallDelta{Index: len(r.calls) - 1, ID: id, Name: name, Arguments: item.Arguments}})
}

func (r *responsesReader) arguments(at int, piece string, out func(core.Delta) bool) bool {
	if at < 0 || piece == "" {
		return true
	}
	r.calls[at].args += piece
	return out(core.Delta{Call: &core.CallDelta{Index: at, Arguments: piece}})
}

// itemDone keeps an item and yields whatever of it wasn't streamed.
func (r *responsesReader) itemDone(raw json.RawMessage, output *int, out func(core.Delta) bool) bool {
	var item outputItem
	if !wire.Decode(raw, &item) {
		return true
	}
	r.items = append(r.items, append(json.RawMessage(nil), raw...))
	if item.Type == "function_call" {
		return r.callDone(raw, item, output, out)
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
		r.refused = r.refused || c.Refusal != ""
		if !r.say(item.ID, "", c.Text+c.Refusal, out) {
			return false
		}
	}
	return true
}

func (r *responsesReader) callDone(raw json.RawMessage, item outputItem, output *int, out func(core.Delta) bool) bool {
	at := r.find(item.ID, item.CallID, output)
	if at < 0 {
		if !r.added(raw, output, out) {
			return false
		}
		at = len(r.calls) - 1
	}
	c := &r.calls[at]
	c.done = true
	if item.CallID != c.call {
		r.mended = true
	}
	if len(item.Arguments) > len(c.args) && strings.HasPrefix(item.Arguments, c.args) {
		return r.arguments(at, item.Arguments[len(c.args):], out)
	}
	return true
}

func (r *responsesReader) ended(e responseEvent, out func(core.Delta) bool) error {
	r.finish = core.FinishStop
	if e.Response == nil {
		return nil
	}
	if len(r.items) == 0 {
		for i, item := range e.Response.Output {
			if !r.itemDone(item, &i, out) {
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
	if r.finish == "" && r.x.ended && len(r.items) > 0 && !r.half() { // a gateway that sends [DONE] instead
		r.finish = core.FinishStop
	}
	switch {
	case r.finish == "":
		return core.Delta{}, r.who.Cut()
	case r.finish == core.FinishStop && !r.answered && len(r.calls) == 0:
		return core.Delta{}, r.who.Empty()
	}
	last := core.Delta{End: true, Finish: r.finish, Usage: r.usage}
	if r.refused && r.finish == core.FinishStop {
		last.Finish = core.FinishRefused
	}
	if len(r.items) > 0 && r.finish == core.FinishStop && !r.mended {
		if raw, err := wire.Encode(responsesNative{Items: r.items}); err == nil {
			last.Native = raw
		}
	}
	return last, nil
}

// half reports whether a call never ended.
func (r *responsesReader) half() bool {
	return slices.ContainsFunc(r.calls, func(c responseCall) bool { return !c.done })
}
