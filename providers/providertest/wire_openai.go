package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

type object = map[string]any

// textOf reads content that is text or an array of parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // any other form has no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// choiceOf reads a tool choice: a word, or an object with a name somewhere.
func choiceOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	_ = json.Unmarshal(raw, &o) // absent
	return o.Name + o.Function.Name
}

// chatWire is OpenAI Chat Completions.
type chatWire struct{}

func (chatWire) parse(body []byte) (Request, error) {
	req := Request{Wire: Chat}
	var in struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		Parallel *bool           `json:"parallel_tool_calls"`
		Choice   json.RawMessage `json:"tool_choice"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			CallID  string          `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, err
	}
	req.Model, req.Stream, req.Parallel, req.ToolChoice = in.Model, in.Stream, in.Parallel, choiceOf(in.Choice)
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for i, m := range in.Messages {
		if len(m.Content) == 0 || string(m.Content) == "null" && m.Role != "assistant" {
			return req, fmt.Errorf("messages[%d].content: expected a string, got null", i)
		}
		if i == 0 && (m.Role == "system" || m.Role == "developer") {
			req.System = textOf(m.Content)
			continue
		}
		out := Message{Role: m.Role, Text: textOf(m.Content), CallID: m.CallID}
		for _, c := range m.Calls {
			if c.Function.Arguments == "" {
				return req, fmt.Errorf("messages[%d]: a call without arguments", i)
			}
			out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, out)
	}
	return req, answered(req.Messages)
}

