package core

import (
	"context"
	"time"
)

// Store persists everything that is a fact. Each aggregate has its own small interface. Get returns not_found, Find may
// return none, List pages in a stable order. Every method works inside and outside of Tx.
type Store interface {
	Agents() AgentStore
	Blocks() BlockStore
	Messages() MessageStore
	Conversations() ConversationStore
	Runs() RunStore
	Steps() StepStore
	Snapshots() SnapshotStore
	Archives() ArchiveStore
	Passages() PassageStore
	Workspaces() WorkspaceStore
	Meta() MetaStore
	Rewinds() RewindStore
	Vectors() VectorStore
	Folders() FolderStore
	Files() FileStore
	Mirrors() MirrorStore

	// Tx runs fn in one transaction and returns after the commit, durable. fn may be run again, so it has no effect
	// outside tx; it uses the context it is given. No network, model or sleep inside. A Tx on the outer store from
	// inside an fn panics. Tx on tx runs fn in a savepoint: its error rolls back that part only.
	Tx(ctx context.Context, fn func(ctx context.Context, tx Store) error) error
}

// AgentStore keeps agents. Create and Update write the tags with them; Update is by read-modify-write inside Tx.
type AgentStore interface {
	Create(ctx context.Context, a *Agent) error
	Get(ctx context.Context, id AgentID) (Agent, error)
	Update(ctx context.Context, a *Agent) error
	// Delete marks the agent, its conversations, messages and runs deleted; its blocks stay.
	Delete(ctx context.Context, id AgentID) error
	List(ctx context.Context, f AgentFilter, p Page) ([]Agent, error)
	Count(ctx context.Context, f AgentFilter) (int, error)
	Tags(ctx context.Context, contains string, p Page) ([]string, error)
	// Finished records the end of a run on its agent.
	Finished(ctx context.Context, id AgentID, reason StopReason, at time.Time, took time.Duration) error
}

// AgentFilter selects agents.
type AgentFilter struct {
	Name         string // exact
	Query        string // case-insensitive substring of the name
	Tags         []string
	MatchAllTags bool
	LastStop     StopReason
	Archive      ArchiveID // those that have it
	Hidden       bool      // hidden ones too
}

// BlockStore keeps blocks, their versions and to which agents they are attached.
type BlockStore interface {
	// Create writes the block and its version 1.
	Create(ctx context.Context, b *Block, by BlockAuthor) error
	Get(ctx context.Context, id BlockID) (Block, error)
	// Update writes the block; where value, label, description or limit changed it raises b.Version and keeps the version.
	// b.Version must be the stored version, else conflict: two writers of one block lose nothing silently.
	Update(ctx context.Context, b *Block, by BlockAuthor) error
	Delete(ctx context.Context, id BlockID) error
	List(ctx context.Context, f BlockFilter, p Page) ([]Block, error)
	Count(ctx context.Context, f BlockFilter) (int, error)
	// Attach appends the block to the agent's; a label the agent already has is a conflict, the same block again is no-op.
	Attach(ctx context.Context, agent AgentID, block BlockID) error
	Detach(ctx context.Context, agent AgentID, block BlockID) error
	// OfAgent returns the agent's blocks in the order of attachment.
	OfAgent(ctx context.Context, agent AgentID) ([]Block, error)
	ByLabel(ctx context.Context, agent AgentID, label string) (Block, error)
	AgentsOf(ctx context.Context, block BlockID) ([]AgentID, error)
	// Version returns one kept version; Versions all, newest first.
	Version(ctx context.Context, id BlockID, version int) (BlockVersion, error)
	Versions(ctx context.Context, id BlockID, p Page) ([]BlockVersion, error)
	// Lineage returns what each version is in the block's line, oldest first.
	Lineage(ctx context.Context, id BlockID) ([]BlockLink, error)
	// Revive brings a deleted block back with the content of one of its versions, as a new version.
	Revive(ctx context.Context, id BlockID, version int, by BlockAuthor) (Block, error)
}

