package core

import (
	"context"
	"time"
)

// MemoryMirror says that an agent's memory blocks are kept alike with a folder of Markdown files in git.
type MemoryMirror struct {
	Agent     AgentID
	Path      string // of the folder, absolute
	Branch    string // that commits go to
	On        bool   // off: nothing is read or written, and what is known of the files stays for the day it is on again
	CreatedAt time.Time
}

// MirrorFile is what is known of the file of a block: hashes of both when they were last alike, and of what was about to
// be written to the file when the daemon last wrote. A file that has neither hash was edited by somebody else.
type MirrorFile struct {
	Agent AgentID
	Block BlockID
	Path  string // inside the folder, with slashes

	BlockHash, FileHash string // when they were last alike
	NextBlock, NextFile string // being written to the file; empty: nothing is
}

// MirrorNoteKind says what a person should know of a mirror.
type MirrorNoteKind string

// The kinds of notes.
const (
	MirrorConflict   MirrorNoteKind = "conflict"   // both sides were edited: the file's text is kept beside it
	MirrorUnreadable MirrorNoteKind = "unreadable" // the file cannot be taken into its block
	MirrorDetached   MirrorNoteKind = "detached"   // the file's block is not the agent's any more
	MirrorSkipped    MirrorNoteKind = "skipped"    // a block without file, or a file that is no block
)

// MirrorNote is one thing that a person should know of a mirror.
type MirrorNote struct {
	Kind  MirrorNoteKind
	Path  string // inside the folder; may be empty
	Label string // may be empty
	Text  string // what it is and what to do
}

// MirrorState says how a mirror is. Mirror.Path is empty where there never was one.
type MirrorState struct {
	Mirror   MemoryMirror
	Blocks   int       // that are alike with their files
	Commit   string    // the newest one of the folder
	SyncedAt time.Time // zero: not since the daemon's start
	Notes    []MirrorNote
	Err      error // why it does not go on
}

// MirrorImport says what became of the files of a memory folder that was read once.
type MirrorImport struct {
	Made     []string // labels of new blocks
	Filled   []string // of blocks that were empty
	Replaced []string // of blocks that had another text, which stays as an earlier version
	Same     []string
	Kept     []string // of blocks that have another text and were left
	Notes    []MirrorNote
}

// MirrorStore keeps which agents have mirrors, and what is known of the files.
type MirrorStore interface {
	// Put writes a mirror. A folder that another living agent's mirror uses is a conflict.
	Put(ctx context.Context, m MemoryMirror) error
	Find(ctx context.Context, agent AgentID) (MemoryMirror, bool, error)
	// List returns the mirrors of living agents that are on.
	List(ctx context.Context) ([]MemoryMirror, error)
	// Clear forgets what is known of all files of an agent's mirror.
	Clear(ctx context.Context, agent AgentID) error
	Files(ctx context.Context, agent AgentID) ([]MirrorFile, error)
	PutFile(ctx context.Context, f MirrorFile) error
	RemoveFile(ctx context.Context, agent AgentID, block BlockID) error
	// Stamp is a text that differs after every change of the agent's blocks, cheap to read.
	Stamp(ctx context.Context, agent AgentID) (string, error)
}
