package core

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Role says whose record a stored message is.
type Role string

// The roles of stored messages.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleApproval  Role = "approval"
	RoleSummary   Role = "summary"
)

// Searchable reports whether search may find messages with this role. Nobody said what tool records and the system
// message hold.
func (r Role) Searchable() bool {
	switch r {
	case RoleUser, RoleAssistant, RoleApproval, RoleSummary:
		return true
	case RoleSystem, RoleTool:
	}
	return false
}

// Limits of messages.
const (
	MaxInputChars    = 4_000_000 // characters of one input message
	MaxInputMessages = 200
)

// HiddenKind says why a record was added to a turn from outside. Hidden records are sent to the model and shown nowhere.
type HiddenKind string

// The kinds of hidden records.
const (
	NotHidden    HiddenKind = ""
	HiddenBlocks HiddenKind = "blocks" // announces block versions newer than the prompt's
	HiddenMarker HiddenKind = "marker" // says how many messages left the window
	HiddenRecall HiddenKind = "recall" // what automatic recall found
	HiddenSkills HiddenKind = "skills" // lists what the client knows how to do
	HiddenNotice HiddenKind = "notice" // anything else the program tells the model

	HiddenFolders HiddenKind = "folders" // lists what a person opened beside the workspace

	HiddenInstructions HiddenKind = "instructions" // how to work in a folder that a call touched
)

// Message is one side of a turn as stored; it becomes several wire messages, see Parts.
type Message struct {
	ID           MessageID
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Role         Role
	Content      []Content
	Returns      []ToolReturn // of a tool record: all returns of one response
	Name         string
	OTID         string // the client's, for user input; empty: derived from the id
	SenderID     string
	Preface      string // one line of local time sent before the text of a user message; the API's text leaves it out
	Hidden       HiddenKind
	Joins        MessageID // of a hidden record: the user message it is sent in, before the text; empty: it is sent on its own
	IsError      bool
	Native       *Native
	Approval     *Approval        // of an approval record
	Model        Handle           // of an assistant turn
	Compaction   *CompactionStats // of a summary record
	Recalled     []string         // of a recall record: the ids of the passages and messages in it
	RedactedAt   time.Time        // when part of its text was forgotten; zero: never
	Tokens       int              // estimate of its size in a request
	Seq          int64            // order across all conversations, set by the store
	CreatedAt    time.Time
}

// CompactionStats says what a compaction did; counts are messages, sizes are tokens.
type CompactionStats struct {
	Trigger        string `json:"trigger"` // post_step_context_check, context_window_exceeded or request
	TokensBefore   int    `json:"context_tokens_before"`
	TokensAfter    int    `json:"context_tokens_after"`
	Window         int    `json:"context_window"`
	MessagesBefore int    `json:"messages_count_before"`
	MessagesAfter  int    `json:"messages_count_after"`
}

// ToolReturn is the outcome of a call as stored and shown.
type ToolReturn struct {
	CallID  string   `json:"call_id"`
	Name    string   `json:"name"`
	Text    string   `json:"text"`
	IsError bool     `json:"is_error,omitempty"`
	Stdout  []string `json:"stdout,omitempty"`
	Stderr  []string `json:"stderr,omitempty"`
	Passed  string   `json:"passed,omitempty"`  // which rule, mode or person let the call pass, where it needed that; not sent to models
	Hooked  string   `json:"hooked,omitempty"`  // what hooks did about the call, in a clause; not sent
	Dir     string   `json:"dir,omitempty"`     // of a shell line: where the conversation's next one begins; not sent
	Images  []Image  `json:"images,omitempty"`  // behind the text
	Layers  []string `json:"layers,omitempty"`  // of the sandbox, that confined what the call ran; not sent
	Source  string   `json:"source,omitempty"`  // where a text in it comes from that is not the person's; not sent
	Dropped bool     `json:"dropped,omitempty"` // that of a call which was dropped; sent, and never listed
}

// Listed are the returns that people see, and that rules count: those of calls that were dropped are none.
func Listed(returns []ToolReturn) []ToolReturn {
	return slices.DeleteFunc(slices.Clone(returns), func(r ToolReturn) bool { return r.Dropped })
}

