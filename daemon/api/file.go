package api

// PathFiles is the root of searches across the files in all folders: + /search.
const PathFiles = "/loci/v1/files"

// Headers of an upload's response.
const (
	HeaderUpload = "X-Upload-Result"   // UploadSkipped: nothing was stored, the response is the file that was already there
	HeaderSame   = "Loci-Same-Content" // the id of another file in the folder with the same content
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

// What to do with a file whose name is already in the folder.
const (
	DuplicateSkip    = "skip"
	DuplicateError   = "error"
	DuplicateSuffix  = "suffix"
	DuplicateReplace = "replace"
)

// File is one file in a folder.
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

// FileFilter holds parameters of our own for the same list: files in a state, files by name. CheckStatus exists only
// on sources and changes nothing: a list is always up to date.
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

// ListAgentFiles are the parameters of GET /v1/agents/{id}/files. Cursor means the same as After.
type ListAgentFiles struct {
	Page
	Cursor string      `query:"cursor"`
	IsOpen Param[bool] `query:"is_open"`
}

// SearchFiles is the body of POST /loci/v1/files/search. Give either folders or an agent, not both; with neither, all
// folders are searched.
type SearchFiles struct {
	Query     string   `json:"query" required:"true"`
	FolderIDs []string `json:"folder_ids,omitempty"`
	FileIDs   []string `json:"file_ids,omitempty"`
	AgentID   *string  `json:"agent_id,omitempty"`
	Limit     *int     `json:"limit,omitempty"`
}

// FileResult is a place in a file found by a search. The line numbers are those that file views show.
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
	Path       []string `json:"path,omitempty"` // the headings above it
	Text       string   `json:"text"`
	Excerpt    string   `json:"excerpt"` // of a long text, where it was found
	Score      float64  `json:"score"`
	Why        Object   `json:"why"`
}
