package memory

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"loci/core"
)

// Heartbeat returns the record that gives an agent with heartbeats another step.
func Heartbeat(reason string, at time.Time) string {
	return pack(struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
		Time   string `json:"time"`
	}{"heartbeat", reason, Stamp(at)})
}

// HeartbeatReason says why the agent gets another step after a call.
func HeartbeatReason(failed bool) string {
	if failed {
		return "The call failed; you have control again. Read the error and decide how to go on."
	}
	return "The call succeeded; you have control again, as you asked."
}

// Alert returns the record by which the program tells an agent something in the middle of a thread.
func Alert(message string, at time.Time) string {
	return pack(struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Time    string `json:"time"`
	}{"system_alert", message, Stamp(at)})
}

// SummaryAlert is the Alert that carries a summary, with what the compaction did; stats is nil if that is unknown.
func SummaryAlert(record string, stats *core.CompactionStats, at time.Time) string {
	return pack(struct {
		Type    string                `json:"type"`
		Message string                `json:"message"`
		Time    string                `json:"time"`
		Stats   *core.CompactionStats `json:"compaction_stats,omitempty"`
	}{"system_alert", record, Stamp(at), stats})
}

// PackReturn returns what a model sees of a tool's return: its status, its text and its time.
func PackReturn(r core.ToolReturn, at time.Time) string {
	status := "OK"
	if r.IsError {
		status = "Failed"
	}
	return pack(struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Time    string `json:"time"`
	}{status, r.Text, Stamp(at)})
}

// Boot returns the messages that open a conversation of an agent that speaks through a tool, so that the model has seen
// one correct call. They have roles, contents and times; the caller fills in ids and owners. now is in the agent's zone.
// It returns none if the policy has no BootMessages.
func Boot(policy core.Policy, now time.Time) []core.Message {
	if !policy.BootMessages || policy.SpeakTool == "" {
		return nil
	}
	const call = "call_boot"
	var content []core.Content
	if policy.ThinkingArg {
		content = append(
			content,
			core.Content{Type: core.ContentReasoning, Prompted: true, Text: "I am awake. One call to see that my words arrive."},
		)
	}
	arguments := pack(map[string]string{policy.SpeakArg: "Hello, I am here."})
	content = append(
		content,
		core.Content{Type: core.ContentCall, Call: &core.ToolCall{ID: call, Name: policy.SpeakTool, Arguments: arguments}},
	)
	login := pack(struct {
		Type      string `json:"type"`
		LastLogin string `json:"last_login"`
		Time      string `json:"time"`
	}{"login", "never before", Stamp(now)})
	return []core.Message{
		{Role: core.RoleAssistant, Content: content, CreatedAt: now},
		{
			Role:      core.RoleTool,
			Returns:   []core.ToolReturn{{CallID: call, Name: policy.SpeakTool, Text: "Sent message successfully."}},
			CreatedAt: now,
		},
		{Role: core.RoleUser, Content: []core.Content{core.Text(login)}, CreatedAt: now},
	}
}

// pack writes JSON on one line, as readable as JSON allows, because models read it.
func pack(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "{}" // can't happen: it only gets strings
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// IsPacked reports whether the text of a user message is a record made by the program: a heartbeat, an alert or a login.
func IsPacked(text string) bool {
	var record struct {
		Type string `json:"type"`
		Time string `json:"time"`
	}
	if !strings.HasPrefix(text, `{"type":`) || json.Unmarshal([]byte(text), &record) != nil || record.Time == "" {
		return false
	}
	return record.Type == "heartbeat" || record.Type == "system_alert" || record.Type == "login"
}
