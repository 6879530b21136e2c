package config

import (
	"slices"
	"strings"
)

// ProviderVars are the names of the variables that say how to reach a provider. A client passes those it has to the
// daemon, and a daemon that a command starts by itself inherits none of them.
func ProviderVars() []string {
	return []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID",
		"ANTHROPIC_API_KEY",
		"GEMINI_API_KEY", "GOOGLE_API_KEY",
		"OPENROUTER_API_KEY", "OPENROUTER_BASE_URL",
		"DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL",
		"GROQ_API_KEY", "GROQ_BASE_URL",
		"TOGETHER_API_KEY", "TOGETHER_BASE_URL",
		"XAI_API_KEY", "XAI_BASE_URL",
		"MISTRAL_API_KEY", "MISTRAL_BASE_URL",
		"CEREBRAS_API_KEY", "CEREBRAS_BASE_URL",
		"LMSTUDIO_BASE_URL", "LMSTUDIO_API_KEY",
		"VLLM_BASE_URL", "VLLM_API_KEY",
		"SGLANG_BASE_URL", "SGLANG_API_KEY",
		"LLAMACPP_BASE_URL", "LLAMACPP_API_KEY",
		"OLLAMA_HOST", "OLLAMA_API_KEY",
		"AZURE_OPENAI_API_KEY", "AZURE_API_KEY",
		"AWS_BEARER_TOKEN_BEDROCK",
	}
}

// ProviderEnv is what of an environment a client passes to the daemon. Empty variables say nothing and stay behind.
func ProviderEnv(lookup Env) map[string]string {
	out := map[string]string{}
	for _, name := range ProviderVars() {
		if v, ok := lookup(name); ok && v != "" {
			out[name] = v
		}
	}
	return out
}

// DaemonEnviron is the environment, as os.Environ has it, of a daemon that a command starts: without the variables
// of providers, which belong to the command's own session.
func DaemonEnviron(environ []string) []string {
	names := ProviderVars()
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
