package api

// The agent types of the contract.
const (
	AgentLettaV1     = "letta_v1_agent"
	AgentMemGPTV2    = "memgpt_v2_agent"
	AgentMemGPT      = "memgpt_agent"
	AgentReact       = "react_agent"
	AgentWorkflow    = "workflow_agent"
	AgentSplitThread = "split_thread_agent"
	AgentSleeptime   = "sleeptime_agent"
	AgentVoice       = "voice_convo_agent"
	AgentVoiceSleep  = "voice_sleeptime_agent"
)

// AgentState is an agent as the contract shows it. Relations that weren't requested are empty, never absent.
// Identities and groups get types of their own once they are supported.
type AgentState struct {
	ID                           string              `json:"id" required:"true"`
	Name                         string              `json:"name" required:"true"`
	CreatedByID                  *string             `json:"created_by_id"`
	LastUpdatedByID              *string             `json:"last_updated_by_id"`
	CreatedAt                    *Time               `json:"created_at"`
	UpdatedAt                    *Time               `json:"updated_at"`
	ToolRules                    []ToolRule          `json:"tool_rules"`
	MessageIDs                   []string            `json:"message_ids"`
	System                       string              `json:"system" required:"true"`
	AgentType                    string              `json:"agent_type" required:"true"`
	LLMConfig                    LLMConfig           `json:"llm_config" required:"true"`
	EmbeddingConfig              *EmbeddingConfig    `json:"embedding_config"`
	Model                        *string             `json:"model"`
	Embedding                    *string             `json:"embedding"`
	ModelSettings                *ModelSettings      `json:"model_settings"`
	CompactionSettings           *CompactionSettings `json:"compaction_settings"`
	ResponseFormat               *ResponseFormat     `json:"response_format"`
	Description                  *string             `json:"description"`
	Metadata                     Object              `json:"metadata"`
	Memory                       Memory              `json:"memory" required:"true"`
	Blocks                       List[Block]         `json:"blocks" required:"true"`
	Tools                        List[Tool]          `json:"tools" required:"true"`
	Sources                      List[Source]        `json:"sources" required:"true"`
	Tags                         List[string]        `json:"tags" required:"true"`
	ToolExecEnvironmentVariables List[Secret]        `json:"tool_exec_environment_variables"`
	Secrets                      List[Secret]        `json:"secrets"`
	ProjectID                    *string             `json:"project_id"`
	TemplateID                   *string             `json:"template_id"`
	BaseTemplateID               *string             `json:"base_template_id"`
	DeploymentID                 *string             `json:"deployment_id"`
	EntityID                     *string             `json:"entity_id"`
	IdentityIDs                  List[string]        `json:"identity_ids"`
	Identities                   List[any]           `json:"identities"`
	PendingApproval              *Message            `json:"pending_approval"`
	MessageBufferAutoclear       bool                `json:"message_buffer_autoclear"`
	EnableSleeptime              *bool               `json:"enable_sleeptime"`
	MultiAgentGroup              any                 `json:"multi_agent_group"`
	ManagedGroup                 any                 `json:"managed_group"`
	LastRunCompletion            *Time               `json:"last_run_completion"`
	LastRunDurationMs            *int                `json:"last_run_duration_ms"`
	LastStopReason               *StopReason         `json:"last_stop_reason"`
	Timezone                     *string             `json:"timezone"`
	MaxFilesOpen                 *int                `json:"max_files_open"`
	PerFileViewWindowCharLimit   *int                `json:"per_file_view_window_char_limit"`
	Hidden                       *bool               `json:"hidden"`
}

