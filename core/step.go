package core

import "time"

// StepStatus is the status of a step.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "pending"
	StepSuccess   StepStatus = "success"
	StepFailed    StepStatus = "failed"
	StepCancelled StepStatus = "cancelled"
)

// Step is one model call and the tools it called. Its hashes name snapshots of exactly what was sent.
type Step struct {
	ID           StepID
	Run          RunID
	Agent        AgentID
	Conversation ConversationID
	Number       int // within the run, from 1
	Status       StepStatus
	Model        Handle
	Endpoint     string
	Window       int // tokens
	Usage        *Usage
	StopReason   StopReason
	Finish       Finish
	Error        *StepError
	Feedback     string
	Tags         []string // of the feedback
	Tools        []string // names of the tools called

	SystemHash string // snapshot of the system text sent
	ToolsHash  string // snapshot of the tools sent
	AgentHash  string // snapshot of settings, rules and attachments
	Prefix     string
	Choice     ToolChoice
	Parallel   bool
	Offer      []string // the tools offered, if a rule reduced the offer; empty: all of ToolsHash
	SentRev    int      // what was sent: the context rows entered <= SentRev and not left by then …
	WithInput  bool     // … plus, for a first step that failed, the run's stored input

	StartedAt  time.Time // the request was started
	ResponseAt time.Time // the first delta arrived
	LoggedAt   time.Time // the last delta was written to the run log
	FinishedAt time.Time // the step was saved
	CreatedAt  time.Time
}

// StepError is why a step failed.
type StepError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Trace   string `json:"trace,omitempty"`
}

// StepFilter selects steps.
type StepFilter struct {
	Run         RunID
	Agent       AgentID
	Model       string // its handle, or the name within its provider
	From, Until time.Time
	Feedback    string
	HasFeedback *bool
	Tags        []string // those with any of these
}
