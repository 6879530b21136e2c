package api

// The kinds of tools.
const (
	ToolCustom          = "custom"
	ToolLettaCore       = "letta_core"
	ToolLettaMemoryCore = "letta_memory_core"
	ToolLettaBuiltin    = "letta_builtin"
	ToolExternalMCP     = "external_mcp"
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
	Args                 Object            `json:"args,omitempty"`
	Children             []string          `json:"children,omitempty"`
	ChildArgNodes        []ToolCallNode    `json:"child_arg_nodes,omitempty"`
	DefaultChild         *string           `json:"default_child,omitempty"`
	ChildOutputMapping   map[string]string `json:"child_output_mapping,omitempty"`
	RequireOutputMapping *bool             `json:"require_output_mapping,omitempty"`
	MaxCountLimit        *int              `json:"max_count_limit,omitempty"`
}

// ToolCallNode names a tool and arguments that are filled in for it.
type ToolCallNode struct {
	Name string `json:"name" required:"true"`
	Args Object `json:"args,omitempty"`
}
