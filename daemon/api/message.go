package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// MessageType says which member of the message union a message is.
type MessageType string

// The message types of lists and streams.
const (
	MessageSystem           MessageType = "system_message"
	MessageUser             MessageType = "user_message"
	MessageAssistant        MessageType = "assistant_message"
	MessageReasoning        MessageType = "reasoning_message"
	MessageHiddenReasoning  MessageType = "hidden_reasoning_message"
	MessageToolCall         MessageType = "tool_call_message"
	MessageToolReturn       MessageType = "tool_return_message"
	MessageApprovalRequest  MessageType = "approval_request_message"
	MessageApprovalResponse MessageType = "approval_response_message"
	MessageSummary          MessageType = "summary_message"
	MessageEvent            MessageType = "event_message"
)

// The message types that occur only in streams.
const (
	MessagePing       MessageType = "ping"
	MessageStopReason MessageType = "stop_reason"
	MessageUsage      MessageType = "usage_statistics"
	MessageError      MessageType = "error_message"
)

// The message types that occur only in our own event streams.
const (
	MessageUserInput MessageType = "user_input"  // opens a run: the input, before it becomes a message; has the keys of user_message
	MessageNotice    MessageType = "loci_notice" // something to tell the person
)

// Sources of a reasoning message and states of a hidden one.
const (
	SourceReasoner    = "reasoner_model"
	SourceNonReasoner = "non_reasoner_model"
	StateRedacted     = "redacted"
	StateOmitted      = "omitted"
)

// Message is any member of the message union of lists and streams. It is flat: MessageType says which fields apply,
// and MarshalJSON writes exactly the keys of that type. An unknown type keeps its JSON in Raw and is written back
// unchanged.
type Message struct {
	MessageType MessageType
	ID          string
	Date        Date
	Name        string
	OTID        string
	SenderID    string
	StepID      string
	RunID       string
	IsErr       bool
	SeqID       int64 // 0: the stream isn't numbered

	Content Content // system, user, assistant, user_input

	Reasoning       string
	Source          string
	Signature       string
	State           string // hidden reasoning
	HiddenReasoning string

	ToolCalls []ToolCall // tool call and approval request; the deprecated tool_call is filled in from the first
	Delta     bool       // the call is a fragment: name and id are sent once, arguments piece by piece

	ToolReturns []ToolReturn // the deprecated top-level fields are filled in from the first

	Approvals         []Approval
	Approve           *bool
	ApprovalRequestID string
	Reason            string

	Summary         string
	CompactionStats *CompactionStats

	EventType string
	EventData Object

	StopReason StopReason
	Usage      *Usage

	ErrorType string // error
	ErrorKind string // ours: what a request's error would have in its header
	ErrorText string // its key is message
	Detail    string

	Notice *Notice

	Raw json.RawMessage // the JSON of an unknown type
}