// answered refuses what the real services refuse: a call without its result, a result without its call.
func answered(messages []Message) error {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role != "tool" && len(open) > 0 && len(m.Calls) == 0 {
			return fmt.Errorf("an assistant message with tool calls must be followed by tool messages responding to each of them")
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Role == "tool" {
			if !open[m.CallID] {
				return fmt.Errorf("a tool message must be a response to a preceding message with tool calls")
			}
			delete(open, m.CallID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last tool calls have no results")
	}
	return nil
}

func chatUsage(u *Usage) any {
	if u == nil {
		return nil
	}
	out := object{"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion}
	if u.Cached != nil {
		out["prompt_tokens_details"] = object{"cached_tokens": *u.Cached}
	}
	if u.Reasoning != nil {
		out["completion_tokens_details"] = object{"reasoning_tokens": *u.Reasoning}
	}
	return out
}

func (chatWire) send(o *writer, req Request, id string, t Turn) {
	finish := t.Finish
	if finish == "" {
		finish = "stop"
		if len(t.Calls) > 0 {
			finish = "tool_calls"
		}
	}
	base := func(choices []object) object {
		return object{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": req.Model, "choices": choices}
	}
	if !req.Stream {
		o.w.Header().Set("Content-Type", "application/json")
		message := object{"role": "assistant", "content": t.Text, "reasoning_content": t.Reasoning}
		if len(t.Calls) > 0 {
			message["tool_calls"] = chatCalls(t.Calls)
		}
		whole := base([]object{{"index": 0, "message": message, "finish_reason": finish}})
		whole["object"], whole["usage"] = "chat.completion", chatUsage(t.Usage)
		o.line("", whole, "\n")
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta object, finish any) bool {
		if !o.wait(o.gap) {
			return false
		}
		o.line("data: ", base([]object{{"index": 0, "delta": delta, "finish_reason": finish}}), "\n\n")
		return true
	}
	ok := chunk(object{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(t.Reasoning) {
		ok = ok && chunk(object{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(t.Text) {
		ok = ok && chunk(object{"content": p}, nil)
	}
	for i, c := range t.Calls {
		ok = ok &&
			chunk(
				object{
					"tool_calls": []object{
						{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}},
					},
				},
				nil,
			)
		for _, p := range halves(c.Arguments) {
			ok = ok && chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	if !ok || broken(o, t.Fail) {
		return
	}
	chunk(object{}, finish)
	if t.Usage != nil {
		last := base([]object{})
		last["usage"] = chatUsage(t.Usage)
		o.line("data: ", last, "\n\n")
	}
	_, _ = o.w.Write([]byte("data: [DONE]\n\n")) // a client that has left needs no answer
}

func chatCalls(calls []Call) []object {
	var out []object
	for _, c := range calls {
		out = append(out, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	return out
}

// broken breaks an OpenAI stream if the turn says so.
func broken(o *writer, f *Fail) bool {
	if f == nil {
		return false
	}
	switch f.Broken {
	case Disconnect:
		o.cut()
	case Stall:
		o.wait(time.Hour)
	case Garbage:
		_, _ = o.w.Write([]byte("\x00\xff}{ not a stream\n\n")) // a client that has left needs no answer
	case MidStream:
		message := f.Message
		if message == "" {
			message = "The server had an error while processing your request"
		}
		code := f.Code
		if code == "" {
			code = "server_error"
		}
		o.line("data: ", object{"error": object{"message": message, "type": "server_error", "code": code}}, "\n\n")
	case Truncate:
	default:
		return false
	}
	return true
}

// responsesWire is OpenAI Responses.
type responsesWire struct{}

func (responsesWire) parse(body []byte) (Request, error) {
	req := Request{Wire: Responses}
	var in struct {
		Model        string            `json:"model"`
		Stream       bool              `json:"stream"`
		Instructions string            `json:"instructions"`
		Parallel     *bool             `json:"parallel_tool_calls"`
		Choice       json.RawMessage   `json:"tool_choice"`
		Input        []json.RawMessage `json:"input"`
		Tools        []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, err
	}
	req.Model, req.Stream, req.System, req.Parallel, req.ToolChoice = in.Model, in.Stream, in.Instructions, in.Parallel, choiceOf(in.Choice)
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	for i, raw := range in.Input {
		var item struct {
			Type      string          `json:"type"`
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			CallID    string          `json:"call_id"`
			Name      string          `json:"name"`
			Arguments string          `json:"arguments"`
			Output    *string         `json:"output"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return req, err
		}
		switch item.Type {
		case "", "message":
			req.Messages = append(req.Messages, Message{Role: item.Role, Text: textOf(item.Content)})
		case "function_call":
			req.Messages = append(
				req.Messages,
				Message{Role: "assistant", Calls: []Call{{ID: item.CallID, Name: item.Name, Arguments: item.Arguments}}},
			)
		case "function_call_output":
			if item.Output == nil {
				return req, fmt.Errorf("input[%d].output: missing", i)
			}
			req.Messages = append(req.Messages, Message{Role: "tool", Text: *item.Output, CallID: item.CallID})
		case "reasoning":
			if i+1 == len(in.Input) {
				return req, fmt.Errorf("item of type 'reasoning' was provided without its required following item")
			}
		}
	}
	return req, answered(req.Messages)
}

// responseItem is one item of the answer and how it streams.
type responseItem struct {
	item   object // when it is done
	added  object // when it is opened
	event  string // of its deltas
	deltas []string
}

func responseItems(id string, t Turn) []responseItem {
	var items []responseItem
	if t.Reasoning != "" {
		itemID := "rs_" + id
		done := object{
			"type":              "reasoning",
			"id":                itemID,
			"summary":           []object{{"type": "summary_text", "text": t.Reasoning}},
			"encrypted_content": "sealed-" + id,
		}
		items = append(items, responseItem{
			item: done, added: object{"type": "reasoning", "id": itemID, "summary": []object{}},
			event: "response.reasoning_summary_text.delta", deltas: pieces(t.Reasoning),
		})
	}
	if t.Text != "" {
		itemID := "msg_" + id
		done := object{
			"type": "message", "id": itemID, "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": t.Text, "annotations": []object{}}},
		}
		items = append(items, responseItem{
			item: done, added: object{"type": "message", "id": itemID, "role": "assistant", "content": []object{}},
			event: "response.output_text.delta", deltas: pieces(t.Text),
		})
	}
	for i, c := range t.Calls {
		itemID := fmt.Sprintf("fc_%s%d", id, i)
		done := object{
			"type":      "function_call",
			"id":        itemID,
			"call_id":   c.ID,
			"name":      c.Name,
			"arguments": c.Arguments,
			"status":    "completed",
		}
		items = append(items, responseItem{
			item: done, added: object{"type": "function_call", "id": itemID, "call_id": c.ID, "name": c.Name, "arguments": ""},
			event: "response.function_call_arguments.delta", deltas: halves(c.Arguments),
		})
	}
	return items
}

func (responsesWire) send(o *writer, req Request, id string, t Turn) {
	items := responseItems(id, t)
	output := []object{}
	for _, it := range items {
		output = append(output, it.item)
	}
	status, details := "completed", any(nil)
	if t.Finish != "" {
		reason := strings.Replace(t.Finish, "length", "max_output_tokens", 1)
		status, details = "incomplete", object{"reason": reason}
	}
	response := object{
		"id": "resp_" + id, "object": "response", "created_at": 1, "model": req.Model, "status": status,
		"output": output, "error": nil, "incomplete_details": details, "usage": responsesUsage(t.Usage),
	}
	if !req.Stream {
		o.w.Header().Set("Content-Type", "application/json")
		o.line("", response, "\n")
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream")
	seq := 0
	event := func(name string, body object) bool {
		if !o.wait(o.gap) {
			return false
		}
		body["type"], body["sequence_number"] = name, seq
		seq++
		o.line("event: "+name+"\ndata: ", body, "\n\n")
		return true
	}
	ok := event(
		"response.created",
		object{
			"response": object{"id": "resp_" + id, "object": "response", "created_at": 1, "status": "in_progress", "output": []object{}},
		},
	)
	for i, it := range items {
		ok = ok && event("response.output_item.added", object{"output_index": i, "item": it.added})
		for _, d := range it.deltas {
			ok = ok && event(it.event, object{"output_index": i, "item_id": it.item["id"], "delta": d})
		}
		ok = ok && (t.Fail != nil || event("response.output_item.done", object{"output_index": i, "item": it.item}))
	}
	if !ok {
		return
	}
	if t.Fail != nil && t.Fail.Broken == MidStream {
		message := t.Fail.Message
		if message == "" {
			message = "The server had an error while processing your request"
		}
		event("error", object{"code": orServerError(t.Fail.Code), "message": message, "param": nil})
		return
	}
	if broken(o, t.Fail) {
		return
	}
	event("response."+status, object{"response": response})
}

func orServerError(code string) string {
	if code == "" {
		return "server_error"
	}
	return code
}

func responsesUsage(u *Usage) any {
	if u == nil {
		return nil
	}
	out := object{"input_tokens": u.Prompt, "output_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion}
	if u.Cached != nil {
		out["input_tokens_details"] = object{"cached_tokens": *u.Cached}
	}
	if u.Reasoning != nil {
		out["output_tokens_details"] = object{"reasoning_tokens": *u.Reasoning}
	}
	return out
}
