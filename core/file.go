package core

import (
	"context"
	"time"
)

// FileID names a file: "file-" and a UUIDv4.
type FileID string

// NewFileID returns a fresh id of a file.
func NewFileID() FileID { return NewID[FileID]("file") }

// FileStatus says how far a file has come from bytes to passages.
type FileStatus string

// The states of a file, in order. Each is reached in one transaction with the data it stands for, so that interrupted
// work resumes from the state it finds.
const (
	FilePending   FileStatus = "pending"   // its bytes are stored, or are in the directory its folder follows
	FileParsing   FileStatus = "parsing"   // it is being parsed
	FileEmbedding FileStatus = "embedding" // its text and chunks are stored, but some have no vector yet
	FileCompleted FileStatus = "completed"
	FileFailed    FileStatus = "error" // Error says why
)

// File is one file of a folder, as of the last time it was read.
type File struct {
	ID         FileID
	Folder     FolderID
	Name       string // unique in its folder; in a folder that follows a directory, the slash-separated path from there
	Original   string // as given
	Kind       FileKind
	MIME       string
	Size       int64  // bytes as given
	Hash       string // hex SHA-256 of the bytes
	Status     FileStatus
	Error      string
	Title      string
	Lines      int // of its text, as views count them
	Chars      int // of its text
	Pages      int
	Chunks     int // passages made from it
	Embedded   int // how many of those have a vector
	Metadata   map[string]any
	Seq        int64     // order of arrival, set by the store
	ModifiedAt time.Time // of the file in the directory its folder follows; zero: none
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// FileFilter selects files.
type FileFilter struct {
	Folders []FolderID // empty: all
	Status  []FileStatus
	Hash    string
	Names   []string // exact
}

// FileStore keeps files, their bytes until they are parsed, their text, and which of them agents have open.
type FileStore interface {
	// Create stores a file and its bytes (nil: they are in the directory that the folder follows). A name already used in
	// the folder is a conflict.
	Create(ctx context.Context, f *File, data []byte) error
	Get(ctx context.Context, id FileID) (File, error)
	// Data returns the bytes of a file that hasn't been parsed yet; not_found if they aren't stored.
	Data(ctx context.Context, id FileID) ([]byte, error)
	// Update stores the file's fields, except its folder and Seq; FileFailed also drops its bytes.
	Update(ctx context.Context, f *File) error
	// Fill replaces the file's text and passages with the given text and chunks, drops its bytes, and updates f, all in one
	// transaction. It gives the chunks their archive, file and place. If the stored Hash differs from f's, the file has been
	// replaced meanwhile: that is a conflict, and nothing is stored.
	Fill(ctx context.Context, f *File, doc Document, chunks []Passage) error
	// Document returns the text of a file; not_found until it is parsed.
	Document(ctx context.Context, id FileID) (Document, error)
	// Documents returns the texts of those files that have been parsed, in any order. If a word is given (ASCII letters and
	// digits), texts that don't contain it, ignoring case, are left empty, which is cheaper.
	Documents(ctx context.Context, ids []FileID, word string) ([]FileDocument, error)
	// Delete deletes the file with its passages and closes it for every agent.
	Delete(ctx context.Context, id FileID) error
	// List pages in order of arrival, or by name with Page.OrderBy "name".
	List(ctx context.Context, f FileFilter, p Page) ([]File, error)
	Count(ctx context.Context, f FileFilter) (int, error)
	// Settle moves files from FileEmbedding to FileCompleted once all their passages have vectors, and updates Embedded of
	// the others; it returns how many are not done yet.
	Settle(ctx context.Context) (left int, err error)

	// Opened returns the files in the agent's folders that it has looked at, most recently used first.
	Opened(ctx context.Context, agent AgentID) ([]OpenFile, error)
	// Open stores what an agent sees of a file; Close marks the file as closed.
	Open(ctx context.Context, agent AgentID, o OpenFile) error
	Close(ctx context.Context, agent AgentID, files ...FileID) error
}

// FileDocument is the text of a file. Without says that it was left out because it lacks the requested word.
type FileDocument struct {
	File    FileID
	Doc     Document
	Without bool
}

// OpenFile is a file that an agent looked at. Start and End are lines from 1; both 0: from the start, as much as fits.
type OpenFile struct {
	File   FileID
	Open   bool
	Start  int
	End    int
	UsedAt time.Time
}
