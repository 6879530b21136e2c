package api

// PathVariables is the path of what tools find in their environment.
const PathVariables = "/loci/v1/variables"

// Variables are the parameters of GET /loci/v1/variables: of an agent, or of the sandbox, which is all agents'.
type Variables struct {
	AgentID string `query:"agent_id"`
}

// Variable is what tools find in their environment, without its value.
type Variable struct {
	ID          string       `json:"id"`
	AgentID     string       `json:"agent_id"` // empty: of the sandbox
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Tools       List[string] `json:"tools"` // the built-in tools that get it too
	CreatedAt   Time         `json:"created_at"`
	UpdatedAt   Time         `json:"updated_at"`
}

// SetVariable is the body of PUT /loci/v1/variables.
type SetVariable struct {
	AgentID     string   `json:"agent_id,omitempty"` // empty: of the sandbox
	Name        string   `json:"name" required:"true"`
	Value       string   `json:"value" required:"true"`
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools,omitempty" maxItems:"20"`
}

// RemoveVariable are the parameters of DELETE /loci/v1/variables.
type RemoveVariable struct {
	AgentID string `query:"agent_id"`
	Name    string `query:"name" required:"true"`
}
