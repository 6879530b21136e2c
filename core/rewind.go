package core

import (
	"context"
	"time"
)

// RewindID names a rewind: "rewind-" and a UUIDv4.
type RewindID string

// NewRewindID returns a fresh id of a rewind.
func NewRewindID() RewindID { return NewID[RewindID]("rewind") }

// Rewind records that a conversation and its agent were taken back to a step, or that this was undone. It holds what it
// takes to undo it.
type Rewind struct {
	ID           RewindID
	Number       int64 // order, set by the store
	Agent        AgentID
	Conversation ConversationID
	Step         StepID      // where it went; empty: this is an undo
	Undoes       RewindID    // the rewind that this one undoes
	Before       bool        // the input that the step answered was taken back as well
	Shared       bool        // blocks shared with other agents were taken back
	Rev          int         // of the conversation, before the rewind
	State        string      // what else there was before it, as the engine writes it
	Blocks       []BlockID   // blocks whose content it changed
	Revived      []BlockID   // deleted blocks that it restored
	Taken        []PassageID // passages that it marked deleted
	Brought      []PassageID // passages of an earlier rewind that it restored
	Missing      []string    // what couldn't be restored, each described for a person
	By           string      // client session of whoever did it; may be empty
	CreatedAt    time.Time
}

// RewindPoint is a point in an agent's past: when a step was sent, or just before a rewind. Exactly one is set.
type RewindPoint struct {
	Step   StepID
	Rewind RewindID
}

// RewindStore keeps rewinds.
type RewindStore interface {
	// Create stores a rewind and sets its Number.
	Create(ctx context.Context, r *Rewind) error
	Get(ctx context.Context, id RewindID) (Rewind, error)
	// List returns the rewinds of a conversation, oldest first unless the page says otherwise.
	List(ctx context.Context, conv ConversationID, p Page) ([]Rewind, error)
	// Passages compares the passages that the agent itself inserted into these archives with those that existed at the
	// point: it returns which to mark deleted, and which of those marked by a rewind to restore.
	Passages(ctx context.Context, agent AgentID, archives []ArchiveID, at RewindPoint) (take, bring []PassageID, err error)
}

// BlockLink says how a version of a block came about: by an edit, or by restoring an earlier version.
type BlockLink struct {
	Version  int
	Restores int // the version whose content it restored; 0: an edit
}
