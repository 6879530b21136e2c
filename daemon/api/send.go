package api

import "encoding/json"

// Request is what all ways of sending have in common. Give either Messages or Input.
type Request struct {
	Messages                  []Input       `json:"messages,omitempty"`
	Input                     *Content      `json:"input,omitempty"`
	MaxSteps                  *int          `json:"max_steps,omitempty"`
	UseAssistantMessage       *bool         `json:"use_assistant_message,omitempty"`
	AssistantMessageToolName  *string       `json:"assistant_message_tool_name,omitempty"`
	AssistantMessageToolKwarg *string       `json:"assistant_message_tool_kwarg,omitempty"`
	IncludeReturnMessageTypes []MessageType `json:"include_return_message_types,omitempty"`
	EnableThinking            *string       `json:"enable_thinking,omitempty"`
	ClientTools               []ClientTool  `json:"client_tools,omitempty"`
	ClientSkills              []ClientSkill `json:"client_skills,omitempty"`
	OverrideModel             *string       `json:"override_model,omitempty"`
	IncludeCompactionMessages *bool         `json:"include_compaction_messages,omitempty"`
	ReturnLogprobs            *bool         `json:"return_logprobs,omitempty"`
	TopLogprobs               *int          `json:"top_logprobs,omitempty" minimum:"0"`
	ReturnTokenIDs            *bool         `json:"return_token_ids,omitempty"`
	OverrideSystem            *string       `json:"override_system,omitempty"`

	// Ours: of this run.
	OverrideEffort         *string         `json:"override_effort,omitempty" enum:"none,minimal,low,medium,high,xhigh,max"`
	OverrideResponseFormat *ResponseFormat `json:"override_response_format,omitempty"`
}

// StreamingRequest is the body of POST /v1/agents/{id}/messages and …/messages/stream.
type StreamingRequest struct {
	Request
	Streaming    *bool `json:"streaming,omitempty"`
	StreamTokens *bool `json:"stream_tokens,omitempty"`
	IncludePings *bool `json:"include_pings,omitempty"`
	Background   *bool `json:"background,omitempty"`
}

// AsyncRequest is the body of POST /v1/agents/{id}/messages/async.
type AsyncRequest struct {
	Request
	CallbackURL *string `json:"callback_url,omitempty"`
}

// ConversationRequest is the body of POST /v1/conversations/{id}/messages; it streams unless told not to. AgentID is
// required if the conversation is "default".
type ConversationRequest struct {
	StreamingRequest
	AgentID *string `json:"agent_id,omitempty"`
}

// ClientTool is a tool that the caller runs itself.
type ClientTool struct {
	Name        string  `json:"name" required:"true"`
	Description *string `json:"description,omitempty"`
	Parameters  Object  `json:"parameters,omitempty"`
}

// ClientSkill is a skill that the caller offers for one request.
type ClientSkill struct {
	Name        string `json:"name" required:"true"`
	Description string `json:"description" required:"true"`
	Location    string `json:"location" required:"true"`
}

// The types of input.
const (
	InputMessage    = "message"
	InputApproval   = "approval"
	InputToolReturn = "tool_return"
)

// Input is one message of a request: a message, an answer to a pending approval, or the results of client-side tools.
// Kind says which; each kind uses a few of the keys.
type Input struct {
	Type    string  `json:"type,omitempty" enum:"message,approval,tool_return"`
	OTID    *string `json:"otid,omitempty"`
	GroupID *string `json:"group_id,omitempty"`

	Role        string   `json:"role,omitempty" enum:"user,system,assistant"` // message
	Content     *Content `json:"content,omitempty"`
	Text        *string  `json:"text,omitempty"` // the name that clients from 2024 use for content
	Name        *string  `json:"name,omitempty"`
	SenderID    *string  `json:"sender_id,omitempty"`
	BatchItemID *string  `json:"batch_item_id,omitempty"`

	Approvals         []Approval `json:"approvals,omitempty"` // approval
	Approve           *bool      `json:"approve,omitempty"`
	ApprovalRequestID *string    `json:"approval_request_id,omitempty"`
	Reason            *string    `json:"reason,omitempty"`

	ToolReturns []ToolReturn `json:"tool_returns,omitempty"` // tool_return
}

// UserInput returns a user message with text.
func UserInput(text, otid string) Input {
	return Input{Type: InputMessage, Role: "user", Content: &Content{Text: text}, OTID: PtrTo(otid)}
}

// Said returns a message's content under either of its names, or nil.
func (in Input) Said() *Content {
	if in.Content == nil && in.Text != nil {
		return &Content{Text: *in.Text}
	}
	return in.Content
}

// Kind returns the type of the input, even if the caller left it out.
func (in Input) Kind() string {
	switch {
	case in.Type == InputApproval || in.Type == InputToolReturn:
		return in.Type
	case in.Approve != nil || in.Approvals != nil || in.ApprovalRequestID != nil:
		return InputApproval
	default:
		return InputMessage
	}
}

// The types of answers to a pending tool call.
const (
	ApprovalDecision = "approval"
	ApprovalReturn   = "tool"
)

// Approval answers one pending tool call: a person's decision, or the result of a tool that the client ran.
type Approval struct {
	Type       string   `json:"type,omitempty" enum:"approval,tool"`
	ToolCallID string   `json:"tool_call_id" required:"true"`
	Approve    *bool    `json:"approve,omitempty"` // approval
	Reason     *string  `json:"reason,omitempty"`
	ToolReturn *Content `json:"tool_return,omitempty"` // tool
	Status     string   `json:"status,omitempty" enum:"success,error"`
	Stdout     []string `json:"stdout,omitempty"`
	Stderr     []string `json:"stderr,omitempty"`
}

// MarshalJSON fills in the type, by which SDKs distinguish the two.
func (a Approval) MarshalJSON() ([]byte, error) {
	type plain Approval
	p := plain(a)
	if p.Type == "" {
		p.Type = ApprovalDecision
		if p.ToolReturn != nil {
			p.Type = ApprovalReturn
		}
	}
	return json.Marshal(p)
}

// The statuses of a tool's result.
const (
	StatusSuccess = "success"
	StatusError   = "error"
)

// ToolReturn is the result of one tool call.
type ToolReturn struct {
	Type       string   `json:"type,omitempty"`
	ToolReturn Content  `json:"tool_return" required:"true"`
	Status     string   `json:"status" required:"true" enum:"success,error"`
	ToolCallID string   `json:"tool_call_id" required:"true"`
	Stdout     []string `json:"stdout,omitempty"`
	Stderr     []string `json:"stderr,omitempty"`
}

// MarshalJSON fills in the type, by which SDKs recognise a tool return.
func (t ToolReturn) MarshalJSON() ([]byte, error) {
	type plain ToolReturn
	p := plain(t)
	if p.Type == "" {
		p.Type = ApprovalReturn
	}
	return json.Marshal(p)
}

// CancelRuns is the body of POST /v1/agents/{id}/messages/cancel. The response maps each run's id to its status.
type CancelRuns struct {
	RunIDs []string `json:"run_ids,omitempty"`
}
