package api

// RunStatus is the state of a run.
type RunStatus string

// The run statuses.
const (
	RunCreated   RunStatus = "created"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Active reports whether the run has not ended yet.
func (s RunStatus) Active() bool { return s == RunCreated || s == RunRunning }

// Run is one accepted request to an agent and all the work done for it.
type Run struct {
	ID                 string         `json:"id"`
	Status             RunStatus      `json:"status"`
	CreatedAt          Time           `json:"created_at"`
	CompletedAt        *Time          `json:"completed_at"`
	AgentID            string         `json:"agent_id" required:"true"`
	ConversationID     *string        `json:"conversation_id"`
	BaseTemplateID     *string        `json:"base_template_id"`
	Background         *bool          `json:"background"`
	Metadata           Object         `json:"metadata"`
	RequestConfig      *RequestConfig `json:"request_config"`
	StopReason         *StopReason    `json:"stop_reason"`
	CallbackURL        *string        `json:"callback_url"`
	CallbackSentAt     *Time          `json:"callback_sent_at"`
	CallbackStatusCode *int           `json:"callback_status_code"`
	CallbackError      *string        `json:"callback_error"`
	TTFTNS             *int64         `json:"ttft_ns"`
	TotalDurationNS    *int64         `json:"total_duration_ns"`
}

// WaitsFor is the key of a run's metadata that says what a run waits for that has not ended: the run before it, a provider, or
// a client with its key.
const WaitsFor = "waits_for"

// Waits returns that; empty: the run is at work, or over.
func (r *Run) Waits() string {
	waits, _ := r.Metadata[WaitsFor].(string)
	return waits
}

// RequestConfig is what a run remembers of its request.
type RequestConfig struct {
	UseAssistantMessage       bool          `json:"use_assistant_message"`
	AssistantMessageToolName  string        `json:"assistant_message_tool_name"`
	AssistantMessageToolKwarg string        `json:"assistant_message_tool_kwarg"`
	IncludeReturnMessageTypes []MessageType `json:"include_return_message_types"`
}

// RunMetrics are the times and counts of a run.
type RunMetrics struct {
	ID             string   `json:"id" required:"true"`
	AgentID        *string  `json:"agent_id"`
	ProjectID      *string  `json:"project_id"`
	RunStartNS     *int64   `json:"run_start_ns"`
	RunNS          *int64   `json:"run_ns"`
	NumSteps       *int     `json:"num_steps"`
	ToolsUsed      []string `json:"tools_used"`
	TemplateID     *string  `json:"template_id"`
	BaseTemplateID *string  `json:"base_template_id"`
}

// RunUsage sums the tokens of a run's steps.
type RunUsage struct {
	CompletionTokens        int                     `json:"completion_tokens"`
	PromptTokens            int                     `json:"prompt_tokens"`
	TotalTokens             int                     `json:"total_tokens"`
	PromptTokensDetails     *PromptTokenDetails     `json:"prompt_tokens_details"`
	CompletionTokensDetails *CompletionTokenDetails `json:"completion_tokens_details"`
}

// PromptTokenDetails breaks down the prompt's tokens; null if the provider doesn't report it.
type PromptTokenDetails struct {
	CachedTokens        *int `json:"cached_tokens"`
	CacheReadTokens     *int `json:"cache_read_tokens"`
	CacheCreationTokens *int `json:"cache_creation_tokens"`
}

// CompletionTokenDetails breaks down the answer's tokens; null if the provider doesn't report it.
type CompletionTokenDetails struct {
	ReasoningTokens *int `json:"reasoning_tokens"`
}

// ResumeStream is the body of POST /v1/runs/{id}/stream and /v1/conversations/{id}/stream.
type ResumeStream struct {
	AgentID       *string  `json:"agent_id,omitempty"`
	RunID         *string  `json:"run_id,omitempty"`
	OTID          *string  `json:"otid,omitempty"`
	StartingAfter *int     `json:"starting_after,omitempty" minimum:"0"`
	IncludePings  *bool    `json:"include_pings,omitempty"`
	PollInterval  *float64 `json:"poll_interval,omitempty"`
	BatchSize     *int     `json:"batch_size,omitempty"`
}

// ListRuns are the parameters of GET /v1/runs/.
type ListRuns struct {
	Page
	AgentID        string      `query:"agent_id"`
	AgentIDs       []string    `query:"agent_ids,explode"`
	Statuses       []string    `query:"statuses,explode"`
	Background     Param[bool] `query:"background"`
	StopReason     StopReason  `query:"stop_reason"`
	ConversationID string      `query:"conversation_id"`
	Active         bool        `query:"active"`
	Ascending      bool        `query:"ascending"`
}