// MessageStore keeps messages and which of them a conversation's context holds.
type MessageStore interface {
	// Insert writes messages and gives each its Seq; counters of agent and conversation rise by those not hidden.
	Insert(ctx context.Context, msgs ...*Message) error
	Get(ctx context.Context, id MessageID) (Message, error)
	// List returns messages a person may see, or the hidden records of a kind, oldest first within the page. The cursors differ from other lists:
	// After means newer and Before older whatever the order; Desc picks the newest. With a conversation, each message is
	// shown once, if its newest context row is open or was closed by eviction or compaction.
	List(ctx context.Context, f MessageFilter, p Page) ([]Message, error)
	// Enter opens context rows at rev, in the given order, behind everything there; cutTo may be nil.
	Enter(ctx context.Context, conv ConversationID, rev int, ids []MessageID, cutTo map[MessageID]int) error
	// EnterFirst opens the row of message 0 (position 0).
	EnterFirst(ctx context.Context, conv ConversationID, rev int, id MessageID) error
	// Leave closes the open rows of the given messages at rev.
	Leave(ctx context.Context, conv ConversationID, rev int, why LeftWhy, ids []MessageID) error
	// Restore makes the context, and which messages lists show, what they were at the earlier rev to. Positions and cuts
	// stay; rows that open or close do so at rev. Message 0 is left alone.
	Restore(ctx context.Context, conv ConversationID, rev, to int) error
	// Context returns the rows open now, by position, with their messages.
	Context(ctx context.Context, conv ConversationID) ([]InContext, error)
	// ContextAt returns the rows that were open at a rev, by position, with their messages.
	ContextAt(ctx context.Context, conv ConversationID, rev int) ([]InContext, error)
	// ContextIDs returns the ids of the open rows that are not hidden, by position.
	ContextIDs(ctx context.Context, conv ConversationID) ([]MessageID, error)
	// Match searches by words within the filter, best first. It sees everything committed before it began.
	Match(ctx context.Context, q SearchQuery, f MessageFilter) ([]MessageHit, error)
	// SetText replaces the text of a message (message 0, when the system text is compiled anew).
	SetText(ctx context.Context, id MessageID, text string) error
}

// ConversationStore keeps conversations.
type ConversationStore interface {
	Create(ctx context.Context, c *Conversation) error
	Get(ctx context.Context, id ConversationID) (Conversation, error)
	Update(ctx context.Context, c *Conversation) error
	Delete(ctx context.Context, id ConversationID) error
	List(ctx context.Context, f ConversationFilter, p Page) ([]Conversation, error)
	// MarkStale marks the default conversations of these agents.
	MarkStale(ctx context.Context, agents ...AgentID) error
	// LastMessage returns the time of the newest visible user or assistant message; zero: none.
	LastMessage(ctx context.Context, id ConversationID) (time.Time, error)
}

// RunStore keeps runs.
type RunStore interface {
	// Create gives the run its Number. A taken Request hash in the conversation is a conflict.
	Create(ctx context.Context, r *Run) error
	Get(ctx context.Context, id RunID) (Run, error)
	Update(ctx context.Context, r *Run) error
	Delete(ctx context.Context, id RunID) error
	List(ctx context.Context, f RunFilter, p Page) ([]Run, error)
	FindRequest(ctx context.Context, conv ConversationID, request string) (Run, bool, error)
	// Unfinished returns the runs in created or running, by Number.
	Unfinished(ctx context.Context) ([]Run, error)
	// Usage sums the steps of a run.
	Usage(ctx context.Context, id RunID) (Usage, int, error)
}

// StepStore keeps steps.
type StepStore interface {
	Create(ctx context.Context, s *Step) error
	Get(ctx context.Context, id StepID) (Step, error)
	Update(ctx context.Context, s *Step) error
	List(ctx context.Context, f StepFilter, p Page) ([]Step, error)
}

// SnapshotKind says what a snapshot holds.
type SnapshotKind string

