package server

import (
	"slices"

	"loci/core"
)

// The contract's enumerations of providers. A provider that is missing from an enumeration is shown as the closest
// value in it, because clients reject unknown values or decode them to nothing.
var (
	providerTypes = []string{
		"anthropic",
		"azure",
		"baseten",
		"bedrock",
		"cerebras",
		"chatgpt_oauth",
		"deepseek",
		"fireworks",
		"google_ai",
		"google_vertex",
		"groq",
		"hugging-face",
		"letta",
		"lmstudio_openai",
		"minimax",
		"mistral",
		"ollama",
		"openai",
		"together",
		"vllm",
		"sglang",
		"openrouter",
		"xai",
		"zai",
		"zai_coding",
	}
	endpointTypes = []string{
		"openai",
		"anthropic",
		"google_ai",
		"google_vertex",
		"azure",
		"groq",
		"ollama",
		"lmstudio",
		"llamacpp",
		"vllm",
		"hugging-face",
		"baseten",
		"minimax",
		"mistral",
		"together",
		"bedrock",
		"deepseek",
		"xai",
		"zai",
		"zai_coding",
		"openrouter",
		"chatgpt_oauth",
	}
	embeddingTypes = []string{
		"openai",
		"anthropic",
		"bedrock",
		"google_ai",
		"google_vertex",
		"azure",
		"groq",
		"ollama",
		"lmstudio",
		"llamacpp",
		"vllm",
		"hugging-face",
		"mistral",
		"together",
	}
	settingsTypes = []string{
		"openai",
		"sglang",
		"anthropic",
		"google_ai",
		"google_vertex",
		"azure",
		"xai",
		"zai",
		"groq",
		"deepseek",
		"together",
		"bedrock",
		"baseten",
		"openrouter",
		"chatgpt_oauth",
	}
)

// listedType returns the first of names that an enumeration has, or else the protocol that most servers speak.
func listedType(enum []string, names ...string) string {
	for _, name := range names {
		if slices.Contains(enum, name) {
			return name
		}
	}
	return "openai"
}

// providerType is the contract's word for a model's provider. Built-in models belong to the server itself, which the
// contract calls letta.
func providerType(provider, protocol string) string {
	if provider == core.OfflineHandle.Provider() || provider == core.WordsHandle.Provider() {
		return "letta"
	}
	return listedType(providerTypes, provider, provider+"_openai", protocol)
}

func endpointType(m core.ModelInfo) string { return listedType(endpointTypes, m.Provider, m.Protocol) }

func settingsType(m core.ModelInfo) string { return listedType(settingsTypes, m.Provider, m.Protocol) }
