package api

// Model is a chat model that this server can reach.
type Model struct {
	Name                     string          `json:"name" required:"true"`
	Handle                   *string         `json:"handle"`
	DisplayName              *string         `json:"display_name"`
	ProviderType             string          `json:"provider_type" required:"true"`
	ProviderName             *string         `json:"provider_name"`
	ModelType                string          `json:"model_type"`
	Model                    string          `json:"model" required:"true"`
	ModelEndpointType        string          `json:"model_endpoint_type" required:"true"`
	ModelEndpoint            *string         `json:"model_endpoint"`
	ProviderCategory         *string         `json:"provider_category"`
	ModelWrapper             *string         `json:"model_wrapper"`
	ContextWindow            int             `json:"context_window" required:"true"`
	PutInnerThoughtsInKwargs *bool           `json:"put_inner_thoughts_in_kwargs"`
	Temperature              float64         `json:"temperature"`
	MaxTokens                *int            `json:"max_tokens"`
	EnableReasoner           bool            `json:"enable_reasoner"`
	ReasoningEffort          *string         `json:"reasoning_effort"`
	MaxReasoningTokens       int             `json:"max_reasoning_tokens"`
	Effort                   *string         `json:"effort"`
	FrequencyPenalty         *float64        `json:"frequency_penalty"`
	CompatibilityType        *string         `json:"compatibility_type"`
	Verbosity                *string         `json:"verbosity"`
	Tier                     *string         `json:"tier"`
	ParallelToolCalls        *bool           `json:"parallel_tool_calls"`
	ResponseFormat           *ResponseFormat `json:"response_format"`
	Strict                   bool            `json:"strict"`
	ReturnLogprobs           bool            `json:"return_logprobs"`
	TopLogprobs              *int            `json:"top_logprobs"`
	ReturnTokenIDs           bool            `json:"return_token_ids"`
	ToolCallParser           *string         `json:"tool_call_parser"`
	MaxContextWindow         int             `json:"max_context_window" required:"true"`
}

// EmbeddingModel is an embedding model that this server can reach.
type EmbeddingModel struct {
	Name                  string  `json:"name" required:"true"`
	Handle                *string `json:"handle"`
	DisplayName           string  `json:"display_name" required:"true"`
	ProviderType          string  `json:"provider_type" required:"true"`
	ProviderName          string  `json:"provider_name" required:"true"`
	ModelType             string  `json:"model_type"`
	EmbeddingEndpointType string  `json:"embedding_endpoint_type" required:"true"`
	EmbeddingEndpoint     *string `json:"embedding_endpoint"`
	EmbeddingModel        string  `json:"embedding_model" required:"true"`
	EmbeddingDim          int     `json:"embedding_dim" required:"true"`
	EmbeddingChunkSize    *int    `json:"embedding_chunk_size"`
	BatchSize             int     `json:"batch_size"`
	AzureEndpoint         *string `json:"azure_endpoint"`
	AzureVersion          *string `json:"azure_version"`
	AzureDeployment       *string `json:"azure_deployment"`
}

// LLMConfig is the deprecated copy of an agent's model and model settings.
type LLMConfig struct {
	Model                    string          `json:"model"`
	DisplayName              *string         `json:"display_name,omitempty"`
	ModelEndpointType        string          `json:"model_endpoint_type"`
	ModelEndpoint            *string         `json:"model_endpoint,omitempty"`
	ProviderName             *string         `json:"provider_name,omitempty"`
	ProviderCategory         *string         `json:"provider_category,omitempty" enum:"base,byok"`
	ModelWrapper             *string         `json:"model_wrapper,omitempty"`
	ContextWindow            int             `json:"context_window" minimum:"0"`
	PutInnerThoughtsInKwargs *bool           `json:"put_inner_thoughts_in_kwargs,omitempty"`
	Handle                   *string         `json:"handle,omitempty"`
	Temperature              *float64        `json:"temperature,omitempty" minimum:"0" maximum:"2"`
	MaxTokens                *int            `json:"max_tokens,omitempty" minimum:"0"`
	EnableReasoner           *bool           `json:"enable_reasoner,omitempty"`
	ReasoningEffort          *string         `json:"reasoning_effort,omitempty" enum:"none,minimal,low,medium,high,xhigh"`
	MaxReasoningTokens       *int            `json:"max_reasoning_tokens,omitempty" minimum:"0"`
	Effort                   *string         `json:"effort,omitempty" enum:"low,medium,high,max"`
	FrequencyPenalty         *float64        `json:"frequency_penalty,omitempty" minimum:"-2" maximum:"2"`
	CompatibilityType        *string         `json:"compatibility_type,omitempty" enum:"gguf,mlx"`
	Verbosity                *string         `json:"verbosity,omitempty" enum:"low,medium,high"`
	Tier                     *string         `json:"tier,omitempty"`
	ParallelToolCalls        *bool           `json:"parallel_tool_calls,omitempty"`
	ResponseFormat           *ResponseFormat `json:"response_format,omitempty"`
	Strict                   *bool           `json:"strict,omitempty"`
	ReturnLogprobs           *bool           `json:"return_logprobs,omitempty"`
	TopLogprobs              *int            `json:"top_logprobs,omitempty" minimum:"0"`
	ReturnTokenIDs           *bool           `json:"return_token_ids,omitempty"`
	ToolCallParser           *string         `json:"tool_call_parser,omitempty"`
}