// CreateAgent is the body of POST /v1/agents/. A nil pointer is a key that was not sent. LLM is the name that clients
// from 2024 use for Model.
type CreateAgent struct {
	Name                         *string             `json:"name,omitempty"`
	MemoryBlocks                 []CreateBlock       `json:"memory_blocks,omitempty"`
	Tools                        []string            `json:"tools,omitempty"`
	ToolIDs                      []string            `json:"tool_ids,omitempty"`
	SourceIDs                    []string            `json:"source_ids,omitempty"`
	FolderIDs                    []string            `json:"folder_ids,omitempty"`
	BlockIDs                     []string            `json:"block_ids,omitempty"`
	ToolRules                    []ToolRule          `json:"tool_rules,omitempty"`
	Tags                         []string            `json:"tags,omitempty"`
	System                       *string             `json:"system,omitempty"`
	AgentType                    *string             `json:"agent_type,omitempty"`
	InitialMessageSequence       []Input             `json:"initial_message_sequence,omitempty"`
	IncludeBaseTools             *bool               `json:"include_base_tools,omitempty"`
	IncludeMultiAgentTools       *bool               `json:"include_multi_agent_tools,omitempty"`
	IncludeBaseToolRules         *bool               `json:"include_base_tool_rules,omitempty"`
	IncludeDefaultSource         *bool               `json:"include_default_source,omitempty"`
	Description                  *string             `json:"description,omitempty"`
	Metadata                     Object              `json:"metadata,omitempty"`
	LLMConfig                    *LLMConfig          `json:"llm_config,omitempty"`
	EmbeddingConfig              *EmbeddingConfig    `json:"embedding_config,omitempty"`
	Model                        *string             `json:"model,omitempty"`
	LLM                          *string             `json:"llm,omitempty"`
	Embedding                    *string             `json:"embedding,omitempty"`
	ModelSettings                *ModelSettings      `json:"model_settings,omitempty"`
	CompactionSettings           *CompactionSettings `json:"compaction_settings,omitempty"`
	ContextWindowLimit           *int                `json:"context_window_limit,omitempty" minimum:"0"`
	EmbeddingChunkSize           *int                `json:"embedding_chunk_size,omitempty" minimum:"0"`
	MaxTokens                    *int                `json:"max_tokens,omitempty" minimum:"0"`
	MaxReasoningTokens           *int                `json:"max_reasoning_tokens,omitempty" minimum:"0"`
	EnableReasoner               *bool               `json:"enable_reasoner,omitempty"`
	Reasoning                    *bool               `json:"reasoning,omitempty"`
	FromTemplate                 *string             `json:"from_template,omitempty"`
	Template                     *bool               `json:"template,omitempty"`
	Project                      *string             `json:"project,omitempty"`
	ToolExecEnvironmentVariables map[string]string   `json:"tool_exec_environment_variables,omitempty"`
	Secrets                      map[string]string   `json:"secrets,omitempty"`
	MemoryVariables              map[string]string   `json:"memory_variables,omitempty"`
	ProjectID                    *string             `json:"project_id,omitempty"`
	TemplateID                   *string             `json:"template_id,omitempty"`
	BaseTemplateID               *string             `json:"base_template_id,omitempty"`
	IdentityIDs                  []string            `json:"identity_ids,omitempty"`
	MessageBufferAutoclear       *bool               `json:"message_buffer_autoclear,omitempty"`
	EnableSleeptime              *bool               `json:"enable_sleeptime,omitempty"`
	ResponseFormat               *ResponseFormat     `json:"response_format,omitempty"`
	Timezone                     *string             `json:"timezone,omitempty"`
	MaxFilesOpen                 *int                `json:"max_files_open,omitempty" minimum:"0" maximum:"1000"`
	PerFileViewWindowCharLimit   *int                `json:"per_file_view_window_char_limit,omitempty" minimum:"0" maximum:"1000000"`
	Hidden                       *bool               `json:"hidden,omitempty"`
	ParallelToolCalls            *bool               `json:"parallel_tool_calls,omitempty"`
}

// UpdateAgent is the body of PATCH /v1/agents/{id}: only keys that were sent change anything.
type UpdateAgent struct {
	Name                         Opt[string]             `json:"name,omitzero"`
	ToolIDs                      Opt[[]string]           `json:"tool_ids,omitzero"`
	SourceIDs                    Opt[[]string]           `json:"source_ids,omitzero"`
	FolderIDs                    Opt[[]string]           `json:"folder_ids,omitzero"`
	BlockIDs                     Opt[[]string]           `json:"block_ids,omitzero"`
	Tags                         Opt[[]string]           `json:"tags,omitzero"`
	System                       Opt[string]             `json:"system,omitzero"`
	ToolRules                    Opt[[]ToolRule]         `json:"tool_rules,omitzero"`
	MessageIDs                   Opt[[]string]           `json:"message_ids,omitzero"`
	Description                  Opt[string]             `json:"description,omitzero"`
	Metadata                     Opt[Object]             `json:"metadata,omitzero"`
	ToolExecEnvironmentVariables Opt[map[string]string]  `json:"tool_exec_environment_variables,omitzero"`
	Secrets                      Opt[map[string]string]  `json:"secrets,omitzero"`
	ProjectID                    Opt[string]             `json:"project_id,omitzero"`
	TemplateID                   Opt[string]             `json:"template_id,omitzero"`
	BaseTemplateID               Opt[string]             `json:"base_template_id,omitzero"`
	IdentityIDs                  Opt[[]string]           `json:"identity_ids,omitzero"`
	MessageBufferAutoclear       Opt[bool]               `json:"message_buffer_autoclear,omitzero"`
	Model                        Opt[string]             `json:"model,omitzero"`
	Embedding                    Opt[string]             `json:"embedding,omitzero"`
	ModelSettings                Opt[ModelSettings]      `json:"model_settings,omitzero"`
	CompactionSettings           Opt[CompactionSettings] `json:"compaction_settings,omitzero"`
	ContextWindowLimit           Opt[int]                `json:"context_window_limit,omitzero" minimum:"0"`
	Reasoning                    Opt[bool]               `json:"reasoning,omitzero"`
	LLMConfig                    Opt[LLMConfig]          `json:"llm_config,omitzero"`
	EmbeddingConfig              Opt[EmbeddingConfig]    `json:"embedding_config,omitzero"`
	ParallelToolCalls            Opt[bool]               `json:"parallel_tool_calls,omitzero"`
	ResponseFormat               Opt[ResponseFormat]     `json:"response_format,omitzero"`
	MaxTokens                    Opt[int]                `json:"max_tokens,omitzero" minimum:"0"`
	EnableSleeptime              Opt[bool]               `json:"enable_sleeptime,omitzero"`
	LastRunCompletion            Opt[Time]               `json:"last_run_completion,omitzero"`
	LastRunDurationMs            Opt[int]                `json:"last_run_duration_ms,omitzero" minimum:"0"`
	LastStopReason               Opt[StopReason]         `json:"last_stop_reason,omitzero"`
	Timezone                     Opt[string]             `json:"timezone,omitzero"`
	MaxFilesOpen                 Opt[int]                `json:"max_files_open,omitzero" minimum:"0" maximum:"1000"`
	PerFileViewWindowCharLimit   Opt[int]                `json:"per_file_view_window_char_limit,omitzero" minimum:"0" maximum:"1000000"`
	Hidden                       Opt[bool]               `json:"hidden,omitzero"`
}

