package core

import "time"

// RunStatus is where a run stands.
type RunStatus string

// The statuses of a run; the last three are final.
const (
	RunCreated   RunStatus = "created"
	RunRunning   RunStatus = "running"
	RunCompleted RunStatus = "completed"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Final reports whether the run is over.
func (s RunStatus) Final() bool { return s == RunCompleted || s == RunFailed || s == RunCancelled }

// StopReason is why a run or a step stopped; the contract's words.
type StopReason string

// The stop reasons.
const (
	StopEndTurn          StopReason = "end_turn"
	StopError            StopReason = "error"
	StopLLMError         StopReason = "llm_api_error"
	StopInvalidResponse  StopReason = "invalid_llm_response"
	StopInvalidCall      StopReason = "invalid_tool_call"
	StopMaxSteps         StopReason = "max_steps"
	StopMaxTokens        StopReason = "max_tokens_exceeded" //nolint:gosec // G101: tokens of a text, no secret
	StopNoCall           StopReason = "no_tool_call"
	StopToolRule         StopReason = "tool_rule"
	StopCancelled        StopReason = "cancelled"
	StopNoCredit         StopReason = "insufficient_credits"
	StopRequiresApproval StopReason = "requires_approval"
	StopOverflow         StopReason = "context_window_overflow_in_system_prompt"
)

// Status returns the final status that a stop reason means.
func (r StopReason) Status() RunStatus {
	switch r {
	case StopEndTurn, StopMaxSteps, StopToolRule, StopRequiresApproval:
		return RunCompleted
	case StopCancelled:
		return RunCancelled
	case StopError, StopLLMError, StopInvalidResponse, StopInvalidCall, StopMaxTokens, StopNoCall, StopNoCredit, StopOverflow:
		return RunFailed
	}
	return RunFailed
}

// DefaultMaxSteps bounds a run unless the request says otherwise.
const DefaultMaxSteps = 50

// RunConfig is what a request asked for, kept with the run so that it can be resumed.
type RunConfig struct {
	MaxSteps          int           `json:"max_steps,omitempty"`
	Model             Handle        `json:"model,omitempty"`  // for this run only
	System            string        `json:"system,omitempty"` // for this run only
	Speak             Speak         `json:"speak"`            // how speech through a tool is presented
	IncludeTypes      []string      `json:"include_types,omitempty"`
	StreamTokens      bool          `json:"stream_tokens,omitempty"`
	IncludeCompaction bool          `json:"include_compaction,omitempty"` // tell compactions as such: an event before, a summary after
	Deadline          time.Duration `json:"deadline,omitempty"`
	Type              string        `json:"type,omitempty"` // the contract's metadata.run_type

	// Moved are digests of the addresses that a background run was begun with, as Models.Moved has them.
	Moved map[string]string `json:"moved,omitempty"`
}

// RunError is why a run failed, in the contract's words.
type RunError struct {
	Type    string `json:"error_type"` // llm_timeout, llm_rate_limit, llm_authentication, llm_error, internal_error …
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Run is one accepted request to an agent and everything done for it.
type Run struct {
	ID           RunID
	Number       int64 // order of acceptance, given by the store
	Agent        AgentID
	Conversation ConversationID
	Status       RunStatus
	StopReason   StopReason // when final
	Background   bool
	Request      string // hash of the input's otids, for requests that must not run twice; cleared when nothing was saved
	Client       Client
	Config       RunConfig
	Input        []Message // with ids and otids; becomes messages with the first successful step
	Delivered    bool      // the input became messages
	Attempt      int       // raised at each restart that found the run unfinished
	Error        *RunError
	Notices      []string
	Chain        []RunID
	TTFT         time.Duration
	CreatedAt    time.Time
	StartedAt    time.Time
	CompletedAt  time.Time
}

// RunFilter selects runs.
type RunFilter struct {
	Agents       []AgentID
	Conversation ConversationID
	Statuses     []RunStatus
	StopReason   StopReason
	Background   *bool
}
