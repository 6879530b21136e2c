package api

// Paths of what waits for a person. Answers are sent to a conversation: PathConversations + /{id}/approvals.
const PathApprovals = "/loci/v1/approvals" // + /{request_id}

// ListApprovals are the parameters of GET /loci/v1/approvals; without an agent it lists those of all.
type ListApprovals struct {
	AgentID string `query:"agent_id"`
}

// ApprovalList is everything that waits for a person, the oldest first.
type ApprovalList struct {
	Approvals []WaitingRequest `json:"approvals"`
}

// WaitingRequest is a request for approval that nobody has answered yet. All of its calls are answered at once.
type WaitingRequest struct {
	AgentID        string        `json:"agent_id"`
	AgentName      string        `json:"agent_name"`
	ConversationID string        `json:"conversation_id"` // of the default conversation: the agent's id
	RunID          string        `json:"run_id"`
	RequestID      string        `json:"request_id"`
	RequestedAt    Time          `json:"requested_at"`
	Calls          []WaitingCall `json:"calls"`
}

// WaitingCall is one call of a request. Hash is that of its arguments: an answer that names it is refused if they are others
// by then. Client says that the program that sent the message runs it, and answers with what it returned. Always are the rules
// that would allow it from now on; none if it asks each time.
type WaitingCall struct {
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
	Arguments  string `json:"arguments"`
	Hash       string `json:"hash"`
	Why        string `json:"why"`
	Client     bool   `json:"client,omitempty"`

	Always []string `json:"always,omitempty"`

	Uncaged bool `json:"uncaged,omitempty"` // a person can let it run outside of the sandbox
}

// AnswerRequest is the body of POST /loci/v1/conversations/{id}/approvals: the options of a message, with answers in front of
// it. Messages may follow the answers and may be absent. AgentID is required if the conversation is "default".
type AnswerRequest struct {
	ConversationRequest
	OTID      *string    `json:"otid,omitempty"`
	Approvals []Decision `json:"approvals" required:"true"`
}

// Decision answers one waiting call, as Approval does. RequestID and Hash, if given, must be those of what waits. Arguments
// replace those that wait: JSON text. Rules allow what is like the call from now on: for the session, or in the folder of the
// run that asked; they need RequestID and Hash.
type Decision struct {
	Type       string   `json:"type,omitempty" enum:"approval,tool"`
	ToolCallID string   `json:"tool_call_id" required:"true"`
	Approve    *bool    `json:"approve,omitempty"` // approval
	Reason     *string  `json:"reason,omitempty"`
	ToolReturn *Content `json:"tool_return,omitempty"` // tool
	Status     string   `json:"status,omitempty" enum:"success,error"`
	Stdout     []string `json:"stdout,omitempty"`
	Stderr     []string `json:"stderr,omitempty"`

	RequestID string  `json:"request_id,omitempty"`
	Hash      string  `json:"hash,omitempty"`
	Arguments *string `json:"arguments,omitempty"`

	Rules []string `json:"rules,omitempty"`
	Scope string   `json:"scope,omitempty" enum:"session,folder"`

	Uncaged bool `json:"uncaged,omitempty"` // the line runs outside of the sandbox, this once
}

// What an answer counts for.
const (
	ScopeNo      = "no"   // of a question: it is not allowed
	ScopeOnce    = "once" // of a question: to that line
	ScopeSession = "session"
	ScopeFolder  = "folder"
)
