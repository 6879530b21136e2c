package core

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Approval is what an approval record holds beside its calls. A request says what waits and why, an answer what was decided.
type Approval struct {
	Order   []string      `json:"order,omitempty"`   // of a request: the ids of all calls of the response, as the model made them
	Waits   []WaitingCall `json:"waits,omitempty"`   // … those that wait
	Refused []ToolReturn  `json:"refused,omitempty"` // … those that the gate refused, with what the model will read

	Request   MessageID  `json:"request,omitempty"` // of an answer: the request that it answers
	Decisions []Decision `json:"decisions,omitempty"`
}

// WaitingCall is a call that waits for a person, or for the client that runs it.
type WaitingCall struct {
	CallID    string `json:"call_id"`
	Arguments string `json:"arguments"`      // as they would run: a rule may have changed what the model wrote
	Why       string `json:"why"`            // which rule asks, in a sentence
	Code      string `json:"code,omitempty"` // of a custom tool: what it would run
	Client    bool   `json:"client,omitempty"`

	Hooked string   `json:"hooked,omitempty"` // what hooks did about it, in a clause
	Always []string `json:"always,omitempty"` // the rules of permission that would allow it from now on; none: it asks each time

	Uncaged bool `json:"uncaged,omitempty"` // a person can let it run outside of the sandbox
}

// Decision answers one waiting call.
type Decision struct {
	CallID    string      `json:"call_id"`
	Approve   bool        `json:"approve,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Arguments string      `json:"arguments,omitempty"` // those that the person put in place of the ones that waited; empty: unchanged
	Return    *ToolReturn `json:"return,omitempty"`    // of a call that the client ran
	Keep      []string    `json:"keep,omitempty"`      // rules that from now on allow what is like it, in the folder of the run that asked

	Uncaged bool `json:"uncaged,omitempty"` // it runs outside of the sandbox, this once
}

// Asks reports whether the message is a request for approval.
func (m *Message) Asks() bool {
	return m.Role == RoleApproval && m.Approval != nil && len(m.Approval.Waits) > 0
}

// Answers reports whether the message is the answer to a request for approval.
func (m *Message) Answers() bool {
	return m.Role == RoleApproval && m.Approval != nil && m.Approval.Request != ""
}

// Waiting returns the request for approval that a window ends with. Records that stand for what left the window count as
// its beginning, whenever they came.
func Waiting(rows []InContext) (Message, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		m := &rows[i].Message
		if m.Role == RoleSummary || m.Hidden == HiddenMarker {
			continue
		}
		return *m, m.Asks()
	}
	return Message{}, false
}

// CallsOf returns all calls of the response that a request is part of, as the model made them.
func CallsOf(rows []InContext, request *Message) []ToolCall {
	var calls []ToolCall
	for _, r := range rows {
		if m := &r.Message; m.Step == request.Step && (m.Role == RoleAssistant || m.ID == request.ID) {
			calls = append(calls, m.Calls()...)
		}
	}
	order := request.Approval.Order
	slices.SortStableFunc(calls, func(a, b ToolCall) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	return calls
}

// HashArguments names the arguments of a waiting call, so that an answer can say which ones it means.
func HashArguments(arguments string) string {
	sum := sha256.Sum256([]byte(arguments))
	return hex.EncodeToString(sum[:])
}

// denial begins the return of a call that a person denied; such a call never ran.
const denial = "Error: request to call tool denied. User reason: "

// noReason stands for the reason that a person did not give.
const noReason = "None"

// DenialText is what a model reads of a call that a person denied, in the contract's words.
func DenialText(reason string) string {
	if reason == "" {
		reason = noReason
	}
	return denial + reason
}

// IsDenied reports whether a return is that of a call which a person denied.
func (r ToolReturn) IsDenied() bool {
	_, denied := DenialReason(r.Text)
	return r.IsError && denied
}

// DenialReason reads why a person denied a call from what DenialText says; empty: they gave no reason.
func DenialReason(text string) (reason string, denied bool) {
	reason, denied = strings.CutPrefix(text, denial)
	if reason == noReason {
		reason = ""
	}
	return reason, denied
}

// Pending is the structured detail of a conflict with a request that waits for an approval.
type Pending struct{ Request MessageID }

// ErrPending returns the conflict of a message that finds a request waiting, in the contract's words.
func ErrPending(request MessageID) *Error {
	err := E(Conflict, "Cannot send a new message: The agent is waiting for approval on a tool call. "+
		"Please approve or deny the pending request before continuing.").
		WithHint("`loci approvals` lists what waits, answers it or clears it")
	err.Detail = Pending{request}
	return err
}

// ErrNoneWaits returns the error of an answer that finds no request waiting, in the contract's words.
func ErrNoneWaits() *Error {
	return E(Invalid, "Cannot process approval response: No tool call is currently awaiting approval. "+
		"Please send a regular message to interact with the agent.")
}
