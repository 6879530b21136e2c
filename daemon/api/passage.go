package api

// Passage is a text kept for search.
type Passage struct {
	ID              string           `json:"id"`
	CreatedByID     *string          `json:"created_by_id"`
	LastUpdatedByID *string          `json:"last_updated_by_id"`
	CreatedAt       *Time            `json:"created_at"`
	UpdatedAt       *Time            `json:"updated_at"`
	IsDeleted       bool             `json:"is_deleted"`
	ArchiveID       *string          `json:"archive_id"`
	SourceID        *string          `json:"source_id"`
	FileID          *string          `json:"file_id"`
	FileName        *string          `json:"file_name"`
	Metadata        Object           `json:"metadata"`
	Tags            []string         `json:"tags"`
	Text            string           `json:"text" required:"true"`
	Embedding       []float64        `json:"embedding" required:"true"`
	EmbeddingConfig *EmbeddingConfig `json:"embedding_config" required:"true"`
}

// CreatePassage is the body of POST /v1/agents/{id}/archival-memory.
type CreatePassage struct {
	Text      string   `json:"text" required:"true"`
	Tags      []string `json:"tags,omitempty"`
	CreatedAt *Time    `json:"created_at,omitempty"`
}

// PathArchival is the root of our own operations on archival memory.
const PathArchival = "/loci/v1/passages"

// UpdatePassageParams are the parameters of PATCH /loci/v1/passages/{id}.
type UpdatePassageParams struct {
	AgentID string `query:"agent_id"` // rejects a passage that isn't in this agent's archive
}

// UpdatePassage is the body of PATCH /loci/v1/passages/{id}. Omitted fields stay unchanged; tags and metadata replace
// the old ones entirely.
type UpdatePassage struct {
	Text     Opt[string]         `json:"text,omitzero"`
	Tags     Opt[[]string]       `json:"tags,omitzero"`
	Metadata Opt[map[string]any] `json:"metadata,omitzero"`
}

// CreateArchivePassage is the body of POST /v1/archives/{id}/passages.
type CreateArchivePassage struct {
	CreatePassage
	Metadata Object `json:"metadata,omitempty"`
}

// CreateArchivePassages is the body of POST /v1/archives/{id}/passages/batch: all are stored, or none.
type CreateArchivePassages struct {
	Passages []CreateArchivePassage `json:"passages" required:"true"`
}

// ArchivalSearch is the response of GET /v1/agents/{id}/archival-memory/search.
type ArchivalSearch struct {
	Results List[ArchivalResult] `json:"results" required:"true"`
	Count   int                  `json:"count" required:"true"`
}

// ArchivalResult is one passage found by a search.
type ArchivalResult struct {
	ID        string       `json:"id" required:"true"`
	Timestamp string       `json:"timestamp" required:"true"`
	Content   string       `json:"content" required:"true"`
	Tags      List[string] `json:"tags"`
}

// SearchPassages is the body of POST /v1/passages/search.
type SearchPassages struct {
	Query        *string  `json:"query,omitempty"`
	AgentID      *string  `json:"agent_id,omitempty"`
	ArchiveID    *string  `json:"archive_id,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	TagMatchMode *string  `json:"tag_match_mode,omitempty" enum:"any,all"`
	Limit        *int     `json:"limit,omitempty" minimum:"1" maximum:"100"`
	StartDate    *string  `json:"start_date,omitempty"`
	EndDate      *string  `json:"end_date,omitempty"`
}

// PassageResult is one passage found by a search across archives.
type PassageResult struct {
	Passage  Passage `json:"passage" required:"true"`
	Score    float64 `json:"score" required:"true"`
	Metadata Object  `json:"metadata"`
}

// ListPassages are the parameters of GET /v1/agents/{id}/archival-memory. The oldest come first unless Ascending is
// false.
type ListPassages struct {
	Before    string      `query:"before"`
	After     string      `query:"after"`
	Limit     int         `query:"limit" minimum:"1" maximum:"1000"`
	Search    string      `query:"search"`
	Ascending Param[bool] `query:"ascending"`
}

// SearchArchival are the parameters of GET /v1/agents/{id}/archival-memory/search. The times may be plain dates.
type SearchArchival struct {
	Query         string   `query:"query" required:"true"`
	Tags          []string `query:"tags,explode"`
	TagMatchMode  string   `query:"tag_match_mode" enum:"any,all"`
	TopK          int      `query:"top_k"`
	StartDatetime string   `query:"start_datetime"`
	EndDatetime   string   `query:"end_datetime"`
}
