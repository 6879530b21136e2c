package api

// Archive is a set of passages that agents may share.
type Archive struct {
	ID               string           `json:"id"`
	Name             string           `json:"name" required:"true"`
	CreatedByID      *string          `json:"created_by_id"`
	LastUpdatedByID  *string          `json:"last_updated_by_id"`
	CreatedAt        Time             `json:"created_at" required:"true"`
	UpdatedAt        *Time            `json:"updated_at"`
	Description      *string          `json:"description"`
	VectorDBProvider string           `json:"vector_db_provider"`
	EmbeddingConfig  *EmbeddingConfig `json:"embedding_config"`
	Metadata         Object           `json:"metadata"`
}

// ListArchives are the parameters of GET /v1/archives/.
type ListArchives struct {
	Page
	Name    string `query:"name"`
	AgentID string `query:"agent_id"`
}
