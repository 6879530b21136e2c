package api

// StoredMessage is a message as it is stored, which only the context overview shows.
type StoredMessage struct {
	ID                string       `json:"id"`
	CreatedAt         Time         `json:"created_at"`
	AgentID           *string      `json:"agent_id"`
	ConversationID    *string      `json:"conversation_id"`
	Model             *string      `json:"model"`
	Role              string       `json:"role"`
	Content           []Part       `json:"content"`
	Name              *string      `json:"name"`
	ToolCalls         []StoredCall `json:"tool_calls"`
	ToolCallID        *string      `json:"tool_call_id"`
	ToolReturns       []ToolReturn `json:"tool_returns"`
	StepID            *string      `json:"step_id"`
	RunID             *string      `json:"run_id"`
	OTID              *string      `json:"otid"`
	ApprovalRequestID *string      `json:"approval_request_id"`
	Approve           *bool        `json:"approve"`
	DenialReason      *string      `json:"denial_reason"`
}

// StoredCall is a tool call in the chat completion format.
type StoredCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function StoredFunction `json:"function"`
}

// StoredFunction names the function and its arguments as JSON text.
type StoredFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
