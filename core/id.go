package core

import (
	"crypto/sha256"
	"strings"

	"github.com/google/uuid"
)

// The id types: a prefix, a dash and a lower-case UUIDv4.
type (
	// AgentID names an agent: "agent-" and a UUIDv4.
	AgentID string
	// BlockID names a memory block: "block-" and a UUIDv4.
	BlockID string
	// MessageID names a stored message: "message-" and a UUIDv4.
	MessageID string
	// ConversationID names a conversation: "conv-" and a UUIDv4; an agent's default conversation has the agent's id.
	ConversationID string
	// RunID names a run: "run-" and a UUIDv4.
	RunID string
	// StepID names a step: "step-" and a UUIDv4.
	StepID string
	// ToolID names a tool: "tool-" and a UUIDv4; a built-in tool's is derived from its name.
	ToolID string
	// ArchiveID names an archive: "archive-" and a UUIDv4.
	ArchiveID string
	// PassageID names a passage: "passage-" and a UUIDv4.
	PassageID string
	// ClientID names a client session: "client-" and a UUIDv4.
	ClientID string
)

// NewID returns a fresh id with the given prefix, which has no dash.
func NewID[T ~string](prefix string) T { return T(prefix + "-" + uuid.NewString()) }

// The makers of fresh ids.
func NewAgentID() AgentID               { return NewID[AgentID]("agent") }
func NewBlockID() BlockID               { return NewID[BlockID]("block") }
func NewMessageID() MessageID           { return NewID[MessageID]("message") }
func NewConversationID() ConversationID { return NewID[ConversationID]("conv") }
func NewRunID() RunID                   { return NewID[RunID]("run") }
func NewStepID() StepID                 { return NewID[StepID]("step") }
func NewArchiveID() ArchiveID           { return NewID[ArchiveID]("archive") }
func NewPassageID() PassageID           { return NewID[PassageID]("passage") }
func NewClientID() ClientID             { return NewID[ClientID]("client") }

// BuiltinToolID returns the id of the built-in tool of that name: it is the same in every home, so it needs no row.
func BuiltinToolID(name string) ToolID {
	sum := sha256.Sum256([]byte("loci built-in tool " + name))
	id, _ := uuid.FromBytes(sum[:16]) // sixteen bytes always parse
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return ToolID("tool-" + id.String())
}

// ValidID reports whether s is the given prefix, a dash and a lower-case UUIDv4.
func ValidID(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"-")
	if !ok || len(rest) != 36 || rest[14] != '4' || !strings.ContainsRune("89ab", rune(rest[19])) {
		return false
	}
	for i, c := range []byte(rest) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// DefaultConversation returns the id of the agent's default conversation.
func DefaultConversation(id AgentID) ConversationID { return ConversationID(id) }

// IsDefault reports whether the conversation is an agent's default one.
func (c ConversationID) IsDefault() bool { return ValidID("agent", string(c)) }
