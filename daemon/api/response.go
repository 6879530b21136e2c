package api

import "github.com/danielgtaylor/huma/v2"

// StopReason is why a run or a step ended.
type StopReason string

// The stop reasons.
const (
	StopEndTurn            StopReason = "end_turn"
	StopError              StopReason = "error"
	StopLLMAPIError        StopReason = "llm_api_error"
	StopInvalidLLMResponse StopReason = "invalid_llm_response"
	StopInvalidToolCall    StopReason = "invalid_tool_call"
	StopMaxSteps           StopReason = "max_steps"
	StopMaxTokensExceeded  StopReason = "max_tokens_exceeded" //nolint:gosec // G101: tokens of a text, no secret
	StopNoToolCall         StopReason = "no_tool_call"
	StopToolRule           StopReason = "tool_rule"
	StopCancelled          StopReason = "cancelled"
	StopNoCredits          StopReason = "insufficient_credits"
	StopRequiresApproval   StopReason = "requires_approval"
	StopSystemPromptFull   StopReason = "context_window_overflow_in_system_prompt"
)

// Schema names the reasons, so that any other is refused.
func (StopReason) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: []any{
		string(StopEndTurn), string(StopError), string(StopLLMAPIError), string(StopInvalidLLMResponse), string(StopInvalidToolCall),
		string(StopMaxSteps), string(StopMaxTokensExceeded), string(StopNoToolCall), string(StopToolRule), string(StopCancelled),
		string(StopNoCredits), string(StopRequiresApproval), string(StopSystemPromptFull),
	}}
}

// Response is the answer to a non-streaming request: what the run added, why it ended, and its usage.
type Response struct {
	Messages   List[Message] `json:"messages" required:"true"`
	StopReason Stop          `json:"stop_reason" required:"true"`
	Usage      Usage         `json:"usage" required:"true"`

	Logprobs *ChoiceLogprobs `json:"logprobs,omitempty"` // if return_logprobs asked for them
	Turns    []TurnTokenData `json:"turns,omitempty"`    // if return_token_ids asked for them
}

// Stop is the stop_reason message.
type Stop struct {
	MessageType MessageType `json:"message_type"`
	StopReason  StopReason  `json:"stop_reason" required:"true"`
}

// StopFor returns the message for a stop reason.
func StopFor(reason StopReason) Stop { return Stop{MessageType: MessageStopReason, StopReason: reason} }

// Usage is the usage_statistics message. Details that the provider doesn't report are nil.
type Usage struct {
	MessageType       MessageType `json:"message_type"`
	CompletionTokens  int         `json:"completion_tokens"`
	PromptTokens      int         `json:"prompt_tokens"`
	TotalTokens       int         `json:"total_tokens"`
	StepCount         int         `json:"step_count"`
	RunIDs            []string    `json:"run_ids"`
	CachedInputTokens *int        `json:"cached_input_tokens"`
	CacheWriteTokens  *int        `json:"cache_write_tokens"`
	ReasoningTokens   *int        `json:"reasoning_tokens"`
	ContextTokens     *int        `json:"context_tokens"`
}
