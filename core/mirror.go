package core

import (
	"context"
	"time"
)

// MemoryMirror says that an agent's memory blocks are kept in sync with a folder of Markdown files in git.
type MemoryMirror struct {
	Agent     AgentID
	Path      string // of the folder, absolute
	Branch    string // that commits go to
	On        bool   // off: nothing is read or written, but the state of the files is kept until it is on again
	CreatedAt time.Time
}

// MirrorFile is what is known about a block's file: hashes of block and file when they were last in sync, and of what
// the daemon was about to write to the file the last time it wrote. A file that matches neither hash was edited by
// somebody else.
type MirrorFile struct {
	Agent AgentID
	Block BlockID
	Path  string // inside the folder, with slashes

	BlockHash, FileHash string // when they were last in sync
	NextBlock, NextFile string // being written to the file; empty: nothing
}

// MirrorNoteKind says what kind of thing a person should know about a mirror.
type MirrorNoteKind string

// The kinds of notes.
const (
	MirrorConflict   MirrorNoteKind = "conflict"   // both sides were edited: the file's text is kept beside it
	MirrorUnreadable MirrorNoteKind = "unreadable" // the file can't be read into its block
	MirrorDetached   MirrorNoteKind = "detached"   // the file's block no longer belongs to the agent
	MirrorSkipped    MirrorNoteKind = "skipped"    // a block without a file, or a file that isn't a block
)

// MirrorNote is one thing that a person should know about a mirror.
type MirrorNote struct {
	Kind  MirrorNoteKind
	Path  string // inside the folder; may be empty
	Label string // may be empty
	Text  string // what happened and what to do
}

// MirrorState is the state of a mirror. Mirror.Path is empty if there never was one.
type MirrorState struct {
	Mirror   MemoryMirror
	Blocks   int       // in sync with their files
	Commit   string    // the folder's newest commit
	SyncedAt time.Time // zero: not since the daemon started
	Notes    []MirrorNote
	Err      error // why it is stuck
}

// MirrorImport says what happened to the files of a memory folder that was imported once.
type MirrorImport struct {
	Made     []string // labels of new blocks
	Filled   []string // of blocks that were empty
	Replaced []string // of blocks that had another text, which is kept as an earlier version
	Same     []string
	Kept     []string // of blocks that have another text and were left alone
	Notes    []MirrorNote
}

// MirrorStore keeps which agents have mirrors, and what is known about their files.
type MirrorStore interface {
	// Put stores a mirror. A folder used by another living agent's mirror is a conflict.
	Put(ctx context.Context, m MemoryMirror) error
	Find(ctx context.Context, agent AgentID) (MemoryMirror, bool, error)
	// List returns the mirrors of living agents that are on.
	List(ctx context.Context) ([]MemoryMirror, error)
	// Clear forgets everything known about the files of an agent's mirror.
	Clear(ctx context.Context, agent AgentID) error
	Files(ctx context.Context, agent AgentID) ([]MirrorFile, error)
	PutFile(ctx context.Context, f MirrorFile) error
	RemoveFile(ctx context.Context, agent AgentID, block BlockID) error
	// Stamp returns a text that differs after every change to the agent's blocks; it is cheap to read.
	Stamp(ctx context.Context, agent AgentID) (string, error)
}
