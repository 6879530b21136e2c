package core

import "context"

// ToolReads is what a call may read from the store, and nothing more.
type ToolReads struct {
	Messages interface {
		List(ctx context.Context, f MessageFilter, p Page) ([]Message, error)
		Among(ctx context.Context, f MessageFilter, ids []MessageID) ([]Message, error)
	}
	Conversations interface {
		Get(ctx context.Context, id ConversationID) (Conversation, error)
	}
	Archives interface {
		OfAgent(ctx context.Context, agent AgentID) (Archive, bool, error)
	}
	Passages interface {
		Get(ctx context.Context, id PassageID) (Passage, error)
		List(ctx context.Context, f PassageFilter, p Page) ([]Passage, error)
		Among(ctx context.Context, f PassageFilter, ids []PassageID) ([]Passage, error)
	}
	Folders interface {
		OfAgent(ctx context.Context, agent AgentID) ([]Folder, error)
	}
	Files FileReader
}

// FileReader is what a call may read of files.
type FileReader interface {
	Get(ctx context.Context, id FileID) (File, error)
	List(ctx context.Context, f FileFilter, p Page) ([]File, error)
	Count(ctx context.Context, f FileFilter) (int, error)
	Document(ctx context.Context, id FileID) (Document, error)
	Documents(ctx context.Context, ids []FileID, word string) ([]FileDocument, error)
}

// ReadsOf returns what a call may read of a store.
func ReadsOf(s Store) ToolReads {
	return ToolReads{
		Messages: s.Messages(), Conversations: s.Conversations(), Archives: s.Archives(), Passages: s.Passages(),
		Folders: s.Folders(), Files: s.Files(),
	}
}

// ToolEdits is what Apply may read and write in the transaction that saves its return, and nothing more.
type ToolEdits struct {
	Read       ToolReads // sees earlier edits
	Blocks     BlockEditor
	Archives   ArchiveMaker
	Passages   PassageWriter
	Files      FileOpener
	Workspaces interface {
		NoteRead(ctx context.Context, r FileRead) error
	}
	Conversations interface {
		MarkStale(ctx context.Context, agents ...AgentID) error
	}
}

// BlockEditor edits blocks. It can detach a block from an agent but never deletes one.
type BlockEditor interface {
	OfAgent(ctx context.Context, agent AgentID) ([]Block, error)
	AgentsOf(ctx context.Context, block BlockID) ([]AgentID, error)
	Create(ctx context.Context, b *Block, by Author) error
	Update(ctx context.Context, b *Block, by Author) error
	Attach(ctx context.Context, agent AgentID, block BlockID) error
	Detach(ctx context.Context, agent AgentID, block BlockID) error
}

// ArchiveMaker creates an archive for an agent that has none.
type ArchiveMaker interface {
	Create(ctx context.Context, a *Archive) error
	Attach(ctx context.Context, agent AgentID, archive ArchiveID) error
}

// PassageWriter stores passages and changes them. What it changes can be brought back.
type PassageWriter interface {
	Insert(ctx context.Context, ps ...*Passage) error
	Update(ctx context.Context, p *Passage, by Author) error
	Retire(ctx context.Context, id PassageID, by Author) error
}

// FileOpener records which files an agent has open.
type FileOpener interface {
	Opened(ctx context.Context, agent AgentID) ([]OpenFile, error)
	Open(ctx context.Context, agent AgentID, o OpenFile) error
	Close(ctx context.Context, agent AgentID, files ...FileID) error
}

// EditsOf returns what Apply may use of a transaction.
func EditsOf(tx Store) ToolEdits {
	return ToolEdits{
		Read: ReadsOf(tx), Blocks: tx.Blocks(), Archives: tx.Archives(), Passages: tx.Passages(), Files: tx.Files(),
		Workspaces: tx.Workspaces(), Conversations: tx.Conversations(),
	}
}
