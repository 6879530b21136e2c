package core

import (
	"context"
	"time"
)

// FolderID names a folder: "source-" and a UUIDv4, the contract's word for it.
type FolderID string

// NewFolderID returns a fresh id of a folder.
func NewFolderID() FolderID { return NewID[FolderID]("source") }

// Folder is a set of files whose contents agents can open and search. The chunks of its files are passages in an archive
// of its own, which archive lists don't show and no agent has as its archival memory.
type Folder struct {
	ID           FolderID
	Name         string
	Description  string
	Instructions string // tells agents what it is good for
	Metadata     map[string]any
	Embedding    Handle    // empty: the built-in one
	Archive      ArchiveID // where the chunks of its files are
	Mirror       *Mirror   // the directory it follows; nil: none
	Files        int       // a counter, maintained with every file
	Bytes        int64     // total size of its files as given; a counter
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Mirror says which directory a folder follows, and how far it has got.
type Mirror struct {
	Path     string    `json:"path"` // absolute
	LookedAt time.Time `json:"looked_at,omitzero"`
	Error    string    `json:"error,omitempty"` // why it couldn't be read last time
}

// FolderFilter selects folders.
type FolderFilter struct {
	Name     string  // exact
	Agent    AgentID // those attached to it
	Mirrored bool    // those that follow a directory
}

// FolderStore keeps folders and which agents they are attached to.
type FolderStore interface {
	// Create also makes the folder's archive and sets its id. A name already used by another folder is a conflict.
	Create(ctx context.Context, f *Folder) error
	Get(ctx context.Context, id FolderID) (Folder, error)
	Update(ctx context.Context, f *Folder) error
	// Delete deletes the folder with its files and its archive, and detaches it everywhere.
	Delete(ctx context.Context, id FolderID) error
	List(ctx context.Context, f FolderFilter, p Page) ([]Folder, error)
	Count(ctx context.Context, f FolderFilter) (int, error)
	// Attach does nothing if the agent already has the folder; Detach also forgets which of its files were open.
	Attach(ctx context.Context, agent AgentID, folder FolderID) error
	Detach(ctx context.Context, agent AgentID, folder FolderID) error
	// OfAgent returns the agent's folders in order of attachment.
	OfAgent(ctx context.Context, agent AgentID) ([]Folder, error)
	AgentsOf(ctx context.Context, folder FolderID) ([]AgentID, error)
}
