package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"iter"
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

// PathKind says what stands at a path of a workspace.
type PathKind string

// The kinds of what stands at a path.
const (
	PathAbsent PathKind = ""
	PathFile   PathKind = "file"
	PathFolder PathKind = "folder"
	PathLink   PathKind = "link"
	PathOther  PathKind = "other" // a pipe, a socket, a device: never put back
)

// FileState is what stands at a path of a workspace; the zero value: nothing.
type FileState struct {
	Kind PathKind
	Mode fs.FileMode // permissions of a file or a folder
	Hash string      // of a file's content, or of what a link names; of a file that cannot be kept: what tells it apart
}

// ModeUnknown stands for the permissions of a file that is yet to be made: the person's umask decides.
const ModeUnknown = fs.ModeIrregular

// Is reports whether a state is another, as far as the other is known.
func (s FileState) Is(other FileState) bool {
	if other.Mode == ModeUnknown {
		s.Mode = other.Mode
	}
	return s == other
}

// FileChange is a change of a file of a workspace, by a call or by a rewind. That of a tool which edits is stored before it is
// made, so that it may not have been: then the file is still what it was before.
type FileChange struct {
	Seq          int64 // rises from change to change
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Call         string
	Rewind       RewindID // instead of run, step and call
	Workspace    string   // absolute
	Path         string   // in the workspace, with slashes
	Before       FileState
	After        FileState
	Folders      int    // how many of the folders above it were made for it
	Source       string // the hosts that the line had reached which made the file, one a line; empty: none
	At           time.Time
}

// Absolute is the path of the file outside of its workspace.
func (c *FileChange) Absolute() string { return filepath.Join(c.Workspace, filepath.FromSlash(c.Path)) }

// MaxKeptContent is the size of the largest file whose content before a change is kept.
const MaxKeptContent = 10 << 20

// FileChanges selects changes of files; empty fields select all.
type FileChanges struct {
	Agent        AgentID
	Conversation ConversationID
	Step         StepID
	Rewind       RewindID
	Since        RewindPoint // what came after it
	Older        int64       // than the change with this Seq
	Downloaded   *FilePath   // only those by which lines made this file that had reached hosts
	Limit        int         // 0: MaxFileChanges
}

// FilePath names a file of a workspace.
type FilePath struct{ Workspace, Path string }

// MaxFileChanges is how many changes one page has at most.
const MaxFileChanges = 1000

// ContentStore keeps contents of files by their hash, up to a size of all together: the oldest go first.
type ContentStore interface {
	// Keep keeps a content; a lasting one is on disk when it returns.
	Keep(ctx context.Context, content []byte, lasting bool) error
	// Sync returns when all that was kept until now is on disk.
	Sync(ctx context.Context) error
	// Content returns a content; not_found where it is not kept, or not any more.
	Content(ctx context.Context, hash string) ([]byte, error)
}

// ContentHash is the hash that a content is kept by.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// WorkspaceDir is a folder that a person opened beside the workspace.
type WorkspaceDir struct {
	Path     string // absolute, and through no link
	Writable bool
}

// WorkspaceEnv is what a call may know and use of the folder that its run works in.
type WorkspaceEnv struct {
	Path     string // absolute; empty: no folder is open
	Dirs     []WorkspaceDir
	Dir      string // in it, absolute: where a shell line begins
	Mode     PermissionMode
	Paths    PathRules    // what a shell line or a search may do with files that it comes across; nil: nobody knows
	Opens    Openings     // what a person can open to this line beside all that; nil: nothing
	Uncaged  bool         // a person lets this line run outside of the sandbox
	Hosts    HostRules    // which hosts a shell line, or a fetch, may reach; nil: none
	Settings SettingRules // which settings of git a shell line may leave behind that aren't safe; nil: none
	Contents ContentStore
	Files    FileLog
}

// FileLog remembers what agents read and changed in workspaces.
type FileLog interface {
	// Read returns what a conversation knows of a file.
	Read(ctx context.Context, conversation ConversationID, path string) (FileRead, bool, error)
	NoteRead(ctx context.Context, r FileRead) error
	// NoteChange stores a change and what the conversation will know of the file, and sets the change's Seq.
	NoteChange(ctx context.Context, c *FileChange) error
	// NoteChanges stores changes of which the conversation does not know.
	NoteChanges(ctx context.Context, cs []FileChange) error
	// Changes returns changes, the newest first.
	Changes(ctx context.Context, f FileChanges) ([]FileChange, error)
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

// SettingRules are the rules of permission about settings of git that are not safe, as one shell line leaves them behind.
type SettingRules interface {
	// Judge reports whether a rule allows a setting, whether a person is to be asked about it, and why a rule forbids it.
	Judge(s JobSetting) (allowed, asks bool, why string)
	// Flag is the flag of a command line that would allow it.
	Flag(s JobSetting) string
}

// HostRules are the rules of permission about hosts, as one shell line meets them. They may be asked by several goroutines.
type HostRules interface {
	// Allows reports whether a host may be reached, and if named is set, whether a rule says so that names this one alone.
	Allows(host string, named bool) bool
	// Closed says why no further rule would open a host; empty: one would.
	Closed(host string) string
	// Asks reports whether a person may be asked for a host that isn't allowed.
	Asks(host string) bool
}

// FileRestorer puts files of workspaces back.
type FileRestorer interface {
	// Plan says what makes files what they were before changes, which come with the newest first: one change of each file.
	Plan(ctx context.Context, changes iter.Seq2[FileChange, error]) (FilesPlan, error)
	// Apply makes planned changes, as far as the files are still what they were when it was planned. It may be repeated.
	Apply(ctx context.Context, plan []FileChange) (FilesBack, error)
}

// FilesPlan is what would become of files that are to be put back.
type FilesPlan struct {
	Changes []FileChange
	Kept    []FileKept // those that stay as they are
}

// FilesBack is what became of the files that were to be put back.
type FilesBack struct {
	Back []string   // paths, as they were before the changes
	Kept []FileKept // not put back
	More int        // how many more of either are not named
}

// Named returns what became of files with so many of either named at most.
func (b FilesBack) Named(most int) FilesBack {
	b.More += max(0, len(b.Back)-most) + max(0, len(b.Kept)-most)
	b.Back, b.Kept = b.Back[:min(len(b.Back), most)], b.Kept[:min(len(b.Kept), most)]
	return b
}

// FileKept is a file that was not put back, and why.
type FileKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