// ToolCall is a request to call a tool. Arguments is JSON text, or a fragment of it in a delta.
type ToolCall struct {
	Name       string `json:"name,omitempty"`
	Arguments  string `json:"arguments"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// CompactionStats reports what a compaction did.
type CompactionStats struct {
	Trigger             string `json:"trigger"`
	ContextTokensBefore *int   `json:"context_tokens_before,omitempty"`
	ContextTokensAfter  *int   `json:"context_tokens_after,omitempty"`
	ContextWindow       int    `json:"context_window"`
	MessagesCountBefore int    `json:"messages_count_before"`
	MessagesCountAfter  int    `json:"messages_count_after"`
}

// ListMessages are the parameters of the message lists. On an agent's or a conversation's list, After means newer and
// Before older, whatever the order.
type ListMessages struct {
	Page
	GroupID                   string      `query:"group_id"`
	ConversationID            string      `query:"conversation_id"`
	UseAssistantMessage       Param[bool] `query:"use_assistant_message"`
	AssistantMessageToolName  string      `query:"assistant_message_tool_name"`
	AssistantMessageToolKwarg string      `query:"assistant_message_tool_kwarg"`
	IncludeErr                Param[bool] `query:"include_err"`
	IncludeReturnMessageTypes []string    `query:"include_return_message_types,explode"`
}

// ListConversationMessages are the parameters of GET /v1/conversations/{id}/messages.
type ListConversationMessages struct {
	Page
	AgentID                   string      `query:"agent_id"`
	GroupID                   string      `query:"group_id"`
	IncludeErr                Param[bool] `query:"include_err"`
	IncludeReturnMessageTypes []string    `query:"include_return_message_types,explode"`
}

// MessageHead holds the keys that every member of the union has. It is exported only because the schema of a type
// omits what it embeds from an unexported one.
type MessageHead struct {
	ID          string      `json:"id,omitempty" required:"true"`
	Date        *Date       `json:"date,omitempty" required:"true"`
	Name        string      `json:"name,omitempty"`
	MessageType MessageType `json:"message_type"`
	OTID        string      `json:"otid,omitempty"`
	SenderID    string      `json:"sender_id,omitempty"`
	StepID      string      `json:"step_id,omitempty"`
	IsErr       bool        `json:"is_err,omitempty"`
	SeqID       int64       `json:"seq_id,omitempty"`
	RunID       string      `json:"run_id,omitempty"`
}

// The wire forms of the union's members. Required keys are written even when empty.
type (
	systemMessage struct {
		MessageHead
		Content string `json:"content" required:"true"`
	}
	userMessage struct {
		MessageHead
		Content Content `json:"content" required:"true"`
	}
	assistantMessage struct {
		MessageHead
		Content Content `json:"content" required:"true"`
	}
	reasoningMessage struct {
		MessageHead
		Source    string `json:"source"`
		Reasoning string `json:"reasoning" required:"true"`
		Signature string `json:"signature,omitempty"`
	}
	hiddenReasoningMessage struct {
		MessageHead
		State           string `json:"state" required:"true"`
		HiddenReasoning string `json:"hidden_reasoning,omitempty"`
	}
	toolCallMessage struct {
		MessageHead
		ToolCall  *ToolCall `json:"tool_call" required:"true"`
		ToolCalls toolCalls `json:"tool_calls"`
	}
	approvalRequestMessage struct {
		MessageHead
		ToolCall  *ToolCall `json:"tool_call" required:"true"`
		ToolCalls toolCalls `json:"tool_calls"`
	}
	toolReturnMessage struct {
		MessageHead
		ToolReturn  string       `json:"tool_return" required:"true"`
		Status      string       `json:"status" required:"true"`
		ToolCallID  string       `json:"tool_call_id" required:"true"`
		Stdout      []string     `json:"stdout,omitempty"`
		Stderr      []string     `json:"stderr,omitempty"`
		ToolReturns []ToolReturn `json:"tool_returns"`
	}
	approvalResponseMessage struct {
		MessageHead
		Approvals         []Approval `json:"approvals"`
		Approve           *bool      `json:"approve,omitempty"`
		ApprovalRequestID string     `json:"approval_request_id,omitempty"`
		Reason            string     `json:"reason,omitempty"`
	}
	summaryMessage struct {
		MessageHead
		Summary         string           `json:"summary" required:"true"`
		CompactionStats *CompactionStats `json:"compaction_stats,omitempty"`
	}
	eventMessage struct {
		MessageHead
		EventType string `json:"event_type" required:"true"`
		EventData Object `json:"event_data" required:"true"`
	}
	pingMessage struct {
		MessageHead
	}
	stopMessage struct {
		Stop
		SeqID int64  `json:"seq_id,omitempty"`
		RunID string `json:"run_id,omitempty"`
	}
	usageMessage struct {
		Usage
		SeqID int64  `json:"seq_id,omitempty"`
		RunID string `json:"run_id,omitempty"`
	}
	errorMessage struct {
		MessageType MessageType `json:"message_type" required:"true"`
		RunID       string      `json:"run_id" required:"true"`
		ErrorType   string      `json:"error_type" required:"true"`
		Kind        string      `json:"kind,omitempty"`
		Message     string      `json:"message" required:"true"`
		Detail      string      `json:"detail,omitempty"`
		SeqID       int64       `json:"seq_id,omitempty"`
	}
	noticeMessage struct {
		MessageHead
		Notice
	}
)

// toolCalls is an array of calls, or in a delta a single fragment as an object.
type toolCalls struct {
	list  []ToolCall
	delta bool
}

func (c toolCalls) MarshalJSON() ([]byte, error) {
	if c.delta && len(c.list) == 1 {
		return json.Marshal(c.list[0])
	}
	if c.list == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(c.list)
}

func (c *toolCalls) UnmarshalJSON(data []byte) error {
	*c = toolCalls{}
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		c.delta, c.list = true, make([]ToolCall, 1)
		return json.Unmarshal(data, &c.list[0])
	}
	return json.Unmarshal(data, &c.list)
}

// Schema is an array of calls or one call.
func (toolCalls) Schema(r huma.Registry) *huma.Schema {
	call := r.Schema(reflect.TypeFor[ToolCall](), true, "ToolCall")
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeArray, Items: call}, call}}
}

// members returns the union's members as the contract's lists and streams have them.
func members() map[MessageType]reflect.Type {
	return map[MessageType]reflect.Type{
		MessageSystem:           reflect.TypeFor[systemMessage](),
		MessageUser:             reflect.TypeFor[userMessage](),
		MessageAssistant:        reflect.TypeFor[assistantMessage](),
		MessageReasoning:        reflect.TypeFor[reasoningMessage](),
		MessageHiddenReasoning:  reflect.TypeFor[hiddenReasoningMessage](),
		MessageToolCall:         reflect.TypeFor[toolCallMessage](),
		MessageToolReturn:       reflect.TypeFor[toolReturnMessage](),
		MessageApprovalRequest:  reflect.TypeFor[approvalRequestMessage](),
		MessageApprovalResponse: reflect.TypeFor[approvalResponseMessage](),
		MessageSummary:          reflect.TypeFor[summaryMessage](),
		MessageEvent:            reflect.TypeFor[eventMessage](),
	}
}

// ListTypes returns the message types that lists have, in the contract's order.
func ListTypes() []MessageType {
	return []MessageType{
		MessageSystem, MessageUser, MessageReasoning, MessageHiddenReasoning, MessageToolCall,
		MessageToolReturn, MessageAssistant, MessageApprovalRequest, MessageApprovalResponse, MessageSummary, MessageEvent,
	}
}

// Schema is the union of the members.
func (Message) Schema(r huma.Registry) *huma.Schema {
	s := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "message_type", Mapping: map[string]string{}}}
	all := members()
	for _, t := range ListTypes() {
		m := r.Schema(all[t], true, string(t))
		s.OneOf = append(s.OneOf, m)
		s.Discriminator.Mapping[string(t)] = m.Ref
	}
	return s
}

func (m *Message) head() MessageHead {
	h := MessageHead{
		ID: m.ID, Name: m.Name, MessageType: m.MessageType, OTID: m.OTID, SenderID: m.SenderID,
		StepID: m.StepID, IsErr: m.IsErr, SeqID: m.SeqID, RunID: m.RunID,
	}
	if !m.Date.IsZero() {
		h.Date = &m.Date
	}
	return h
}

// MarshalJSON writes the keys of the message's type and no others.
func (m Message) MarshalJSON() ([]byte, error) {
	v := m.wire()
	if v == nil {
		if m.Raw == nil {
			return nil, fmt.Errorf("message of unknown type %q", m.MessageType)
		}
		return m.Raw, nil
	}
	return json.Marshal(v)
}

// wire returns the union member that the message is, or nil.
func (m *Message) wire() any {
	switch m.MessageType {
	case MessageSystem:
		return systemMessage{m.head(), m.Content.String()}
	case MessageUser, MessageUserInput:
		return userMessage{m.head(), m.Content}
	case MessageAssistant:
		return assistantMessage{m.head(), m.Content}
	case MessageReasoning:
		return reasoningMessage{m.head(), m.Source, m.Reasoning, m.Signature}
	case MessageHiddenReasoning:
		return hiddenReasoningMessage{m.head(), m.State, m.HiddenReasoning}
	case MessageToolCall:
		return toolCallMessage{m.head(), m.firstCall(), toolCalls{m.ToolCalls, m.Delta}}
	case MessageApprovalRequest:
		return approvalRequestMessage{m.head(), m.firstCall(), toolCalls{m.ToolCalls, m.Delta}}
	case MessageToolReturn:
		return m.toolReturn()
	case MessageApprovalResponse:
		return approvalResponseMessage{m.head(), m.Approvals, m.Approve, m.ApprovalRequestID, m.Reason}
	case MessageSummary:
		return summaryMessage{m.head(), m.Summary, m.CompactionStats}
	case MessageEvent:
		return eventMessage{m.head(), m.EventType, m.EventData}
	case MessagePing:
		return pingMessage{m.head()}
	case MessageStopReason:
		return stopMessage{StopFor(m.StopReason), m.SeqID, m.RunID}
	case MessageUsage:
		u := Val(m.Usage)
		u.MessageType = MessageUsage
		return usageMessage{u, m.SeqID, m.RunID}
	case MessageError:
		return errorMessage{m.MessageType, m.RunID, m.ErrorType, m.ErrorKind, m.ErrorText, m.Detail, m.SeqID}
	case MessageNotice:
		return noticeMessage{m.head(), Val(m.Notice)}
	default:
		return nil
	}
}

func (m *Message) firstCall() *ToolCall {
	if len(m.ToolCalls) == 0 {
		return nil
	}
	return &m.ToolCalls[0]
}

func (m *Message) toolReturn() toolReturnMessage {
	w := toolReturnMessage{MessageHead: m.head(), ToolReturns: m.ToolReturns}
	if len(m.ToolReturns) > 0 {
		first := m.ToolReturns[0]
		w.ToolReturn, w.Status, w.ToolCallID = first.ToolReturn.String(), first.Status, first.ToolCallID
		w.Stdout, w.Stderr = first.Stdout, first.Stderr
	}
	return w
}

// anyMessage has every key of every member, for reading.
type anyMessage struct {
	MessageHead
	Content           Content          `json:"content"`
	Reasoning         string           `json:"reasoning"`
	Source            string           `json:"source"`
	Signature         string           `json:"signature"`
	State             string           `json:"state"`
	HiddenReasoning   string           `json:"hidden_reasoning"`
	ToolCall          *ToolCall        `json:"tool_call"`
	ToolCalls         toolCalls        `json:"tool_calls"`
	ToolReturn        Content          `json:"tool_return"`
	Status            string           `json:"status"`
	ToolCallID        string           `json:"tool_call_id"`
	Stdout            []string         `json:"stdout"`
	Stderr            []string         `json:"stderr"`
	ToolReturns       []ToolReturn     `json:"tool_returns"`
	Approvals         []Approval       `json:"approvals"`
	Approve           *bool            `json:"approve"`
	ApprovalRequestID string           `json:"approval_request_id"`
	Reason            string           `json:"reason"`
	Summary           string           `json:"summary"`
	CompactionStats   *CompactionStats `json:"compaction_stats"`
	EventType         string           `json:"event_type"`
	EventData         Object           `json:"event_data"`
	StopReason        StopReason       `json:"stop_reason"`
	ErrorType         string           `json:"error_type"`
	ErrorKind         string           `json:"kind"`
	Message           string           `json:"message"`
	Detail            string           `json:"detail"`
}

// UnmarshalJSON reads any member. An unknown type keeps its JSON in Raw, and so does a known type with an unexpected
// shape: what a newer server sends is never an error here.
func (m *Message) UnmarshalJSON(data []byte) error {
	var kind struct {
		MessageType MessageType `json:"message_type"`
		SeqID       int64       `json:"seq_id"`
		RunID       string      `json:"run_id"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	*m = Message{MessageType: kind.MessageType, SeqID: kind.SeqID, RunID: kind.RunID}
	if err := m.readBody(data); err != nil {
		*m = Message{MessageType: kind.MessageType, SeqID: kind.SeqID, RunID: kind.RunID, Raw: bytes.Clone(data)}
	}
	return nil
}

