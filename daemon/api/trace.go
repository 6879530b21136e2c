package api

import "net/http"

// The types of traced calls, in the contract's words.
const (
	CallStep    = "agent_step"
	CallSummary = "summarization"
)

// Trace is one request to a model's server and its answer, whole, without keys. It is ours: the contract leaves open what a run's
// trace holds.
type Trace struct {
	ID             string     `json:"id" required:"true"`
	CallType       string     `json:"call_type"`
	AgentID        string     `json:"agent_id"`
	ConversationID string     `json:"conversation_id"`
	RunID          string     `json:"run_id"`
	StepID         string     `json:"step_id"`
	Model          string     `json:"model"`
	Attempt        int        `json:"attempt"` // of the same call, from 1
	StartedAt      Time       `json:"started_at"`
	FirstMS        int64      `json:"first_ms"` // until the answer began
	DurationMS     int64      `json:"duration_ms"`
	Method         string     `json:"method"`
	URL            string     `json:"url"`
	Request        TracedPart `json:"request"`
	Status         int        `json:"status"` // 0: there was no answer
	Response       TracedPart `json:"response"`
	Error          string     `json:"error,omitempty"`
}

// TracedPart is one side of a request.
type TracedPart struct {
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Cut    int         `json:"cut,omitempty"` // bytes that are left out at the end
}
