package core

import (
	"context"
	"time"
)

// RewindID names a rewind: "rewind-" and a UUIDv4.
type RewindID string

// NewRewindID returns a fresh id of a rewind.
func NewRewindID() RewindID { return NewID[RewindID]("rewind") }

// Rewind is the record of a conversation and its agent being taken back to a step, or of that being undone. It holds
// what is needed to undo it.
type Rewind struct {
	ID           RewindID
	Number       int64 // order, given by the store
	Agent        AgentID
	Conversation ConversationID
	Step         StepID      // where it went; empty: it is an undo
	Undoes       RewindID    // the rewind that an undo takes back
	Before       bool        // the input that the step answered went, too
	Shared       bool        // blocks that other agents have as well were taken back
	Rev          int         // of the conversation before it
	State        string      // what else was before it, as the engine writes it
	Blocks       []BlockID   // whose content it changed
	Revived      []BlockID   // deleted blocks that it brought back
	Taken        []PassageID // passages that it marked deleted
	Brought      []PassageID // passages of an earlier rewind that it brought back
	Missing      []string    // what could not be restored, each in words for a person
	By           string      // the client session of who did it; may be empty
	CreatedAt    time.Time
}

// RewindPoint is a place in an agent's past: when a step was sent, or the moment before a rewind. One of the two is set.
type RewindPoint struct {
	Step   StepID
	Rewind RewindID
}

// RewindStore keeps rewinds.
type RewindStore interface {
	// Create stores a rewind and gives it its Number.
	Create(ctx context.Context, r *Rewind) error
	Get(ctx context.Context, id RewindID) (Rewind, error)
	// List returns the rewinds of a conversation, oldest first unless the page says otherwise.
	List(ctx context.Context, conv ConversationID, p Page) ([]Rewind, error)
	// Passages says which of the passages that the agent itself inserted into these archives must be marked deleted, and
	// which that a rewind marked must be brought back, so that there are those of the point.
	Passages(ctx context.Context, agent AgentID, archives []ArchiveID, at RewindPoint) (take, bring []PassageID, err error)
}

// BlockLink says what a version of a block is in its line: an edit, or an earlier version brought back.
type BlockLink struct {
	Version  int
	Restores int // the version whose content it brought back; 0: an edit
}
