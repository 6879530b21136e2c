package core

import "time"

// Conversation is an ordered thread of an agent; every agent has a default one, whose id is the agent's.
//
// System is message 0 as message lists show it; PinSystem and PinTools are what is sent. They are hashes of snapshots.
// See package core/memory for when they change.
type Conversation struct {
	ID            ConversationID
	Agent         AgentID
	Summary       string
	Model         Handle // override of the agent's; empty: none
	Settings      *ModelSettings
	Hidden        bool
	SystemMessage MessageID // message 0
	System        string    // snapshot of the stored system message
	Stale         bool      // of a default conversation: recompile System at the next read or run
	PinSystem     string    // snapshot of the system text to send; empty: not pinned yet
	PinTools      string    // snapshot of the tools to send
	PinRev        int       // the agent's Rev at which it was pinned
	PinKey        string    // the pin holds while this is unchanged: hash of system text, rules, tools, folders, instructions
	Prefix        string    // hash(system sent, tools sent, cut)
	Cut           int       // rev of the last compaction or eviction
	Rev           int       // rises with each group of rows that enters or leaves the context
	Shown         map[BlockID]int
	Told          int64     // the change of passages, by its Seq, up to which the window was told what people took back
	AskedAt       time.Time // when a model was last asked; zero: never
	LastMessageAt time.Time
	LastFolder    string // the workspace last named in the window
	MessageCount  int    // messages, hidden ones not counted
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// LeftWhy says why a message left a conversation's context.
type LeftWhy string

// Why a context row was closed. Lists show a message if its newest row is open, or was closed by eviction or compaction.
const (
	LeftEviction   LeftWhy = "eviction"
	LeftCompaction LeftWhy = "compaction"
	LeftReset      LeftWhy = "reset"
	LeftRewind     LeftWhy = "rewind"
)

// ContextRow says that a message was part of what a conversation sends, from Entered until Left.
type ContextRow struct {
	Conversation ConversationID
	Message      MessageID
	Position     int64 // order of arrival; message 0 is 0
	Entered      int
	Left         int // 0: still there
	Why          LeftWhy
	CutTo        int // characters the text was cut to when it entered; 0: whole
}

// InContext is a message together with its row.
type InContext struct {
	Row     ContextRow
	Message Message
}

// ConversationFilter selects conversations. Default ones are never listed.
type ConversationFilter struct {
	Agent         AgentID
	SummarySearch string
	Hidden        bool // include hidden ones
}
