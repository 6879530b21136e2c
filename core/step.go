package core

import "time"

// StepStatus is where a step stands.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "pending"
	StepSuccess   StepStatus = "success"
	StepFailed    StepStatus = "failed"
	StepCancelled StepStatus = "cancelled"
)

// Step is one model call and the tools it caused. Its hashes name the snapshots of exactly what was sent.
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
	Tools        []string // names of the tools called

	SystemHash string // snapshot of the system text sent
	ToolsHash  string // snapshot of the tools sent
	AgentHash  string // snapshot of settings, rules and attachments
	Prefix     string
	Choice     ToolChoice
	Parallel   bool
	Offer      []string // the tools offered, where a rule shrank the offer; empty: all of ToolsHash
	SentRev    int      // it was sent the context rows entered <= SentRev and not left by then …
	WithInput  bool     // … plus, for a first step that failed, the run's stored input

	StartedAt  time.Time // the request was begun
	ResponseAt time.Time // the first delta came
	LoggedAt   time.Time // the last delta was in the run log
	FinishedAt time.Time // the step was saved
	CreatedAt  time.Time
}

// StepError is what made a step fail.
type StepError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Trace   string `json:"trace,omitempty"`
}

// StepFilter selects steps.
type StepFilter struct {
	Run         RunID
	Agent       AgentID
	Model       string
	From, Until time.Time
	Feedback    string
	HasFeedback *bool
}
