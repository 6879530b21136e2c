package core

import (
	"errors"
	"time"
)

// RunStatus is the status of a run.
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

// Status returns the final status that a stop reason leads to.
func (r StopReason) Status() RunStatus {
	switch r {
	case StopEndTurn, StopMaxSteps, StopToolRule, StopRequiresApproval:
		return RunCompleted
	case StopCancelled:
		return RunCancelled
	case StopError, StopLLMAPIError, StopInvalidLLMResponse, StopInvalidToolCall, StopMaxTokensExceeded, StopNoToolCall,
		StopNoCredits, StopSystemPromptFull:
		return RunFailed
	}
	return RunFailed
}

// DefaultMaxSteps limits a run unless the request sets a limit.
const DefaultMaxSteps = 50

// RunConfig is what a request asked for, stored with the run so that it can be resumed.
type RunConfig struct {
	MaxSteps          int           `json:"max_steps,omitempty"`
	Model             Handle        `json:"model,omitempty"`  // for this run only
	System            string        `json:"system,omitempty"` // for this run only
	Effort            string        `json:"effort,omitempty"` // the reasoning effort, for this run only
	Speak             Speak         `json:"speak"`            // how to show what is said through a tool
	Skills            []Skill       `json:"skills,omitempty"` // of the client, for this run only
	IncludeTypes      []string      `json:"include_types,omitempty"`
	StreamTokens      bool          `json:"stream_tokens,omitempty"`
	IncludeCompaction bool          `json:"include_compaction,omitempty"` // report compactions: an event before, a summary after
	Deadline          time.Duration `json:"deadline,omitempty"`
	Type              string        `json:"type,omitempty"`   // the contract's metadata.run_type
	Source            string        `json:"source,omitempty"` // where texts of the input come from that are not the person's, one a line

	ClientTools []ToolSpec `json:"client_tools,omitempty"` // that the client runs, for this run only
	Continues   []RunID    `json:"continues,omitempty"`    // the runs of the same user request before the pauses for an approval
	Acted       bool       `json:"acted,omitempty"`        // the approved calls began: a crash must not run them again

	// Moved are digests of the addresses that a background run started with, as returned by Models.Moved.
	Moved map[string]string `json:"moved,omitempty"`

	Tells []Notice `json:"tells,omitempty"` // what the person is told when it begins

	ResponseFormat any `json:"response_format,omitempty"` // the form of the answer, for this run only; see AnswerFormatOf

	Tokens *TokenWish `json:"tokens,omitempty"` // what the answer is to say of the tokens of each step
}

// Skill is something that a client knows how to do; Location says where the instructions are.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"`
}

// RunError is why a run failed, in the contract's words.
type RunError struct {
	Type    string `json:"error_type"` // one of LLMErrorType, internal_error, model_not_found …
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// The types of failed answers that no kind of error stands for, beside those of LLMErrorType.
const (
	LLMEmptyResponse = "llm_empty_response"
	LLMRunaway       = "llm_runaway"
)

// LLMErrorType returns the type, in the contract's words, of a model provider's failure of a kind.
func LLMErrorType(kind Kind) string {
	switch kind { //nolint:exhaustive // providers fail with these kinds only, the rest is llm_error
	case Timeout:
		return "llm_timeout"
	case RateLimited:
		return "llm_rate_limit"
	case Unauthenticated, Forbidden:
		return "llm_authentication"
	case NoCredit:
		return "llm_insufficient_credits"
	case Invalid, NotFound, TooLong:
		return "llm_bad_request"
	default:
		return "llm_error"
	}
}

// Run is one accepted request to an agent and everything done for it.
type Run struct {
	ID           RunID
	Number       int64 // order of acceptance, set by the store
	Agent        AgentID
	Conversation ConversationID
	Status       RunStatus
	StopReason   StopReason // when final
	Background   bool
	Request      string // hash of the input's otids, for requests that must not run twice; cleared once they may
	Client       Client
	Config       RunConfig
	Input        []Message // with ids and otids; becomes messages with the first successful step
	Delivered    bool      // the input became messages
	Attempt      int       // rises with each restart that found the run unfinished
	Restored     bool      // came unfinished with a restored backup: ends instead of going on
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

// ErrPaused says that a run goes on at the next start of the daemon, which is stopping.
var ErrPaused = errors.New("the daemon is stopping")