// PlainText returns the text parts joined.
func (m *Message) PlainText() string {
	var b strings.Builder
	for _, c := range m.Content {
		if c.Type == ContentText {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// Said is the text of the message as people see it: it includes what was said through a tool, but no reasoning or calls.
// It is what search matches.
func (m *Message) Said() string {
	var b strings.Builder
	for _, p := range m.Parts(DefaultSpeak) {
		switch p.Kind {
		case PartUser, PartAssistant, PartSummary:
			b.WriteString(p.Text)
			b.WriteByte('\n')
		case PartSystem, PartReasoning, PartCalls, PartReturns, PartRequest, PartAnswer:
		}
	}
	return b.String()
}

// Calls returns the message's calls in order.
func (m *Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, c := range m.Content {
		if c.Type == ContentCall && c.Call != nil {
			calls = append(calls, *c.Call)
		}
	}
	return calls
}

// PartKind is what a part of a message is on the wire.
type PartKind string

// The part kinds; each is one message type of the contract.
const (
	PartSystem    PartKind = "system_message"
	PartUser      PartKind = "user_message"
	PartAssistant PartKind = "assistant_message"
	PartReasoning PartKind = "reasoning_message"
	PartCalls     PartKind = "tool_call_message"
	PartReturns   PartKind = "tool_return_message"
	PartRequest   PartKind = "approval_request_message"
	PartAnswer    PartKind = "approval_response_message"
	PartSummary   PartKind = "summary_message"
)

// Part is one wire message of a stored message.
type Part struct {
	Kind      PartKind
	Index     int
	OTID      string
	Text      string // of texts and reasoning
	Signature string
	Prompted  bool
	Calls     []ToolCall
	Returns   []ToolReturn
	Decisions []Decision
	Content   []Content // of a user message with images: the text and the images in order
}

// RequestPart is the index of the one part of a request for approval. Its id is that of its response minus one, a
// difference that an otid may not show: no part of the response has this index.
const RequestPart = 0x7f

// RequestID returns the id of the request for approval that belongs to a response: the uuid, as a number, minus one.
func RequestID(response MessageID) MessageID {
	u, err := uuid.Parse(strings.TrimPrefix(string(response), "message-"))
	if err != nil {
		return NewMessageID()
	}
	for i := len(u) - 1; i >= 0; i-- {
		if u[i]--; u[i] != 0xff {
			break
		}
	}
	return MessageID("message-" + u.String())
}

// Speak says how to show agents that speak through a tool: a call of Tool is shown as an assistant message holding the
// argument Arg. With the zero value, calls are shown as calls.
type Speak struct{ Tool, Arg string }

// DefaultSpeak is what the contract uses unless a request says otherwise.
var DefaultSpeak = Speak{Tool: "send_message", Arg: "message"}

// Parts makes the identity of a message's parts, once for streams, lists and search: a part's index is the order of
// first appearance, all calls are one part opened by the first, its otid is OTIDOf(id, index). With asAssistant, calls of
// the speak tool are assistant text and returns that only answer such calls are left out.
func (m *Message) Parts(asAssistant Speak) []Part {
	switch m.Role {
	case RoleAssistant:
		return m.assistantParts(asAssistant)
	case RoleApproval:
		return m.approvalParts()
	case RoleTool:
		returns := make([]ToolReturn, 0, len(m.Returns))
		for _, r := range Listed(m.Returns) {
			if asAssistant.Tool != "" && r.Name == asAssistant.Tool && !r.IsError {
				continue
			}
			returns = append(returns, r)
		}
		if len(returns) == 0 {
			return nil
		}
		return []Part{{Kind: PartReturns, OTID: OTIDOf(m.ID, 0), Returns: returns}}
	case RoleSystem, RoleUser, RoleSummary:
		kind := map[Role]PartKind{RoleSystem: PartSystem, RoleUser: PartUser, RoleSummary: PartSummary}[m.Role]
		otid := m.OTID
		if otid == "" {
			otid = OTIDOf(m.ID, 0)
		}
		part := Part{Kind: kind, OTID: otid, Text: m.PlainText()}
		if len(m.Images()) > 0 {
			part.Content = m.Content
		}
		return []Part{part}
	}
	return nil
}

// approvalParts makes the one part of a request or of an answer.
func (m *Message) approvalParts() []Part {
	if m.Answers() {
		otid := m.OTID
		if otid == "" {
			otid = OTIDOf(m.ID, 0)
		}
		return []Part{{Kind: PartAnswer, OTID: otid, Decisions: m.Approval.Decisions}}
	}
	return []Part{{Kind: PartRequest, Index: RequestPart, OTID: OTIDOf(m.ID, RequestPart), Calls: m.Calls()}}
}

func (m *Message) assistantParts(speak Speak) []Part {
	var parts []Part
	calls := -1
	add := func(p Part) int {
		p.Index = len(parts)
		p.OTID = OTIDOf(m.ID, p.Index)
		parts = append(parts, p)
		return p.Index
	}
	for _, c := range m.Content {
		switch c.Type {
		case ContentReasoning:
			add(Part{Kind: PartReasoning, Text: c.Text, Signature: c.Signature, Prompted: c.Prompted})
		case ContentText:
			add(Part{Kind: PartAssistant, Text: c.Text})
		case ContentCall:
			if c.Call.Dropped {
				continue
			}
			if said, ok := speak.said(*c.Call); ok {
				add(Part{Kind: PartAssistant, Text: said})
				continue
			}
			if calls < 0 {
				calls = add(Part{Kind: PartCalls})
			}
			parts[calls].Calls = append(parts[calls].Calls, *c.Call)
		case ContentImage: // agents send none
		}
	}
	return parts
}

func (s Speak) said(call ToolCall) (string, bool) {
	if s.Tool == "" || call.Name != s.Tool {
		return "", false
	}
	args, err := ParseArguments(call.Arguments)
	if err != nil {
		return "", false
	}
	text, ok := args[s.Arg].(string)
	return text, ok
}

// OTIDOf returns the otid of a message's part: the message's uuid with its lowest seven bits replaced by the index.
// An id that is not a uuid is returned as it is.
func OTIDOf(id MessageID, index int) string {
	u, err := uuid.Parse(strings.TrimPrefix(string(id), "message-"))
	if err != nil {
		return string(id)
	}
	low := binary.BigEndian.Uint64(u[8:])
	binary.BigEndian.PutUint64(u[8:], low&^0x7f|uint64(index)&0x7f)
	return u.String()
}

// MessageFilter selects messages of lists and searches. Hidden records are never in them.
type MessageFilter struct {
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Roles        []Role
	From, Until  time.Time // half open; zero: unbounded
	IncludeErr   bool
	Hidden       HiddenKind // of a list: the records of this kind, in place of what was said
}