// Memory is the deprecated copy of an agent's blocks.
type Memory struct {
	AgentType      *string         `json:"agent_type"`
	GitEnabled     bool            `json:"git_enabled"`
	Blocks         List[Block]     `json:"blocks" required:"true"`
	FileBlocks     List[FileBlock] `json:"file_blocks"`
	PromptTemplate string          `json:"prompt_template"`
}

// FileBlock is an open file shown as a block: its value is what the agent sees of the file.
type FileBlock struct {
	Block
	FileID         string `json:"file_id" required:"true"`
	SourceID       string `json:"source_id" required:"true"`
	IsOpen         bool   `json:"is_open" required:"true"`
	LastAccessedAt *Time  `json:"last_accessed_at"`
}

// Secret is one of an agent's secrets: a variable visible to its tools.
type Secret struct {
	ID              string  `json:"id"`
	Value           string  `json:"value" required:"true"`
	CreatedByID     *string `json:"created_by_id"`
	LastUpdatedByID *string `json:"last_updated_by_id"`
	CreatedAt       *Time   `json:"created_at"`
	UpdatedAt       *Time   `json:"updated_at"`
	Key             string  `json:"key" required:"true"`
	Description     *string `json:"description"`
	ValueEnc        *string `json:"value_enc"`
	AgentID         string  `json:"agent_id" required:"true"`
}

// CompactionSettings says when and how an agent's context is compacted. The last three keys are our own, for the
// modes that write the summary into a memory block.
type CompactionSettings struct {
	Model                   *string        `json:"model,omitempty"`
	ModelSettings           *ModelSettings `json:"model_settings,omitempty"`
	Prompt                  *string        `json:"prompt,omitempty"`
	PromptAcknowledgement   *bool          `json:"prompt_acknowledgement,omitempty"`
	ClipChars               Opt[int]       `json:"clip_chars,omitzero" minimum:"1"` // null: a summary is not cut
	Mode                    *string        `json:"mode,omitempty"`
	SlidingWindowPercentage *float64       `json:"sliding_window_percentage,omitempty" exclusiveMinimum:"0" maximum:"1"`

	MessageBufferLimit               *int     `json:"message_buffer_limit,omitempty" minimum:"2"`
	MessageBufferMin                 *int     `json:"message_buffer_min,omitempty" minimum:"1"`
	PartialEvictSummarizerPercentage *float64 `json:"partial_evict_summarizer_percentage,omitempty" exclusiveMinimum:"0" maximum:"1"`
}

// CompactAgent is the body of POST /v1/agents/{id}/summarize; the settings override the agent's for this call.
type CompactAgent struct {
	CompactionSettings *CompactionSettings `json:"compaction_settings,omitempty"`
}

// CompactConversation is the body of POST /v1/conversations/{id}/compact. AgentID is required if the conversation is
// "default".
type CompactConversation struct {
	CompactAgent
	AgentID *string `json:"agent_id,omitempty"`
}

// Compaction is the result of a compaction on request; the counts are messages in the context window. Notice is our
// own: anything a person should know about how the summary was made.
type Compaction struct {
	Summary           string `json:"summary" required:"true"`
	NumMessagesBefore int    `json:"num_messages_before" required:"true"`
	NumMessagesAfter  int    `json:"num_messages_after" required:"true"`
	Notice            string `json:"notice,omitempty"`
}

