package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

func TestProvidersAreShownByTheWordsOfTheContract(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][4]string{ // provider, endpoint, embedding, settings
		"openai": {"openai", "openai", "openai", "openai"}, "groq": {"groq", "groq", "groq", "groq"},
		"openrouter": {"openrouter", "openrouter", "openai", "openrouter"},
		"lmstudio":   {"lmstudio_openai", "lmstudio", "lmstudio", "openai"},
		"llamacpp":   {"openai", "llamacpp", "llamacpp", "openai"}, "sglang": {"sglang", "openai", "openai", "sglang"},
		"cerebras": {"cerebras", "openai", "openai", "openai"}, "vllm": {"vllm", "vllm", "vllm", "openai"},
		"offline": {"letta", "openai", "openai", "openai"}, "builtin": {"letta", "openai", "openai", "openai"},
	} {
		m := core.ModelInfo{Provider: provider, Protocol: "openai"}
		embeds := listedType(api.EmbeddingTypes(), provider, "openai")
		got := [4]string{providerType(provider, "openai"), endpointType(m), embeds, settingsType(m)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", provider, diff)
		}
	}
	if got := providerType("ollama", "ollama"); got != "ollama" {
		t.Errorf("ollama: %s", got)
	}
}

func TestSettingsOfAConversationHaveTheTypeOfItsAgentsSettings(t *testing.T) {
	t.Parallel()
	settings := core.ModelSettings{Wire: map[string]any{"temperature": .5}}
	for _, m := range []core.ModelInfo{
		{Provider: "sglang", Protocol: "openai"}, {Provider: "openrouter", Protocol: "openai"}, {Provider: "offline", Protocol: "offline"},
	} {
		conv := wireConversation(core.Conversation{Settings: &settings}, nil, m)
		if got, want := conv.ModelSettings.ProviderType, wireSettings(settings, m).ProviderType; got != want {
			t.Errorf("%s: a conversation says %q, its agent %q", m.Provider, got, want)
		}
	}
}
