package api

// Conversation is a thread of an agent.
type Conversation struct {
	ID                  string         `json:"id" required:"true"`
	CreatedByID         *string        `json:"created_by_id"`
	LastUpdatedByID     *string        `json:"last_updated_by_id"`
	CreatedAt           *Time          `json:"created_at"`
	UpdatedAt           *Time          `json:"updated_at"`
	AgentID             string         `json:"agent_id" required:"true"`
	Summary             *string        `json:"summary"`
	InContextMessageIDs List[string]   `json:"in_context_message_ids"`
	IsolatedBlockIDs    List[string]   `json:"isolated_block_ids"`
	Model               *string        `json:"model"`
	ModelSettings       *ModelSettings `json:"model_settings"`
	LastMessageAt       *Time          `json:"last_message_at"`
}

// CreateConversation is the body of POST /v1/conversations/?agent_id=.
type CreateConversation struct {
	Summary             *string        `json:"summary,omitempty"`
	IsolatedBlockLabels []string       `json:"isolated_block_labels,omitempty"`
	Model               *string        `json:"model,omitempty"`
	ModelSettings       *ModelSettings `json:"model_settings,omitempty"`
}

// UpdateConversation is the body of PATCH /v1/conversations/{id}.
type UpdateConversation struct {
	Summary       Opt[string]        `json:"summary,omitzero"`
	Model         Opt[string]        `json:"model,omitzero"`
	ModelSettings Opt[ModelSettings] `json:"model_settings,omitzero"`
	LastMessageAt Opt[Time]          `json:"last_message_at,omitzero"`
}

// DefaultConversation names an agent's default conversation in paths.
const DefaultConversation = "default"

// ListConversations are the parameters of GET /v1/conversations/.
type ListConversations struct {
	AgentID       string `query:"agent_id"`
	Limit         int    `query:"limit" minimum:"1" maximum:"1000"`
	After         string `query:"after"`
	SummarySearch string `query:"summary_search"`
	Order         string `query:"order" enum:"asc,desc"`
	OrderBy       string `query:"order_by" enum:"created_at,last_run_completion,last_message_at"`
}

// AgentParam names the agent whose default conversation is meant.
type AgentParam struct {
	AgentID string `query:"agent_id"`
}
