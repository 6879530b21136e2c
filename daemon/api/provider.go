package api

import "github.com/danielgtaylor/huma/v2"

// ProviderTypes returns the contract's words for a model's provider.
func ProviderTypes() []string {
	return []string{
		"anthropic", "azure", "baseten", "bedrock", "cerebras", "chatgpt_oauth", "deepseek", "fireworks", "google_ai",
		"google_vertex", "groq", "hugging-face", "letta", "lmstudio_openai", "minimax", "mistral", "ollama", "openai", "together",
		"vllm", "sglang", "openrouter", "xai", "zai", "zai_coding",
	}
}

// EndpointTypes returns its words for a model's server.
func EndpointTypes() []string {
	return []string{
		"openai", "anthropic", "google_ai", "google_vertex", "azure", "groq", "ollama", "webui", "webui-legacy", "lmstudio",
		"lmstudio-legacy", "lmstudio-chatcompletions", "llamacpp", "koboldcpp", "vllm", "hugging-face", "minimax", "mistral",
		"together", "bedrock", "deepseek", "xai", "zai", "zai_coding", "baseten", "fireworks", "openrouter", "chatgpt_oauth",
	}
}

// EmbeddingTypes returns its words for the server of an embedding model.
func EmbeddingTypes() []string {
	return []string{
		"openai", "anthropic", "bedrock", "google_ai", "google_vertex", "azure", "groq", "ollama", "webui", "webui-legacy",
		"lmstudio", "lmstudio-legacy", "llamacpp", "koboldcpp", "vllm", "hugging-face", "mistral", "together", "pinecone",
	}
}

// SettingsTypes returns the members of the union of model settings.
func SettingsTypes() []string {
	return []string{
		"openai", "sglang", "anthropic", "google_ai", "google_vertex", "azure", "xai", "zai", "groq", "deepseek", "together",
		"bedrock", "baseten", "openrouter", "chatgpt_oauth",
	}
}

// oneOf makes a schema refuse other values of a key than these.
func oneOf(s *huma.Schema, key string, values []string) *huma.Schema {
	p := s.Properties[key]
	for _, v := range values {
		p.Enum = append(p.Enum, v)
	}
	p.PrecomputeMessages()
	return s
}

// TransformSchema implements huma.SchemaTransformer.
func (*ModelSettings) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return oneOf(s, "provider_type", SettingsTypes())
}

// TransformSchema implements huma.SchemaTransformer.
func (*LLMConfig) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return oneOf(s, "model_endpoint_type", EndpointTypes())
}

// TransformSchema implements huma.SchemaTransformer.
func (*EmbeddingConfig) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return oneOf(s, "embedding_endpoint_type", EmbeddingTypes())
}
