package api

// Folder is a set of files that agents can open and search.
type Folder struct {
	ID              string          `json:"id"`
	Name            string          `json:"name" required:"true"`
	Description     *string         `json:"description"`
	Instructions    *string         `json:"instructions"`
	Metadata        Object          `json:"metadata"`
	EmbeddingConfig EmbeddingConfig `json:"embedding_config" required:"true"`
	CreatedByID     *string         `json:"created_by_id"`
	LastUpdatedByID *string         `json:"last_updated_by_id"`
	CreatedAt       *Time           `json:"created_at"`
	UpdatedAt       *Time           `json:"updated_at"`
}

// Source is a folder under its deprecated name.
type Source struct {
	Folder
	VectorDBProvider string `json:"vector_db_provider"`
}

// CreateFolder is the body of POST /v1/folders/. Without an embedding the built-in one is used.
type CreateFolder struct {
	Name               string           `json:"name" required:"true"`
	Description        *string          `json:"description,omitempty"`
	Instructions       *string          `json:"instructions,omitempty"`
	Metadata           Object           `json:"metadata,omitempty"`
	Embedding          *string          `json:"embedding,omitempty"`
	EmbeddingChunkSize *int             `json:"embedding_chunk_size,omitempty"`
	EmbeddingConfig    *EmbeddingConfig `json:"embedding_config,omitempty"`
}

// UpdateFolder is the body of PATCH /v1/folders/{id}.
type UpdateFolder struct {
	Name            Opt[string]          `json:"name,omitzero"`
	Description     Opt[string]          `json:"description,omitzero"`
	Instructions    Opt[string]          `json:"instructions,omitzero"`
	Metadata        Opt[Object]          `json:"metadata,omitzero"`
	EmbeddingConfig Opt[EmbeddingConfig] `json:"embedding_config,omitzero"`
}

// ListFolders are the parameters of GET /v1/folders/.
type ListFolders struct {
	Page
	Name string `query:"name"`
}

// FolderStats is the answer of GET /v1/folders/metadata.
type FolderStats struct {
	TotalSources int                `json:"total_sources"`
	TotalFiles   int                `json:"total_files"`
	TotalSize    int64              `json:"total_size"`
	Sources      List[FolderNumber] `json:"sources"`
}

// FolderNumber reports what one folder contains.
type FolderNumber struct {
	SourceID   string           `json:"source_id" required:"true"`
	SourceName string           `json:"source_name" required:"true"`
	FileCount  int              `json:"file_count"`
	TotalSize  int64            `json:"total_size"`
	Files      List[FileNumber] `json:"files"`
}

// FileNumber is a file and its size.
type FileNumber struct {
	FileID   string `json:"file_id" required:"true"`
	FileName string `json:"file_name" required:"true"`
	FileSize *int64 `json:"file_size"`
}

// FolderStatsParams are the parameters of GET /v1/folders/metadata.
type FolderStatsParams struct {
	Detailed bool `query:"include_detailed_per_source_metadata"`
}
