package core

import (
	"context"
	"time"
)

// FileID names a file: "file-" and a UUIDv4.
type FileID string

// NewFileID returns a fresh id of a file.
func NewFileID() FileID { return NewID[FileID]("file") }

// FileStatus says how far a file is on its way from bytes to passages.
type FileStatus string

// The states of a file, in their order. Each is reached in one transaction with what it means, so that work that was
// interrupted goes on from the state it finds.
const (
	FilePending   FileStatus = "pending"   // its bytes are kept, or wait in the directory that its folder follows
	FileParsing   FileStatus = "parsing"   // it is being read
	FileEmbedding FileStatus = "embedding" // its text and its chunks are stored, not all with a vector
	FileCompleted FileStatus = "completed"
	FileFailed    FileStatus = "error" // Error says why
)

// File is one file of a folder, as it was read.
type File struct {
	ID         FileID
	Folder     FolderID
	Name       string // unique in its folder; in a folder that follows a directory the path from there, with slashes
	Original   string // as it was given
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
	Chunks     int // passages made of it
	Embedded   int // of those, how many have a vector
	Metadata   map[string]any
	Seq        int64     // order of arrival, given by the store
	ModifiedAt time.Time // of the file in the directory that its folder follows; zero: none
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

// FileStore keeps files, their bytes until they are read, their text, and which of them agents have open.
type FileStore interface {
	// Create stores a file and its bytes (nil: they are in the directory that the folder follows). A name that the folder
	// has already is a conflict.
	Create(ctx context.Context, f *File, data []byte) error
	Get(ctx context.Context, id FileID) (File, error)
	// Data returns the bytes of a file that has not been read yet; not_found: they are not kept.
	Data(ctx context.Context, id FileID) ([]byte, error)
	// Update writes what is known of a file, but not its folder or its Seq; FileFailed also drops its bytes.
	Update(ctx context.Context, f *File) error
	// Fill stores the text of a file and the passages that its chunks are, in place of those it had, drops its bytes, and
	// updates f: all in one. It gives the chunks their archive, file and place. A file whose Hash is not f's any more has
	// been replaced meanwhile: a conflict, and nothing is stored.
	Fill(ctx context.Context, f *File, doc Document, chunks []Passage) error
	// Document returns the text of a file; not_found before it is read.
	Document(ctx context.Context, id FileID) (Document, error)
	// Documents returns the texts of those of the files that have been read, in any order. Where a word is given (ASCII
	// letters and digits), texts without it, upper and lower case alike, are left empty, which is cheaper.
	Documents(ctx context.Context, ids []FileID, word string) ([]FileDocument, error)
	// Delete deletes the file with its passages; agents that have it open do not any more.
	Delete(ctx context.Context, id FileID) error
	// List pages in the order of arrival, or by name with Page.OrderBy "name".
	List(ctx context.Context, f FileFilter, p Page) ([]File, error)
	Count(ctx context.Context, f FileFilter) (int, error)
	// Settle moves files in FileEmbedding whose passages all have a vector to FileCompleted and keeps Embedded of the
	// others up to date; it returns how many are still on their way.
	Settle(ctx context.Context) (left int, err error)

	// Opened returns the files that an agent has looked at and that are in its folders, those used last first.
	Opened(ctx context.Context, agent AgentID) ([]OpenFile, error)
	// Open keeps what an agent sees of a file; Close keeps the file as closed.
	Open(ctx context.Context, agent AgentID, o OpenFile) error
	Close(ctx context.Context, agent AgentID, files ...FileID) error
}

// FileDocument is the text of a file. Without says that it lacks the word that was asked for, and was left out.
type FileDocument struct {
	File    FileID
	Doc     Document
	Without bool
}

// OpenFile is a file that an agent looked at. Start and End are lines from 1, both 0: from the start to what fits.
type OpenFile struct {
	File   FileID
	Open   bool
	Start  int
	End    int
	UsedAt time.Time
}