// ResponseFormat asks a model for text, for any JSON object, or for JSON that matches a schema.
type ResponseFormat struct {
	Type       string `json:"type" required:"true" enum:"text,json_schema,json_object"`
	JSONSchema Object `json:"json_schema,omitempty"`
}

// Values of the include parameter of agents.
const (
	IncludeBlocks          = "agent.blocks"
	IncludeTools           = "agent.tools"
	IncludeSources         = "agent.sources"
	IncludeTags            = "agent.tags"
	IncludeSecrets         = "agent.secrets"
	IncludeIdentities      = "agent.identities"
	IncludeManagedGroup    = "agent.managed_group"
	IncludePendingApproval = "agent.pending_approval"
)

// AgentFilter narrows a list or a count of agents.
type AgentFilter struct {
	Name           string     `query:"name"`
	Tags           []string   `query:"tags,explode"`
	MatchAllTags   bool       `query:"match_all_tags"`
	QueryText      string     `query:"query_text"`
	ProjectID      string     `query:"project_id"`
	TemplateID     string     `query:"template_id"`
	BaseTemplateID string     `query:"base_template_id"`
	IdentityID     string     `query:"identity_id"`
	IdentifierKeys []string   `query:"identifier_keys,explode"`
	LastStopReason StopReason `query:"last_stop_reason"`
	CreatedByID    string     `query:"created_by_id"`
}

// AgentInclude says which relations of an agent to fill.
type AgentInclude struct {
	Include              []string `query:"include,explode"`
	IncludeRelationships []string `query:"include_relationships,explode"`
}

// ListAgents are the parameters of GET /v1/agents/. Ascending and SortBy are the deprecated forms of Order and
// OrderBy.
type ListAgents struct {
	Page
	AgentFilter
	AgentInclude
	Ascending bool   `query:"ascending"`
	SortBy    string `query:"sort_by"`
}

// ContextParams are the parameters of GET /v1/agents/{id}/context.
type ContextParams struct {
	ConversationID string `query:"conversation_id"`
}

// RecompileParams are the parameters of the recompile operations.
type RecompileParams struct {
	UpdateTimestamp bool `query:"update_timestamp"`
	DryRun          bool `query:"dry_run"`
}

// ResetMessages is the body of PATCH /v1/agents/{id}/reset-messages.
type ResetMessages struct {
	AddDefaultInitialMessages bool `json:"add_default_initial_messages"`
}

// ContextWindow shows what fills an agent's context window.
type ContextWindow struct {
	ContextWindowSizeMax           int                 `json:"context_window_size_max" required:"true"`
	ContextWindowSizeCurrent       int                 `json:"context_window_size_current" required:"true"`
	NumMessages                    int                 `json:"num_messages" required:"true"`
	NumArchivalMemory              int                 `json:"num_archival_memory" required:"true"`
	NumRecallMemory                int                 `json:"num_recall_memory" required:"true"`
	NumTokensExternalMemorySummary int                 `json:"num_tokens_external_memory_summary" required:"true"`
	ExternalMemorySummary          string              `json:"external_memory_summary" required:"true"`
	NumTokensSystem                int                 `json:"num_tokens_system" required:"true"`
	SystemPrompt                   string              `json:"system_prompt" required:"true"`
	NumTokensCoreMemory            int                 `json:"num_tokens_core_memory" required:"true"`
	CoreMemory                     string              `json:"core_memory" required:"true"`
	NumTokensMemoryFilesystem      int                 `json:"num_tokens_memory_filesystem"`
	MemoryFilesystem               *string             `json:"memory_filesystem"`
	NumTokensToolUsageRules        int                 `json:"num_tokens_tool_usage_rules"`
	ToolUsageRules                 *string             `json:"tool_usage_rules"`
	NumTokensDirectories           int                 `json:"num_tokens_directories"`
	Directories                    *string             `json:"directories"`
	NumTokensSummaryMemory         int                 `json:"num_tokens_summary_memory" required:"true"`
	SummaryMemory                  *string             `json:"summary_memory"`
	NumTokensFunctionsDefinitions  int                 `json:"num_tokens_functions_definitions" required:"true"`
	FunctionsDefinitions           []FunctionTool      `json:"functions_definitions" required:"true"`
	NumTokensMessages              int                 `json:"num_tokens_messages" required:"true"`
	Messages                       List[StoredMessage] `json:"messages" required:"true"`
}

// FunctionTool describes a tool to a model.
type FunctionTool struct {
	Function FunctionDefinition `json:"function" required:"true"`
	Type     string             `json:"type" required:"true"`
}

// FunctionDefinition names a function, what it does and its parameters.
type FunctionDefinition struct {
	Name        string  `json:"name" required:"true"`
	Description *string `json:"description"`
	Parameters  Object  `json:"parameters"`
	Strict      *bool   `json:"strict"`
}
