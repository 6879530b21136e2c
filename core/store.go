package core

import (
	"context"
	"time"
)

// Store persists everything that must last. Each aggregate has its own small interface. Get returns not_found, Find may
// return none, List pages in a stable order. Every method works inside and outside of Tx.
type Store interface {
	Agents() AgentStore
	Blocks() BlockStore
	Messages() MessageStore
	Conversations() ConversationStore
	Runs() RunStore
	Steps() StepStore
	Snapshots() SnapshotStore
	Images() ImageStore
	Archives() ArchiveStore
	Passages() PassageStore
	Workspaces() WorkspaceStore
	Meta() MetaStore
	Rewinds() RewindStore
	Vectors() VectorStore
	Folders() FolderStore
	Files() FileStore
	Mirrors() MirrorStore
	Variables() VariableStore
	Expenses() ExpenseStore
	Providers() ProviderStore
	Tools() ToolStore
	MCPServers() MCPServerStore

	// Tx runs fn in one transaction and returns once the commit is durable. fn may run more than once, so it must have no
	// effect outside tx, and it must use the context it is given. Don't use the network, call a model or sleep inside.
	// Calling Tx on the outer store from inside fn panics. Tx on tx runs fn in a savepoint: an error rolls back only that
	// part.
	Tx(ctx context.Context, fn func(ctx context.Context, tx Store) error) error
}

// AgentStore keeps agents. Create and Update store the tags too; Update means read-modify-write inside Tx.
type AgentStore interface {
	Create(ctx context.Context, a *Agent) error
	Get(ctx context.Context, id AgentID) (Agent, error)
	Update(ctx context.Context, a *Agent) error
	// Delete marks the agent and its conversations, messages and runs deleted; its blocks stay.
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
	Block        BlockID   // those that it is attached to
	Hidden       bool      // include hidden ones
}

// BlockStore keeps blocks, their versions, and which agents they are attached to.
type BlockStore interface {
	// Create stores the block and its version 1.
	Create(ctx context.Context, b *Block, by Author) error
	Get(ctx context.Context, id BlockID) (Block, error)
	// Update stores the block; if value, label, description or limit changed, it increments b.Version and keeps the version.
	// b.Version must match the stored version, else it is a conflict: two writers of one block never lose an edit silently.
	Update(ctx context.Context, b *Block, by Author) error
	Delete(ctx context.Context, id BlockID) error
	List(ctx context.Context, f BlockFilter, p Page) ([]Block, error)
	Count(ctx context.Context, f BlockFilter) (int, error)
	// Attach appends the block to the agent's; a label the agent already has is a conflict, the same block again is a no-op.
	Attach(ctx context.Context, agent AgentID, block BlockID) error
	Detach(ctx context.Context, agent AgentID, block BlockID) error
	// OfAgent returns the agent's blocks in order of attachment.
	OfAgent(ctx context.Context, agent AgentID) ([]Block, error)
	ByLabel(ctx context.Context, agent AgentID, label string) (Block, error)
	AgentsOf(ctx context.Context, block BlockID) ([]AgentID, error)
	// Version returns one kept version; Versions returns all, newest first.
	Version(ctx context.Context, id BlockID, version int) (BlockVersion, error)
	Versions(ctx context.Context, id BlockID, p Page) ([]BlockVersion, error)
	// Lineage says how each version of the block came about, oldest first.
	Lineage(ctx context.Context, id BlockID) ([]VersionLink, error)
	// Revive restores a deleted block with the content of one of its versions, as a new version.
	Revive(ctx context.Context, id BlockID, version int, by Author) (Block, error)
}

// MessageStore keeps messages and which of them are in a conversation's context.
type MessageStore interface {
	// Insert stores messages and sets each one's Seq; the counters of agent and conversation rise by those not hidden.
	Insert(ctx context.Context, msgs ...*Message) error
	Get(ctx context.Context, id MessageID) (Message, error)
	// List returns the messages a person may see, or the hidden records of a kind, oldest first within the page. Cursors
	// differ from other lists: After means newer and Before older whatever the order; Desc picks the newest. With a
	// conversation, each message is listed once, if its newest context row is open or was closed by eviction or compaction.
	List(ctx context.Context, f MessageFilter, p Page) ([]Message, error)
	// Enter opens context rows at rev, in the given order, after all existing ones; cutTo may be nil.
	Enter(ctx context.Context, conv ConversationID, rev int, ids []MessageID, cutTo map[MessageID]int) error
	// EnterFirst opens the row of message 0 (position 0).
	EnterFirst(ctx context.Context, conv ConversationID, rev int, id MessageID) error
	// Leave closes the open rows of the given messages at rev.
	Leave(ctx context.Context, conv ConversationID, rev int, why LeftWhy, ids []MessageID) error
	// Restore sets the context, and which messages lists show, back to what they were at the earlier rev to. Positions and
	// cuts are kept; rows open or close at rev. Message 0 isn't touched.
	Restore(ctx context.Context, conv ConversationID, rev, to int) error
	// Context returns the rows open now, by position, with their messages.
	Context(ctx context.Context, conv ConversationID) ([]InContext, error)
	// ContextAt returns the rows that were open at a rev, by position, with their messages.
	ContextAt(ctx context.Context, conv ConversationID, rev int) ([]InContext, error)
	// ContextIDs returns the ids of the open rows that are not hidden, by position.
	ContextIDs(ctx context.Context, conv ConversationID) ([]MessageID, error)
	// Waiting returns the requests for approval that conversations of an agent, or of all without an id, end with, oldest first.
	Waiting(ctx context.Context, agent AgentID) ([]InContext, error)
	// Newest returns the newest messages that search may find with the filter, those before a Seq (0: all).
	Newest(ctx context.Context, f MessageFilter, before int64, limit int) ([]Message, error)
	// Among returns those of the given messages that search may find with the filter, in no order.
	Among(ctx context.Context, f MessageFilter, ids []MessageID) ([]Message, error)
	// SetText replaces the text of a message (message 0, when the system text is recompiled).
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
	// Create sets the run's Number. A Request hash already used in the conversation is a conflict.
	Create(ctx context.Context, r *Run) error
	Get(ctx context.Context, id RunID) (Run, error)
	Update(ctx context.Context, r *Run) error
	Delete(ctx context.Context, id RunID) error
	List(ctx context.Context, f RunFilter, p Page) ([]Run, error)
	FindRequest(ctx context.Context, conv ConversationID, request string) (Run, bool, error)
	// Unfinished returns the runs that are created or running, by Number.
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
	SnapshotText   SnapshotKind = "text"   // a system text before compilation
)

