package openai

import (
	"context"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
)

// neutralModel replaces the model's name while go-openai looks at the request: it rejects some parameters based on the
// name, even for servers that merely use such a name. The transport puts the real name back.
const neutralModel = "model"

// chatNative is what is kept of an assistant turn for Chat, besides the normalised form.
type chatNative struct {
	ReasoningContent string                       `json:"reasoning_content,omitempty"`
	ReasoningDetails []map[string]json.RawMessage `json:"reasoning_details,omitempty"`
}

// chatTurn is one request on Chat Completions.
type chatTurn struct {
	chatReader
	client *Client
	req    openai.ChatCompletionRequest
}

func newChatTurn(c *Client, req core.ChatRequest, x *exchange, left map[wire.Refusal]bool) roundTrip {
	b := chatBuilder{q: c.quirks, req: req, set: map[string]any{"model": req.Model}}
	b.q.NoStreamOptions = b.q.NoStreamOptions || left[wire.RefusedUsage]
	b.fold = left[wire.RefusedSystem]
	t := &chatTurn{client: c, req: b.build(), chatReader: newChatReader(c, req, x)}
	x.set = b.set
	x.whole = x.whole || req.Tokens != nil              // SGLang gives them only of whole answers
	x.wrap = func(whole []byte) []byte { return whole } // the reader also understands a message in place of a delta
	return t
}

func (t *chatTurn) open(ctx context.Context) (stream, error) {
	return t.client.api.CreateChatCompletionStream(ctx, t.req)
}

// chatBuilder turns a request into go-openai's, plus edits for what go-openai has no fields for.
type chatBuilder struct {
	q    Quirks
	req  core.ChatRequest
	fold bool           // put the system text into the first user message
	set  map[string]any // top-level fields
	out  []chatMessage
}

// chatMessage is a message on the wire. go-openai's own type omits empty fields even where servers require them.
type chatMessage struct {
	Role             string                       `json:"role"`
	Content          chatContent                  `json:"content"`
	Name             string                       `json:"name,omitempty"`
	ReasoningContent *string                      `json:"reasoning_content,omitempty"`
	ReasoningDetails []map[string]json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []openai.ToolCall            `json:"tool_calls,omitempty"`
	ToolCallID       string                       `json:"tool_call_id,omitempty"`
}

func (b *chatBuilder) build() openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: neutralModel, Stream: true}
	if !b.q.NoStreamOptions {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	b.messages()
	b.set["messages"] = b.out
	for _, tool := range b.req.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Parameters: parameters(tool.Parameters),
		}})
	}
	b.tools(&out)
	b.settings(&out)
	return out
}

func (b *chatBuilder) tools(out *openai.ChatCompletionRequest) {
	if len(b.req.Tools) == 0 {
		return
	}
	if choice := toolChoice(b.q.Force, b.req.Choice); choice != nil {
		out.ToolChoice = choice
	}
	switch {
	case b.q.Parallel == ParallelNever || b.q.OwnHost && Reasons(b.req.Family()):
	case !b.req.Parallel:
		out.ParallelToolCalls = false
	case b.q.Parallel == ParallelOn:
		out.ParallelToolCalls = true
	}
}

// toolChoice returns nil if the model decides, which is every server's default.
func toolChoice(force Force, choice core.ToolChoice) any {
	switch {
	case choice.Mode == core.ChoiceNone:
		return "none"
	case choice.Mode == core.ChoiceAuto || force == ForceNot:
		return nil
	case force == ForceAny:
		return "any"
	case choice.Mode == core.ChoiceNamed && force == ForceNamed:
		return openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice.Name}}
	}
	return "required"
}

func (b *chatBuilder) settings(out *openai.ChatCompletionRequest) {
	s := b.req.Settings
	if s.Temperature != nil && !Reasons(b.req.Family()) {
		b.set["temperature"] = *s.Temperature // go-openai omits 0
	}
	if s.MaxOutputTokens > 0 {
		if b.q.CompletionLimit || Reasons(b.req.Family()) {
			out.MaxCompletionTokens = s.MaxOutputTokens
		} else {
			out.MaxTokens = s.MaxOutputTokens //nolint:staticcheck // deprecated at OpenAI only
		}
	}
	if format := answerFormat(wire.FormatOf(&b.req)); format != nil {
		b.set["response_format"] = format
	}
	if b.q.CacheKey && b.req.CacheKey != "" {
		b.set["prompt_cache_key"] = cacheKey(b.req.CacheKey)
	}
	b.effort(s.ReasoningEffort)
	if wish := b.req.Tokens; wish != nil {
		b.set["logprobs"] = true
		if wish.Top > 0 {
			b.set["top_logprobs"] = wish.Top
		}
		if wish.IDs {
			b.set["return_token_ids"] = true
		}
	}
}

