package api

// The kinds of tools.
const (
	ToolCustom          = "custom"
	ToolLettaCore       = "letta_core"
	ToolLettaMemoryCore = "letta_memory_core"
	ToolLettaBuiltin    = "letta_builtin"
	ToolExternalMCP     = "external_mcp"

	// Known on the wire, and kept by no version of Loci.
	ToolExternalComposio  = "external_composio"
	ToolExternalLangchain = "external_langchain"
)

// Tool is something an agent can call.
type Tool struct {
	ID                      string        `json:"id"`
	Name                    *string       `json:"name"`
	ToolType                string        `json:"tool_type"`
	Description             *string       `json:"description"`
	SourceType              *string       `json:"source_type"`
	Tags                    List[string]  `json:"tags"`
	SourceCode              *string       `json:"source_code"`
	JSONSchema              Object        `json:"json_schema"`
	ArgsJSONSchema          Object        `json:"args_json_schema"`
	ReturnCharLimit         int           `json:"return_char_limit"`
	PipRequirements         []Requirement `json:"pip_requirements"`
	NpmRequirements         []Requirement `json:"npm_requirements"`
	DefaultRequiresApproval *bool         `json:"default_requires_approval"`
	EnableParallelExecution *bool         `json:"enable_parallel_execution"`
	CreatedByID             *string       `json:"created_by_id"`
	LastUpdatedByID         *string       `json:"last_updated_by_id"`
	Metadata                Object        `json:"metadata_"`
	ProjectID               *string       `json:"project_id"`
}

// Requirement is a package that a tool's code needs.
type Requirement struct {
	Name    string  `json:"name" required:"true"`
	Version *string `json:"version"`
}

// CreateTool is the body of POST and PUT /v1/tools/, which are the same.
type CreateTool struct {
	SourceCode              string         `json:"source_code" required:"true"`
	SourceType              *string        `json:"source_type,omitempty"`
	Description             *string        `json:"description,omitempty"`
	Tags                    *[]string      `json:"tags,omitempty"`
	JSONSchema              Object         `json:"json_schema,omitempty"`
	ArgsJSONSchema          Object         `json:"args_json_schema,omitempty"`
	ReturnCharLimit         *int           `json:"return_char_limit,omitempty" minimum:"1" maximum:"1000000"`
	PipRequirements         *[]Requirement `json:"pip_requirements,omitempty"`
	NpmRequirements         *[]Requirement `json:"npm_requirements,omitempty"`
	DefaultRequiresApproval *bool          `json:"default_requires_approval,omitempty"`
	EnableParallelExecution *bool          `json:"enable_parallel_execution,omitempty"`
}

// UpdateTool is the body of PATCH /v1/tools/{tool_id}.
type UpdateTool struct {
	SourceCode              *string        `json:"source_code,omitempty"`
	SourceType              *string        `json:"source_type,omitempty"`
	Description             *string        `json:"description,omitempty"`
	Tags                    *[]string      `json:"tags,omitempty"`
	JSONSchema              Object         `json:"json_schema,omitempty"`
	ArgsJSONSchema          Object         `json:"args_json_schema,omitempty"`
	ReturnCharLimit         *int           `json:"return_char_limit,omitempty" minimum:"1" maximum:"1000000"`
	PipRequirements         *[]Requirement `json:"pip_requirements,omitempty"`
	NpmRequirements         *[]Requirement `json:"npm_requirements,omitempty"`
	Metadata                Object         `json:"metadata_,omitempty"`
	DefaultRequiresApproval *bool          `json:"default_requires_approval,omitempty"`
	EnableParallelExecution *bool          `json:"enable_parallel_execution,omitempty"`
}