// SnapshotStore keeps content-addressed texts, compressed, written once.
type SnapshotStore interface {
	// Put stores the body if it is new and returns its hash: hex SHA-256 of kind, newline, body.
	Put(ctx context.Context, kind SnapshotKind, body string) (string, error)
	Get(ctx context.Context, hash string) (SnapshotKind, string, error)
	// RedactedAt returns when a text in one of the snapshots was last forgotten, so that its body no longer matches its
	// hash; zero: never.
	RedactedAt(ctx context.Context, hashes ...string) (time.Time, error)
}

// ArchiveStore keeps archives and which agents they are attached to. Archives of folders are visible only to Get and
// Update: lists leave them out, and Attach and Delete don't find them.
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

// PassageStore keeps passages. Chunks of files come and go with Files: a chunk is never changed or deleted on its own,
// and nothing else is inserted next to them.
type PassageStore interface {
	Insert(ctx context.Context, ps ...*Passage) error
	Get(ctx context.Context, id PassageID) (Passage, error)
	// Update stores the passage; if text, tags or metadata changed, it keeps the version.
	Update(ctx context.Context, p *Passage, by Author) error
	// Delete deletes a passage for good: only a rewind that took it can Revive it.
	Delete(ctx context.Context, id PassageID) error
	Revive(ctx context.Context, id PassageID) error
	// Retire deletes a passage by a version of its own, so that Restore can bring it back.
	Retire(ctx context.Context, id PassageID, by Author) error
	// Restore gives a passage, retired or not, the content of one of its versions, as a new version.
	Restore(ctx context.Context, id PassageID, version int, by Author) error
	// Version returns one version; Versions returns all, newest first, and Lineage how each came about, oldest first. A
	// passage that was deleted for good has none.
	Version(ctx context.Context, id PassageID, version int) (PassageVersion, error)
	Versions(ctx context.Context, id PassageID, p Page) ([]PassageVersion, error)
	Lineage(ctx context.Context, id PassageID) ([]VersionLink, error)
	// Changes returns the changes of an archive's passages, the newest first.
	Changes(ctx context.Context, f PassageChanges) ([]PassageVersion, error)
	List(ctx context.Context, f PassageFilter, p Page) ([]Passage, error)
	// Among returns those of the given passages that match the filter, in no order.
	Among(ctx context.Context, f PassageFilter, ids []PassageID) ([]Passage, error)
	// TopTags returns the most used tags of an archive with their counts.
	TopTags(ctx context.Context, archive ArchiveID, limit int) ([]TagCount, error)
}

// TagCount says how often a tag is used.
type TagCount struct {
	Tag   string
	Count int
}

// WorkspaceStore remembers which agent a folder last used, and what agents read and changed in it.
type WorkspaceStore interface {
	Find(ctx context.Context, path string) (Workspace, bool, error)
	// Last returns the most recently used one anywhere.
	Last(ctx context.Context) (Workspace, bool, error)
	Put(ctx context.Context, w Workspace) error
	FileLog
}

// MetaStore keeps single values of the home: real_at, uuid, epoch and others.
type MetaStore interface {
	Get(ctx context.Context, key string) (string, bool, error)
	Put(ctx context.Context, key, value string) error
}

// MetaEmbeddingEndpoint, followed by a model's handle, is the key of the server that the model's texts are sent to: what
// somebody agreed to. EmbeddingHeld stands there in a restored home until a person allows what the backup says.
const (
	MetaEmbeddingEndpoint = "embedding_endpoint:"
	EmbeddingHeld         = "held"
)

// MetaMCPServer, followed by a name, is the key of the MCP server that a person last accepted by that name.
const MetaMCPServer = "mcp_server:"

// MetaRealAt is set once a real model has answered for an agent's own or default choice.
const MetaRealAt = "real_at"

// EventLog keeps what watchers read. It is disposable. Append assigns no numbers: events come with their Seq, rising
// within a run.
type EventLog interface {
	// Append returns once a new reader can read the events.
	Append(ctx context.Context, events ...Event) error
	Read(ctx context.Context, run RunID, after int64, limit int) ([]Event, error)
	// ReadBack returns at most limit events of a run with a Seq of upTo or less, latest first.
	ReadBack(ctx context.Context, run RunID, upTo int64, limit int) ([]Event, error)
	// Last returns the run's highest Seq, 0 if it has no events, and whether a Stop is among them.
	Last(ctx context.Context, run RunID) (seq int64, stopped bool, err error)
	// Expire deletes the events of runs that ended before t.
	Expire(ctx context.Context, t time.Time) error
	DeleteRun(ctx context.Context, run RunID) error
}