func (b *chatBuilder) effort(effort string) {
	if effort == "" {
		return
	}
	switch b.q.Effort {
	case EffortFlat:
		if !b.q.OwnHost || Reasons(b.req.Family()) {
			b.set["reasoning_effort"] = effort
		}
	case EffortLevels:
		b.set["reasoning_effort"] = level(effort)
	case EffortObject:
		b.set["reasoning"] = map[string]any{"effort": effort}
	case EffortDeepSeek:
		switch effort {
		case "none":
			b.set["thinking"] = map[string]any{"type": "disabled"}
		case "minimal", "low":
			b.set["reasoning_effort"] = "low"
		default:
			b.set["reasoning_effort"] = "high"
		}
	case EffortTemplate:
		if effort == "none" {
			b.set["chat_template_kwargs"] = map[string]any{"enable_thinking": false}
		} else {
			b.set["reasoning_effort"] = level(effort)
		}
	}
}

// level maps an effort to the three levels that open models know.
func level(effort string) string {
	switch effort {
	case "none", "minimal", "low":
		return "low"
	case "medium":
		return "medium"
	}
	return "high"
}

// cacheKey shortens the key to what servers accept.
func cacheKey(key string) string {
	if len(key) <= 64 {
		return key
	}
	return wire.ShortID(key, 32)
}

func (b *chatBuilder) messages() {
	if b.req.System != "" && b.fold {
		b.user(plainText(b.req.System), "")
	} else if b.req.System != "" {
		role := b.q.SystemRole
		if role == "" {
			role = openai.ChatMessageRoleSystem
		}
		b.add(chatMessage{Role: role, Content: plainText(b.req.System)})
	}
	for _, m := range b.req.Messages {
		switch m.Role {
		case core.ChatUser:
			name := ""
			if b.q.OwnHost && m.Name != "" && len(m.Name) <= 64 && plainName(m.Name, "_-") {
				name = m.Name
			}
			b.user(contentOf(&m), name)
		case core.ChatReminder:
			b.user(plainText(core.Reminder(m.Text)), "")
		case core.ChatAssistant:
			b.assistant(m)
		case core.ChatTool:
			for _, r := range m.Returns {
				b.add(chatMessage{Role: openai.ChatMessageRoleTool, Content: plainText(r.Text), ToolCallID: b.callID(r.CallID)})
			}
			if shown, ok := wire.Returned(&m); ok {
				b.user(contentOf(&shown), "")
			}
		}
	}
}

func (b *chatBuilder) add(m chatMessage) { b.out = append(b.out, m) }

func (b *chatBuilder) user(content chatContent, name string) {
	if n := len(b.out); b.q.NoUserAfterTool && n > 0 && b.out[n-1].Role == openai.ChatMessageRoleTool {
		b.add(chatMessage{Role: openai.ChatMessageRoleAssistant, Content: plainText("Understood.")})
	}
	// Templates without a system role need alternating turns.
	if n := len(b.out); b.fold && n == 1 && b.out[0].Role == openai.ChatMessageRoleUser {
		b.out[0].Content = append(append(b.out[0].Content, chatPiece{Text: "\n\n"}), content...)
		return
	}
	b.add(chatMessage{Role: openai.ChatMessageRoleUser, Content: content, Name: name})
}

func (b *chatBuilder) assistant(m core.ChatMessage) {
	out := chatMessage{Role: openai.ChatMessageRoleAssistant, Content: plainText(m.Text)}
	for _, call := range m.Calls {
		args := call.Arguments
		if args == "" {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID: b.callID(call.ID), Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: args},
		})
	}
	var native chatNative
	if m.Native != nil {
		_ = json.Unmarshal(m.Native.Data, &native) // another shape: nothing to send back
	}
	calls := len(m.Calls) > 0
	switch {
	case b.q.History == HistoryAlways && calls, b.q.History == HistoryCalls && calls && native.ReasoningContent != "":
		out.ReasoningContent = &native.ReasoningContent
	case b.q.History == HistoryDetails:
		out.ReasoningDetails = native.ReasoningDetails
	}
	b.add(out)
}

func (b *chatBuilder) callID(id string) string {
	if !b.q.ShortIDs || len(id) == 9 && plainName(id, "") {
		return id
	}
	return wire.ShortID(id, 9)
}

// plainName reports whether a name consists of ASCII letters, digits and the given other characters.
func plainName(name, others string) bool {
	for _, r := range name {
		if (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return true
}

// parameters returns a tool's schema, or an empty one, since servers refuse a function without.
func parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}
