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

// CreateArchive is the body of POST /v1/archives/. EmbeddingConfig is the retired way to name the embedding.
type CreateArchive struct {
	Name            string           `json:"name" required:"true"`
	Description     *string          `json:"description,omitempty"`
	Embedding       *string          `json:"embedding,omitempty"`
	EmbeddingConfig *EmbeddingConfig `json:"embedding_config,omitempty"`
}

// UpdateArchive is the body of PATCH /v1/archives/{id}. What is null stays.
type UpdateArchive struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
}

// NotReachable is the key under which an archive's metadata names the embedding that was asked for, where the built-in one
// took its place.
const NotReachable = "embedding_not_reachable"

// PathArchives begins our own operations on archives.
const PathArchives = "/loci/v1/archives"

// EmbedArchive is the body of PUT /loci/v1/archives/{id}/embedding.
type EmbedArchive struct {
	Embedding string `json:"embedding" required:"true"` // a handle
	DryRun    bool   `json:"dry_run,omitempty"`         // only say what it would mean
}

// EmbeddingPlan says what a change of an archive's embedding means. Its passages are found by their words until they
// are embedded anew, in the background.
type EmbeddingPlan struct {
	Archive   Archive `json:"archive"`
	Embedding string  `json:"embedding"`
	Endpoint  string  `json:"endpoint"` // where the texts are sent; empty: nowhere
	Passages  int     `json:"passages"` // how many are embedded anew
}