// RunSource is the body of POST /v1/tools/run: a tool that is run without being kept.
type RunSource struct {
	SourceCode      string            `json:"source_code" required:"true"`
	Args            Arguments         `json:"args" required:"true"`
	EnvVars         map[string]string `json:"env_vars,omitempty"`
	Name            *string           `json:"name,omitempty"`
	SourceType      *string           `json:"source_type,omitempty"`
	ArgsJSONSchema  Object            `json:"args_json_schema,omitempty"`
	JSONSchema      Object            `json:"json_schema,omitempty"`
	PipRequirements *[]Requirement    `json:"pip_requirements,omitempty"`
	NpmRequirements *[]Requirement    `json:"npm_requirements,omitempty"`
}

// RunTool is the body of POST /v1/agents/{agent_id}/tools/{tool_name}/run.
type RunTool struct {
	Args Arguments `json:"args,omitempty"`
}

// ToolExecution is what became of a tool that was run by itself.
type ToolExecution struct {
	Status                   string      `json:"status" required:"true"`
	FuncReturn               any         `json:"func_return"`
	AgentState               *AgentState `json:"agent_state"`
	Stdout                   []string    `json:"stdout"`
	Stderr                   []string    `json:"stderr"`
	SandboxConfigFingerprint *string     `json:"sandbox_config_fingerprint"`
}

// SearchTools is the body of POST /v1/tools/search.
type SearchTools struct {
	Query      *string  `json:"query,omitempty"`
	SearchMode string   `json:"search_mode,omitempty" enum:"vector,fts,hybrid"`
	ToolTypes  []string `json:"tool_types,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Limit      *int     `json:"limit,omitempty" minimum:"1" maximum:"100"`
}

// FoundTool is a tool that a search found.
type FoundTool struct {
	Tool          Tool    `json:"tool" required:"true"`
	EmbeddedText  *string `json:"embedded_text"`
	FtsRank       *int    `json:"fts_rank"`
	VectorRank    *int    `json:"vector_rank"`
	CombinedScore float64 `json:"combined_score" required:"true"`
}

// ListTools are the parameters of GET /v1/tools/.
type ListTools struct {
	Page
	Name                 string   `query:"name"`
	Names                []string `query:"names,explode"`
	ToolIDs              []string `query:"tool_ids,explode"`
	Search               string   `query:"search"`
	ToolTypes            []string `query:"tool_types,explode"`
	ExcludeToolTypes     []string `query:"exclude_tool_types,explode"`
	ReturnOnlyLettaTools bool     `query:"return_only_letta_tools"`
}

// The kinds of tool rules.
const (
	RuleRunFirst           = "run_first"
	RuleExitLoop           = "exit_loop"
	RuleContinueLoop       = "continue_loop"
	RuleChildren           = "constrain_child_tools"
	RuleConditional        = "conditional"
	RuleParent             = "parent_last_tool"
	RuleMaxCount           = "max_count_per_step"
	RuleRequiredBeforeExit = "required_before_exit"
	RuleRequiresApproval   = "requires_approval"
)

// ToolRule constrains which tool may or must be called next. It is the union of the contract's rules; Type says
// which, and each uses a few of the keys.
type ToolRule struct {
	Type                 string            `json:"type,omitempty"`
	ToolName             string            `json:"tool_name" required:"true"`
	PromptTemplate       *string           `json:"prompt_template,omitempty"`
	Args                 Arguments         `json:"args,omitempty"`
	Children             []string          `json:"children,omitempty"`
	ChildArgNodes        []ToolCallNode    `json:"child_arg_nodes,omitempty"`
	DefaultChild         *string           `json:"default_child,omitempty"`
	ChildOutputMapping   map[string]string `json:"child_output_mapping,omitempty"`
	RequireOutputMapping *bool             `json:"require_output_mapping,omitempty"`
	MaxCountLimit        *int              `json:"max_count_limit,omitempty"`
}

// ToolCallNode names a tool and arguments that are filled in for it.
type ToolCallNode struct {
	Name string    `json:"name" required:"true"`
	Args Arguments `json:"args,omitempty"`
}