// EmbeddingConfig is the deprecated copy of an agent's embedding model.
type EmbeddingConfig struct {
	EmbeddingEndpointType string  `json:"embedding_endpoint_type"`
	EmbeddingEndpoint     *string `json:"embedding_endpoint,omitempty"`
	EmbeddingModel        string  `json:"embedding_model"`
	EmbeddingDim          int     `json:"embedding_dim" minimum:"0"`
	EmbeddingChunkSize    *int    `json:"embedding_chunk_size,omitempty"`
	Handle                *string `json:"handle,omitempty"`
	BatchSize             *int    `json:"batch_size,omitempty"`
	AzureEndpoint         *string `json:"azure_endpoint,omitempty"`
	AzureVersion          *string `json:"azure_version,omitempty"`
	AzureDeployment       *string `json:"azure_deployment,omitempty"`
}

// ModelSettings is the union of the contract's settings by provider; ProviderType says which. It is flat: each
// provider uses a few of the keys, and a nil pointer is a key that wasn't given.
type ModelSettings struct {
	ProviderType      string          `json:"provider_type,omitempty"`
	MaxOutputTokens   *int            `json:"max_output_tokens,omitempty" minimum:"0"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitempty"`
	Temperature       *float64        `json:"temperature,omitempty" minimum:"0" maximum:"2"`
	Reasoning         *Reasoning      `json:"reasoning,omitempty"`
	Thinking          *Thinking       `json:"thinking,omitempty"`
	ThinkingConfig    *ThinkingConfig `json:"thinking_config,omitempty"`
	ResponseFormat    *ResponseFormat `json:"response_format,omitempty"`
	ResponseSchema    *ResponseFormat `json:"response_schema,omitempty"`
	Verbosity         *string         `json:"verbosity,omitempty" enum:"low,medium,high"`
	Effort            *string         `json:"effort,omitempty" enum:"low,medium,high,max"`
	Strict            *bool           `json:"strict,omitempty"`
	ToolCallParser    *string         `json:"tool_call_parser,omitempty"`
}

// Reasoning is how hard an OpenAI model thinks.
type Reasoning struct {
	ReasoningEffort string `json:"reasoning_effort,omitempty" enum:"none,minimal,low,medium,high,xhigh"`
}

// Thinking turns the thinking of an Anthropic or Z.ai model on or off.
type Thinking struct {
	Type          string `json:"type,omitempty" enum:"enabled,disabled"`
	BudgetTokens  *int   `json:"budget_tokens,omitempty" minimum:"0"`
	ClearThinking *bool  `json:"clear_thinking,omitempty"`
}

// ThinkingConfig configures the thinking of a Gemini model.
type ThinkingConfig struct {
	IncludeThoughts *bool `json:"include_thoughts,omitempty"`
	ThinkingBudget  *int  `json:"thinking_budget,omitempty" minimum:"-1"`
}

// ListModels are the parameters of GET /v1/models/.
type ListModels struct {
	ProviderCategory []string `query:"provider_category,explode" enum:"base,byok"`
	ProviderName     string   `query:"provider_name"`
	ProviderType     string   `query:"provider_type"`
}
