package api

// DefaultOrg is the only organisation on a self-hosted server.
const DefaultOrg = "org-00000000-0000-4000-8000-000000000000"

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
	OrganizationID   string           `json:"organization_id" required:"true"`
}

// ListArchives are the parameters of GET /v1/archives/.
type ListArchives struct {
	Page
	Name    string `query:"name"`
	AgentID string `query:"agent_id"`
}

// CreateArchive is the body of POST /v1/archives/. EmbeddingConfig is the deprecated way to name the embedding.
type CreateArchive struct {
	Name            string           `json:"name" required:"true"`
	Description     *string          `json:"description,omitempty"`
	Embedding       *string          `json:"embedding,omitempty"`
	EmbeddingConfig *EmbeddingConfig `json:"embedding_config,omitempty"`
}

// UpdateArchive is the body of PATCH /v1/archives/{id}. Null leaves a field unchanged.
type UpdateArchive struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
}

// NotReachable is the metadata key that names the requested embedding of an archive that had to fall back to the
// built-in one.
const NotReachable = "embedding_not_reachable"

// PathArchives begins our own operations on archives.
const PathArchives = "/loci/v1/archives"

// EmbedArchive is the body of PUT /loci/v1/archives/{id}/embedding.
type EmbedArchive struct {
	Embedding string `json:"embedding" required:"true"` // a handle
	DryRun    bool   `json:"dry_run,omitempty"`         // only report what it would mean
}

// EmbeddingPlan reports what changing an archive's embedding means. Until its passages have been embedded again, in
// the background, they are found only by their words.
type EmbeddingPlan struct {
	Archive   Archive `json:"archive"`
	Embedding string  `json:"embedding"`
	Endpoint  string  `json:"endpoint"` // where the texts are sent; empty: nowhere
	Passages  int     `json:"passages"` // how many are embedded again
}
