package api

// Step is one model call and the tool calls it led to. Messages is deprecated and always empty.
type Step struct {
	ID                      string       `json:"id" required:"true"`
	Origin                  *string      `json:"origin"`
	ProviderID              *string      `json:"provider_id"`
	RunID                   *string      `json:"run_id"`
	AgentID                 *string      `json:"agent_id"`
	ProviderName            *string      `json:"provider_name"`
	ProviderCategory        *string      `json:"provider_category"`
	Model                   *string      `json:"model"`
	ModelHandle             *string      `json:"model_handle"`
	ModelEndpoint           *string      `json:"model_endpoint"`
	ContextWindowLimit      *int         `json:"context_window_limit"`
	CompletionTokens        *int         `json:"completion_tokens"`
	PromptTokens            *int         `json:"prompt_tokens"`
	TotalTokens             *int         `json:"total_tokens"`
	CachedInputTokens       *int         `json:"cached_input_tokens"`
	CacheWriteTokens        *int         `json:"cache_write_tokens"`
	ReasoningTokens         *int         `json:"reasoning_tokens"`
	CompletionTokensDetails Object       `json:"completion_tokens_details"`
	PromptTokensDetails     Object       `json:"prompt_tokens_details"`
	StopReason              *StopReason  `json:"stop_reason"`
	Tags                    List[string] `json:"tags"`
	TID                     *string      `json:"tid"`
	TraceID                 *string      `json:"trace_id"`
	RequestID               *string      `json:"request_id"`
	Messages                List[any]    `json:"messages"`
	Feedback                *string      `json:"feedback"`
	ProjectID               *string      `json:"project_id"`
	ErrorType               *string      `json:"error_type"`
	ErrorData               Object       `json:"error_data"`
	Status                  *string      `json:"status"`
}

// StepMetrics are the times of a step.
type StepMetrics struct {
	ID                string  `json:"id" required:"true"`
	ProviderID        *string `json:"provider_id"`
	RunID             *string `json:"run_id"`
	AgentID           *string `json:"agent_id"`
	StepStartNS       *int64  `json:"step_start_ns"`
	LLMRequestStartNS *int64  `json:"llm_request_start_ns"`
	LLMRequestNS      *int64  `json:"llm_request_ns"`
	ToolExecutionNS   *int64  `json:"tool_execution_ns"`
	StepNS            *int64  `json:"step_ns"`
	BaseTemplateID    *string `json:"base_template_id"`
	TemplateID        *string `json:"template_id"`
	ProjectID         *string `json:"project_id"`
}

// ProviderTrace is what a step sent to its provider and what came back.
type ProviderTrace struct {
	ID                 string          `json:"id"`
	CreatedByID        *string         `json:"created_by_id"`
	LastUpdatedByID    *string         `json:"last_updated_by_id"`
	CreatedAt          Time            `json:"created_at"`
	UpdatedAt          *Time           `json:"updated_at"`
	RequestJSON        Object          `json:"request_json" required:"true"`
	ResponseJSON       Object          `json:"response_json" required:"true"`
	StepID             *string         `json:"step_id"`
	AgentID            *string         `json:"agent_id"`
	AgentTags          []string        `json:"agent_tags"`
	CallType           *string         `json:"call_type"`
	RunID              *string         `json:"run_id"`
	Source             *string         `json:"source"`
	OrgID              *string         `json:"org_id"`
	CompactionSettings Object          `json:"compaction_settings"`
	LLMConfig          Object          `json:"llm_config"`
	BillingContext     *BillingContext `json:"billing_context"`
}

// BillingContext is empty on a self-hosted server.
type BillingContext struct {
	PlanType   *string `json:"plan_type"`
	CostSource *string `json:"cost_source"`
	CustomerID *string `json:"customer_id"`
}

// ListSteps are the parameters of GET /v1/steps/.
type ListSteps struct {
	Page
	StartDate   string      `query:"start_date"`
	EndDate     string      `query:"end_date"`
	Model       string      `query:"model"`
	AgentID     string      `query:"agent_id"`
	TraceIDs    []string    `query:"trace_ids,explode"`
	Feedback    string      `query:"feedback" enum:"positive,negative"`
	HasFeedback Param[bool] `query:"has_feedback"`
	Tags        []string    `query:"tags,explode"`
	ProjectID   string      `query:"project_id"`
}
