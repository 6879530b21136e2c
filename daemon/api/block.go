package api

// Block is a labelled text that is always in an agent's context.
type Block struct {
	ID                  string   `json:"id" required:"true"`
	Label               *string  `json:"label"`
	Value               string   `json:"value" required:"true"`
	Limit               int      `json:"limit"`
	ProjectID           *string  `json:"project_id"`
	TemplateName        *string  `json:"template_name"`
	IsTemplate          bool     `json:"is_template"`
	TemplateID          *string  `json:"template_id"`
	BaseTemplateID      *string  `json:"base_template_id"`
	DeploymentID        *string  `json:"deployment_id"`
	EntityID            *string  `json:"entity_id"`
	PreserveOnMigration *bool    `json:"preserve_on_migration"`
	ReadOnly            bool     `json:"read_only"`
	Description         *string  `json:"description"`
	Metadata            Object   `json:"metadata"`
	Hidden              *bool    `json:"hidden"`
	CreatedByID         *string  `json:"created_by_id"`
	LastUpdatedByID     *string  `json:"last_updated_by_id"`
	Tags                []string `json:"tags"`
}

// CreateBlock is the body of POST /v1/blocks/, and of a block created with an agent.
type CreateBlock struct {
	Label               string   `json:"label" required:"true"`
	Value               string   `json:"value" required:"true"`
	Limit               *int     `json:"limit,omitempty" minimum:"1"`
	ProjectID           *string  `json:"project_id,omitempty"`
	TemplateName        *string  `json:"template_name,omitempty"`
	IsTemplate          *bool    `json:"is_template,omitempty"`
	TemplateID          *string  `json:"template_id,omitempty"`
	BaseTemplateID      *string  `json:"base_template_id,omitempty"`
	DeploymentID        *string  `json:"deployment_id,omitempty"`
	EntityID            *string  `json:"entity_id,omitempty"`
	PreserveOnMigration *bool    `json:"preserve_on_migration,omitempty"`
	ReadOnly            *bool    `json:"read_only,omitempty"`
	Description         *string  `json:"description,omitempty"`
	Metadata            Object   `json:"metadata,omitempty"`
	Hidden              *bool    `json:"hidden,omitempty"`
	Tags                []string `json:"tags,omitempty"`
}

// UpdateBlock is the body of PATCH on a block.
type UpdateBlock struct {
	Label               Opt[string]   `json:"label,omitzero"`
	Value               Opt[string]   `json:"value,omitzero"`
	Limit               Opt[int]      `json:"limit,omitzero" minimum:"1"`
	ProjectID           Opt[string]   `json:"project_id,omitzero"`
	TemplateName        Opt[string]   `json:"template_name,omitzero"`
	IsTemplate          Opt[bool]     `json:"is_template,omitzero"`
	TemplateID          Opt[string]   `json:"template_id,omitzero"`
	BaseTemplateID      Opt[string]   `json:"base_template_id,omitzero"`
	DeploymentID        Opt[string]   `json:"deployment_id,omitzero"`
	EntityID            Opt[string]   `json:"entity_id,omitzero"`
	PreserveOnMigration Opt[bool]     `json:"preserve_on_migration,omitzero"`
	ReadOnly            Opt[bool]     `json:"read_only,omitzero"`
	Description         Opt[string]   `json:"description,omitzero"`
	Metadata            Opt[Object]   `json:"metadata,omitzero"`
	Hidden              Opt[bool]     `json:"hidden,omitzero"`
	Tags                Opt[[]string] `json:"tags,omitzero"`
}

// BlockFilter narrows a count of blocks.
type BlockFilter struct {
	Label         string   `query:"label"`
	TemplatesOnly bool     `query:"templates_only"`
	Name          string   `query:"name"`
	Tags          []string `query:"tags,explode"`
	MatchAllTags  bool     `query:"match_all_tags"`
	ProjectID     string   `query:"project_id"`
}

// ListBlocks are the parameters of GET /v1/blocks/.
type ListBlocks struct {
	Page
	BlockFilter
	IdentityID               string     `query:"identity_id"`
	IdentifierKeys           []string   `query:"identifier_keys,explode"`
	LabelSearch              string     `query:"label_search"`
	DescriptionSearch        string     `query:"description_search"`
	ValueSearch              string     `query:"value_search"`
	ConnectedToAgentsCountGT Param[int] `query:"connected_to_agents_count_gt"`
	ConnectedToAgentsCountLT Param[int] `query:"connected_to_agents_count_lt"`
	ConnectedToAgentsCountEQ []int      `query:"connected_to_agents_count_eq,explode"`
}

// ListBlockAgents are the parameters of GET /v1/blocks/{id}/agents.
type ListBlockAgents struct {
	Page
	AgentInclude
}
