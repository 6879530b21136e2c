package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"time"
)

// Workspace says which agent and conversation a folder last used.
type Workspace struct {
	Path         string
	Agent        AgentID
	Conversation ConversationID
	UsedAt       time.Time
}

// FileRead is what a conversation last read or wrote of a file.
type FileRead struct {
	Conversation ConversationID
	Path         string // absolute
	Hash         string // of its content
	At           time.Time
}

// FileChange is a change that a call makes to a file of a workspace. It is stored before it is made, so that it may not have
// been: then the file is still what it was before.
type FileChange struct {
	Seq          int64 // rises from change to change
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Call         string
	Workspace    string      // absolute
	Path         string      // in the workspace, with slashes
	Before       string      // hash of the content; empty: there was no file
	After        string      // hash of the content
	Mode         fs.FileMode // before; of a file that was not there: 0
	Folders      int         // how many of the folders above it were made for it
	At           time.Time
}

// MaxKeptContent is the size of the largest file whose content before a change is kept.
const MaxKeptContent = 10 << 20

// FileChanges selects changes of files; empty fields select all.
type FileChanges struct {
	Agent        AgentID
	Conversation ConversationID
	Step         StepID
	Since        StepID // this step and those after it
}

// ContentStore keeps contents of files by their hash, up to a size of all together: the oldest go first.
type ContentStore interface {
	// Keep keeps a content; a lasting one is on disk when it returns.
	Keep(ctx context.Context, content []byte, lasting bool) error
	// Content returns a content; not_found where it is not kept, or not any more.
	Content(ctx context.Context, hash string) ([]byte, error)
}

// ContentHash is the hash that a content is kept by.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// WorkspaceEnv is what a call may know and use of the folder that its run works in.
type WorkspaceEnv struct {
	Path     string // absolute; empty: no folder is open
	Dir      string // in it, absolute: where a shell line begins
	Mode     PermissionMode
	Paths    PathRules // what a shell line or a search may do with files that it comes across; nil: nobody knows
	Hosts    HostRules // which hosts a shell line may reach; nil: none
	Contents ContentStore
	Files    interface {
		Read(ctx context.Context, conversation ConversationID, path string) (FileRead, bool, error)
		NoteRead(ctx context.Context, r FileRead) error
		NoteChange(ctx context.Context, c *FileChange) error
	}
}

// PathRules are the rules of permission about files, as one shell line meets them.
type PathRules interface {
	// Of returns those of a folder, by its real path; nil: there are none about anything in it.
	Of(folder string) FolderRules
}

// FolderRules are the rules about what is in a folder.
type FolderRules interface {
	// Self is what may be done with the folder itself.
	Self() PathAccess
	// Entry is what may be done with an entry of it, by its name.
	Entry(name string) PathAccess
	// Folder returns the rules about what is in a folder of it.
	Folder(name string) FolderRules
}

// PathAccess is how far a shell line may read and change a file or folder.
type PathAccess struct {
	Read, Write PathReach
	Placed      bool // because of where it is: somewhere else it would be open
}

// PathReach says how much of a file or folder is open.
type PathReach int

// The reaches.
const (
	PathOpen   PathReach = iota
	PathPartly           // a folder that is closed but for something in it
	PathClosed
)

// HostRules are the rules of permission about hosts, as one shell line meets them. They may be asked by several goroutines.
type HostRules interface {
	// Allows reports whether a host may be reached, and if named is set, whether a rule says so that names this one alone.
	Allows(host string, named bool) bool
	// Closed says why no further rule would open a host; empty: one would.
	Closed(host string) string
}

// Absolute is the path of the file outside of its workspace.
func (c *FileChange) Absolute() string { return filepath.Join(c.Workspace, filepath.FromSlash(c.Path)) }

// FilesBack is what became of the files that were to be put back.
type FilesBack struct {
	Back []string   // paths, as they were before the changes
	Kept []FileKept // not put back
}

// FileKept is a file that was not put back, and why.
type FileKept struct{ Path, Why string }