// readBody reads the fields of the type that m already has.
func (m *Message) readBody(data []byte) error {
	if m.MessageType == MessageUsage {
		m.Usage = new(Usage)
		return json.Unmarshal(data, m.Usage)
	}
	if m.MessageType == MessageNotice {
		var w noticeMessage
		err := json.Unmarshal(data, &w)
		m.setHead(w.MessageHead)
		m.Notice = &w.Notice
		return err
	}
	if m.wire() == nil {
		m.Raw = bytes.Clone(data)
		return nil
	}
	var w anyMessage
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	m.read(&w)
	return nil
}

func (m *Message) setHead(h MessageHead) {
	m.ID, m.Name, m.OTID, m.SenderID, m.StepID = h.ID, h.Name, h.OTID, h.SenderID, h.StepID
	m.IsErr, m.SeqID, m.RunID, m.Date = h.IsErr, h.SeqID, h.RunID, Val(h.Date)
}

func (m *Message) read(w *anyMessage) {
	m.setHead(w.MessageHead)
	m.Content = w.Content
	m.Reasoning, m.Source, m.Signature = w.Reasoning, w.Source, w.Signature
	m.State, m.HiddenReasoning = w.State, w.HiddenReasoning
	m.ToolCalls, m.Delta = w.ToolCalls.list, w.ToolCalls.delta
	if len(m.ToolCalls) == 0 && w.ToolCall != nil {
		m.ToolCalls = []ToolCall{*w.ToolCall}
	}
	m.ToolReturns = w.ToolReturns
	if len(m.ToolReturns) == 0 && m.MessageType == MessageToolReturn {
		m.ToolReturns = []ToolReturn{{
			Type: ApprovalReturn, ToolReturn: w.ToolReturn, Status: w.Status,
			ToolCallID: w.ToolCallID, Stdout: w.Stdout, Stderr: w.Stderr,
		}}
	}
	m.Approvals, m.Approve, m.ApprovalRequestID, m.Reason = w.Approvals, w.Approve, w.ApprovalRequestID, w.Reason
	m.Summary, m.CompactionStats = w.Summary, w.CompactionStats
	m.EventType, m.EventData = w.EventType, w.EventData
	m.StopReason = w.StopReason
	m.ErrorType, m.ErrorKind, m.ErrorText, m.Detail = w.ErrorType, w.ErrorKind, w.Message, w.Detail
}