// The kinds of snapshots.
const (
	SnapshotSystem SnapshotKind = "system" // the prompt as sent
	SnapshotTools  SnapshotKind = "tools"  // the schemas as sent, JSON
	SnapshotAgent  SnapshotKind = "agent"  // settings, rules, pin, ids of tools and blocks with versions, JSON
	SnapshotText   SnapshotKind = "text"   // a system text before it is compiled
)

// SnapshotStore keeps content-addressed texts, compressed, written once.
type SnapshotStore interface {
	// Put stores the body if it is new and returns its hash: hex SHA-256 of kind, newline, body.
	Put(ctx context.Context, kind SnapshotKind, body string) (string, error)
	Get(ctx context.Context, hash string) (SnapshotKind, string, error)
	// RedactedAt says when a text of one of the snapshots was last forgotten, so that its body is not what its hash is of;
	// zero: never.
	RedactedAt(ctx context.Context, hashes ...string) (time.Time, error)
}

// ArchiveStore keeps archives and which agents they are attached to. Those of folders are only there for Get and Update:
// lists leave them out, Attach and Delete do not find them.
type ArchiveStore interface {
	Create(ctx context.Context, a *Archive) error
	Get(ctx context.Context, id ArchiveID) (Archive, error)
	Update(ctx context.Context, a *Archive) error
	Delete(ctx context.Context, id ArchiveID) error
	List(ctx context.Context, name string, agent AgentID, p Page) ([]Archive, error)
	// OfAgent returns the agent's archive, if it has one.
	OfAgent(ctx context.Context, agent AgentID) (Archive, bool, error)
	Attach(ctx context.Context, agent AgentID, archive ArchiveID) error
	Detach(ctx context.Context, agent AgentID, archive ArchiveID) error
	AgentsOf(ctx context.Context, archive ArchiveID) ([]AgentID, error)
}

// PassageStore keeps passages. Chunks of files come and go with Files: a chunk is not changed or deleted by itself, and
// nothing else is inserted beside them.
type PassageStore interface {
	Insert(ctx context.Context, ps ...*Passage) error
	Get(ctx context.Context, id PassageID) (Passage, error)
	Update(ctx context.Context, p *Passage) error
	Delete(ctx context.Context, id PassageID) error
	// Revive takes the mark of a deleted passage away.
	Revive(ctx context.Context, id PassageID) error
	List(ctx context.Context, f PassageFilter, p Page) ([]Passage, error)
	// Match searches by words within the filter, best first. It sees everything committed before it began.
	Match(ctx context.Context, q SearchQuery, f PassageFilter) ([]PassageHit, error)
	// TopTags returns the most used tags of an archive with their counts.
	TopTags(ctx context.Context, archive ArchiveID, limit int) ([]TagCount, error)
}

// TagCount says how often a tag is used.
type TagCount struct {
	Tag   string
	Count int
}

// WorkspaceStore remembers which agent a folder last used.
type WorkspaceStore interface {
	Find(ctx context.Context, path string) (Workspace, bool, error)
	// Last returns the one used last anywhere.
	Last(ctx context.Context) (Workspace, bool, error)
	Put(ctx context.Context, w Workspace) error
}

// MetaStore keeps single values of the home: real_at, uuid, epoch.
type MetaStore interface {
	Get(ctx context.Context, key string) (string, bool, error)
	Put(ctx context.Context, key, value string) error
}

// MetaRealAt is set once a real model has answered for an agent's own or default choice.
const MetaRealAt = "real_at"

// EventLog keeps what watchers read. It is disposable. Append assigns no numbers: events carry their Seq, rising within a run.
type EventLog interface {
	// Append returns after the events are readable by a new reader.
	Append(ctx context.Context, events ...Event) error
	Read(ctx context.Context, run RunID, after int64, limit int) ([]Event, error)
	// Last returns the highest Seq of the run, 0 if there is none, and whether a Stop is among its events.
	Last(ctx context.Context, run RunID) (seq int64, stopped bool, err error)
	// Expire deletes the events of the runs that ended before t.
	Expire(ctx context.Context, t time.Time) error
	DeleteRun(ctx context.Context, run RunID) error
}
