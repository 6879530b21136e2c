package api

// PathFiles is where files of all folders are searched: + /search.
const PathFiles = "/loci/v1/files"

// Headers of the answer to an upload.
const (
	HeaderUpload = "X-Upload-Result"   // UploadSkipped: nothing was stored, the answer is the file that was there
	HeaderSame   = "Loci-Same-Content" // the id of another file of the folder with the same content
)

// UploadSkipped is the value of HeaderUpload.
const UploadSkipped = "skipped"

// The states of a file.
const (
	FilePending   = "pending"
	FileParsing   = "parsing"
	FileEmbedding = "embedding"
	FileCompleted = "completed"
	FileError     = "error"
)

// What becomes of a file whose name the folder has already.
const (
	DuplicateSkip    = "skip"
	DuplicateError   = "error"
	DuplicateSuffix  = "suffix"
	DuplicateReplace = "replace"
)

// File is one file of a folder.
type File struct {
	ID                   string  `json:"id"`
	SourceID             string  `json:"source_id" required:"true"`
	FileName             *string `json:"file_name"`
	OriginalFileName     *string `json:"original_file_name"`
	FilePath             *string `json:"file_path"`
	FileType             *string `json:"file_type"`
	FileSize             *int64  `json:"file_size"`
	FileCreationDate     *string `json:"file_creation_date"`
	FileLastModifiedDate *string `json:"file_last_modified_date"`
	ProcessingStatus     string  `json:"processing_status"`
	ErrorMessage         *string `json:"error_message"`
	TotalChunks          *int    `json:"total_chunks"`
	ChunksEmbedded       *int    `json:"chunks_embedded"`
	Content              *string `json:"content"`
	CreatedAt            *Time   `json:"created_at"`
	UpdatedAt            *Time   `json:"updated_at"`
}

// UploadParams are the parameters of POST /v1/folders/{id}/upload.
type UploadParams struct {
	DuplicateHandling string `query:"duplicate_handling" enum:"skip,error,suffix,replace"`
	Name              string `query:"name"`
}

// ListFiles are the parameters of GET /v1/folders/{id}/files.
type ListFiles struct {
	Page
	IncludeContent bool `query:"include_content"`
}

// FileFilter are parameters of our own of the same list: files in a state, files by their name. CheckStatus is of sources
// alone and changes nothing: what is listed is always the newest.
type FileFilter struct {
	CheckStatus bool   `query:"check_status_updates"`
	Status      string `query:"status" enum:"pending,parsing,embedding,completed,error"`
	Name        string `query:"name"`
}

// GetFile are the parameters of GET /v1/folders/{id}/files/{file_id}.
type GetFile struct {
	IncludeContent bool `query:"include_content"`
}

// AgentFile is a file that an agent can open.
type AgentFile struct {
	ID             string  `json:"id" required:"true"`
	FileID         string  `json:"file_id" required:"true"`
	FileName       string  `json:"file_name" required:"true"`
	FolderID       string  `json:"folder_id" required:"true"`
	FolderName     string  `json:"folder_name" required:"true"`
	IsOpen         bool    `json:"is_open" required:"true"`
	LastAccessedAt *Time   `json:"last_accessed_at"`
	VisibleContent *string `json:"visible_content"`
	StartLine      *int    `json:"start_line"`
	EndLine        *int    `json:"end_line"`
}

// AgentFiles is one page of an agent's files.
type AgentFiles struct {
	Files      List[AgentFile] `json:"files" required:"true"`
	NextCursor *string         `json:"next_cursor"`
	HasMore    bool            `json:"has_more" required:"true"`
}

// ListAgentFiles are the parameters of GET /v1/agents/{id}/files. Cursor is the same as After.
type ListAgentFiles struct {
	Page
	Cursor string      `query:"cursor"`
	IsOpen Param[bool] `query:"is_open"`
}

// SearchFiles is the body of POST /loci/v1/files/search. Of the folders and the agent at most one is given; neither asks
// in all folders.
type SearchFiles struct {
	Query     string   `json:"query" required:"true"`
	FolderIDs []string `json:"folder_ids,omitempty"`
	FileIDs   []string `json:"file_ids,omitempty"`
	AgentID   *string  `json:"agent_id,omitempty"`
	Limit     *int     `json:"limit,omitempty"`
}

// FileResult is a place in a file that a search found. The lines are those that views show.
type FileResult struct {
	FolderID   string   `json:"folder_id"`
	FolderName string   `json:"folder_name"`
	FileID     string   `json:"file_id"`
	FileName   string   `json:"file_name"`
	PassageID  string   `json:"passage_id"`
	Line       int      `json:"line"`
	EndLine    int      `json:"end_line"`
	Page       int      `json:"page,omitempty"`
	EndPage    int      `json:"end_page,omitempty"`
	Path       []string `json:"path,omitempty"` // headings above it
	Text       string   `json:"text"`
	Score      float64  `json:"score"`
	Why        Object   `json:"why"`
}
