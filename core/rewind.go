package core

import (
	"context"
	"slices"
	"time"
)

// RewindID names a rewind: "rewind-" and a UUIDv4.
type RewindID string

// NewRewindID returns a fresh id of a rewind.
func NewRewindID() RewindID { return NewID[RewindID]("rewind") }

// RewindPart is a part of what a rewind can take back.
type RewindPart string

// The parts of a rewind.
const (
	RewindThread RewindPart = "thread" // the conversation, with the agent's settings, its tools and what is attached
	RewindMemory RewindPart = "memory" // blocks and passages
	RewindFiles  RewindPart = "files"  // files of the folders that the conversation worked in
)

// RewindParts are all parts of a rewind.
func RewindParts() []RewindPart { return []RewindPart{RewindThread, RewindMemory, RewindFiles} }

// Rewind records that a conversation and its agent were taken back to a step, or that this was undone. It holds what it
// takes to undo it.
type Rewind struct {
	ID           RewindID
	Number       int64 // order, set by the store
	Agent        AgentID
	Conversation ConversationID
	Step         StepID       // where it went; empty: this is an undo
	Undoes       RewindID     // the rewind that this one undoes
	What         []RewindPart // see Took
	Before       bool         // the input that the step answered was taken back as well
	Shared       bool         // blocks shared with other agents were taken back
	Rev          int          // of the conversation, before the rewind
	State        string       // what else there was before it, as the engine writes it
	Blocks       []BlockID    // blocks whose content it changed
	Revived      []BlockID    // deleted blocks that it restored
	Taken        []PassageID  // passages that it marked deleted
	Brought      []PassageID  // passages of an earlier rewind that it restored
	Turned       []PassageID  // passages whose earlier content it restored
	Missing      []string     // what couldn't be restored, each described for a person
	Files        FilesBack    // what became of files
	Unfinished   bool         // files may not have been put back yet
	By           string       // client session of whoever did it; may be empty
	CreatedAt    time.Time
}

// Took reports whether a part was taken back.
func (r *Rewind) Took(part RewindPart) bool {
	if len(r.What) == 0 { // from before files went back
		return part != RewindFiles
	}
	return slices.Contains(r.What, part)
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
	// Finish stores what became of the files of a rewind.
	Finish(ctx context.Context, id RewindID, files FilesBack) error
	// Unfinished returns rewinds that did not get to put files back, the oldest first.
	Unfinished(ctx context.Context) ([]Rewind, error)
	// List returns the rewinds of a conversation, oldest first unless the page says otherwise.
	List(ctx context.Context, conv ConversationID, p Page) ([]Rewind, error)
	// Passages says what takes the agent's passages back to a point: those that it inserted into its own archives, and its
	// changes of passages there and in the others. What somebody else changed later stays.
	Passages(ctx context.Context, agent AgentID, own, others []ArchiveID, at RewindPoint) (PassagesBack, error)
}

// PassagesBack is what takes an agent's passages back to a point in its past.
type PassagesBack struct {
	Take  []PassageID   // inserted since: to be deleted
	Bring []PassageID   // deleted by a rewind since: to be revived
	Turn  []PassageTurn // changed since: to be given an earlier content
}

// PassageTurn names the version of a passage to go back to.
type PassageTurn struct {
	Passage PassageID
	Version int
}
