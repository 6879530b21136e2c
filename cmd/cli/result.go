package cli

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"loci/daemon/api"
)

// result is the single object of --output-format json and the last line of stream-json.
type result struct {
	Type          string `json:"type"`
	Subtype       string `json:"subtype"`
	IsError       bool   `json:"is_error"`
	DurationMS    int64  `json:"duration_ms"`
	DurationAPIMS int64  `json:"duration_api_ms"`
	NumTurns      int    `json:"num_turns"`
	Result        string `json:"result"`

	StructuredOutput json.RawMessage `json:"structured_output,omitempty"` // with --schema: the value

	AgentID        string     `json:"agent_id"`
	AgentName      string     `json:"agent_name"`
	ConversationID string     `json:"conversation_id"`
	Model          string     `json:"model"`
	RunID          string     `json:"run_id"`
	StopReason     string     `json:"stop_reason,omitempty"`
	Usage          usage      `json:"usage"`
	Error          *errorInfo `json:"error,omitempty"`

	Denials  []denial            `json:"permission_denials,omitempty"` // calls that only a person could have allowed
	Approval *api.WaitingRequest `json:"approval,omitempty"`           // what a person has to answer
	*envelope
}

// usage is what a run used; null is what the provider didn't report.
type usage struct {
	PromptTokens      *int `json:"prompt_tokens"`
	CompletionTokens  *int `json:"completion_tokens"`
	TotalTokens       *int `json:"total_tokens"`
	StepCount         int  `json:"step_count"`
	CachedInputTokens *int `json:"cached_input_tokens"`
	CacheWriteTokens  *int `json:"cache_write_tokens"`
	ReasoningTokens   *int `json:"reasoning_tokens"`
	ContextTokens     *int `json:"context_tokens,omitempty"`
}

// errorInfo is an error for a script.
type errorInfo struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// envelope is what every line of stream-json has.
type envelope struct {
	SessionID string `json:"session_id"`
	UUID      string `json:"uuid"`
	Timestamp string `json:"timestamp"`
}

// init is the first line of stream-json.
func (t *exchange) init() error {
	s := t.session
	return t.line("system", struct {
		Subtype        string `json:"subtype"`
		AgentID        string `json:"agent_id"`
		AgentName      string `json:"agent_name"`
		ConversationID string `json:"conversation_id"`
		Model          string `json:"model"`
		Folder         string `json:"cwd"`
		PermissionMode string `json:"permission_mode"`
	}{"init", s.AgentID, s.AgentName, s.ConversationID, s.Model, workingFolder(), t.mode})
}

// line writes a line of stream-json with value flattened into it; other formats write nothing.
func (t *exchange) line(kind string, value any) error {
	if t.flags.format != formatStream || t.left {
		return nil
	}
	head, err := json.Marshal(struct {
		Type string `json:"type"`
		*envelope
	}{kind, t.envelope()})
	if err != nil {
		return err
	}
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	return writeLine(t.app.out, joinObjects(head, body))
}

// joinObjects merges two JSON objects, of which the first isn't empty.
func joinObjects(a, b json.RawMessage) json.RawMessage {
	if len(b) <= len("{}") {
		return a
	}
	return append(append(a[:len(a)-1:len(a)-1], ','), b[1:]...)
}

func (t *exchange) envelope() *envelope {
	return &envelope{SessionID: t.session.AgentID, UUID: uuid.NewString(), Timestamp: time.Now().UTC().Format(time.RFC3339Nano)}
}

// finish prints the answer and returns the error; in the JSON formats the error is part of the answer too.
func (t *exchange) finish(err error) error {
	switch t.flags.format {
	case formatJSON:
		return errors.Join(err, writeJSON(t.app.out, t.result(err)))
	case formatStream:
		r := t.result(err)
		r.envelope = t.envelope()
		t.writing.Lock()
		defer t.writing.Unlock()
		return errors.Join(err, writeLine(t.app.out, r))
	}
	if value := t.value(); value != nil && err == nil && !t.left {
		return writeLine(t.app.out, value)
	}
	if t.left || !t.midLine && (err != nil || t.written != "") {
		return err
	}
	_, writeErr := io.WriteString(t.app.out, "\n")
	return errors.Join(err, writeErr)
}

// result sums up the turn.
func (t *exchange) result(err error) result {
	now, s := time.Now(), t.session
	r := result{
		Type: "result", Subtype: "success", DurationMS: now.Sub(t.began).Milliseconds(),
		NumTurns: t.usage.StepCount, Result: t.answer(),
		AgentID: s.AgentID, AgentName: s.AgentName, ConversationID: s.ConversationID, Model: s.Model, RunID: t.run,
		StopReason: string(t.stop), Approval: t.waits, Denials: t.denied,
		Usage: usage{
			StepCount: t.usage.StepCount, CachedInputTokens: t.usage.CachedInputTokens, CacheWriteTokens: t.usage.CacheWriteTokens,
			ReasoningTokens: t.usage.ReasoningTokens, ContextTokens: t.usage.ContextTokens,
		},
	}
	if u := t.usage; u.TotalTokens > 0 { // 0 means nobody reported it: no prompt is empty
		r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.TotalTokens = &u.PromptTokens, &u.CompletionTokens, &u.TotalTokens
	}
	if !t.asked.IsZero() {
		r.DurationAPIMS = now.Sub(t.asked).Milliseconds()
	}
	if err == nil {
		r.StructuredOutput = t.value()
		return r
	}
	kind, hint := explain(err)
	r.Subtype, r.IsError = "error", true
	if kind == api.KindCancelled {
		r.Subtype = "interrupted"
	}
	r.Error = &errorInfo{Kind: kind, Message: err.Error(), Hint: hint}
	return r
}
