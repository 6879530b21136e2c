package providers

import (
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/providers/openai"
)

// Protocol is how bytes look.
type Protocol string

// The protocols. Rows with one of the last group are named, so that their keys are never ignored, but not built.
const (
	OpenAI  Protocol = "openai"
	Ollama  Protocol = "ollama"
	Offline Protocol = "offline"

	Anthropic Protocol = "anthropic"
	Gemini    Protocol = "gemini"
	Bedrock   Protocol = "bedrock"
	Azure     Protocol = "azure"
)

// Row is a vendor: a protocol and what is particular about whom it is spoken with.
type Row struct {
	Name        string // the provider part of its handles
	Title       string // its name for people
	Protocol    Protocol
	Built       bool
	BaseURL     string            // where it is unless its variable says otherwise
	BaseURLVar  string            // "" if it cannot be moved
	KeyVars     []string          // the first that is set counts
	NoKey       bool              // works without a key
	Local       bool              // a server of the person's own; asked only when configured, except for Ollama on loopback
	Headers     map[string]string // header → variable, sent when the variable is set
	AppTitle    string            // how the program names itself to it, as X-Title
	Prefer      []string          // models to choose first when nobody chose: names, or how names begin
	BindsPrefix bool              // its models' own reasoning is valid only behind an unchanged prefix
	NoSizes     bool              // its listing has no windows, so it is not asked for a model that the catalogue knows
	CacheTTL    time.Duration     // how long its prompt cache stays warm; 0: five minutes
	Parallel    int               // requests at once with one key; 0: a default
	Idle        time.Duration     // how long it may be silent in the middle of an answer; 0: five minutes
	Quirks      openai.Quirks     // with protocol openai
}

// thinkingLong is how long models may be silent that reason without showing it.
const thinkingLong = 15 * time.Minute

// defaultCacheTTL is how long a prompt cache is taken to stay warm where the row knows no better.
const defaultCacheTTL = 5 * time.Minute

// Rows returns the catalogue, in the order in which an unset model is looked for.
func Rows() []Row { return append(append(cloud(), local()...), unbuilt()...) }

func cloud() []Row {
	return []Row{
		{
			Name: "openai", Title: "OpenAI", Protocol: OpenAI, Built: true, BaseURL: "https://api.openai.com/v1", BaseURLVar: "OPENAI_BASE_URL",
			KeyVars: []string{"OPENAI_API_KEY"},
			Headers: map[string]string{"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}, //nolint:misspell // the header's own spelling
			Prefer:  []string{"gpt-6.1-terra", "gpt-5.6-terra", "gpt-5.6", "gpt-5.5", "gpt-5.4", "gpt-5.2", "gpt-5.1", "gpt-5-mini", "gpt-5", "gpt-4.1", "gpt-4o", "gpt-4o-mini"}, NoSizes: true, Idle: thinkingLong,
			Quirks: openai.Quirks{Wire: openai.ByFamily, OwnHost: true, CompletionLimit: true, Effort: openai.EffortFlat, CacheKey: true},
		},
		{
			Name: "openrouter", Title: "OpenRouter", Protocol: OpenAI, Built: true, BaseURL: "https://openrouter.ai/api/v1", BaseURLVar: "OPENROUTER_BASE_URL",
			KeyVars: []string{"OPENROUTER_API_KEY"}, AppTitle: "Loci",
			Prefer: []string{"anthropic/claude-sonnet", "openai/gpt-5", "google/gemini", "deepseek/deepseek-chat"}, BindsPrefix: true,
			Quirks: openai.Quirks{Force: openai.ForceRequired, Effort: openai.EffortObject, History: openai.HistoryDetails},
		},
		{
			Name: "deepseek", Title: "DeepSeek", Protocol: OpenAI, Built: true, BaseURL: "https://api.deepseek.com/v1", BaseURLVar: "DEEPSEEK_BASE_URL",
			KeyVars: []string{"DEEPSEEK_API_KEY"}, Prefer: []string{"deepseek-chat"}, NoSizes: true, CacheTTL: time.Hour,
			Quirks: openai.Quirks{Parallel: openai.ParallelNever, Effort: openai.EffortDeepSeek, History: openai.HistoryAlways},
		},
		{
			Name: "groq", Title: "Groq", Protocol: OpenAI, Built: true, BaseURL: "https://api.groq.com/openai/v1", BaseURLVar: "GROQ_BASE_URL",
			KeyVars: []string{"GROQ_API_KEY"}, Prefer: []string{"openai/gpt-oss-120b", "llama-3.3-70b-versatile", "openai/gpt-oss-20b"},
			Quirks: openai.Quirks{CompletionLimit: true, Force: openai.ForceRequired, Effort: openai.EffortLevels},
		},
		{
			Name: "together", Title: "Together", Protocol: OpenAI, Built: true, BaseURL: "https://api.together.xyz/v1", BaseURLVar: "TOGETHER_BASE_URL",
			KeyVars: []string{"TOGETHER_API_KEY"}, Prefer: []string{"openai/gpt-oss-120b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
			Quirks: openai.Quirks{Force: openai.ForceNot, Parallel: openai.ParallelNever},
		},
		{
			Name: "xai", Title: "xAI", Protocol: OpenAI, Built: true, BaseURL: "https://api.x.ai/v1", BaseURLVar: "XAI_BASE_URL",
			KeyVars: []string{"XAI_API_KEY"}, Prefer: []string{"grok-4.1-fast", "grok-4-fast-reasoning", "grok-4-fast", "grok-4", "grok-3"}, Idle: thinkingLong,
			Quirks: openai.Quirks{Wire: openai.Responses, NoSummary: true, CacheKey: true},
		},
		{
			Name: "mistral", Title: "Mistral", Protocol: OpenAI, Built: true, BaseURL: "https://api.mistral.ai/v1", BaseURLVar: "MISTRAL_BASE_URL",
			KeyVars: []string{"MISTRAL_API_KEY"}, Prefer: []string{"mistral-medium-latest", "mistral-large-latest", "mistral-small-latest"},
			Quirks: openai.Quirks{Force: openai.ForceAny, NoStreamOptions: true, ShortIDs: true, NoUserAfterTool: true},
		},
		{
			Name: "cerebras", Title: "Cerebras", Protocol: OpenAI, Built: true, BaseURL: "https://api.cerebras.ai/v1", BaseURLVar: "CEREBRAS_BASE_URL",
			KeyVars: []string{"CEREBRAS_API_KEY"}, Prefer: []string{"gpt-oss-120b", "qwen-3-235b-a22b-instruct-2507", "llama-3.3-70b"},
			Quirks: openai.Quirks{CompletionLimit: true, Force: openai.ForceRequired, Effort: openai.EffortLevels},
		},
	}
}

func local() []Row {
	return []Row{
		{
			Name: "ollama", Title: "Ollama", Protocol: Ollama, Built: true, BaseURL: "http://127.0.0.1:11434", BaseURLVar: "OLLAMA_HOST",
			KeyVars: []string{"OLLAMA_API_KEY"}, NoKey: true, Local: true, Parallel: 16,
		},
		{
			Name: "lmstudio", Title: "LM Studio", Protocol: OpenAI, Built: true, BaseURL: "http://127.0.0.1:1234/v1", BaseURLVar: "LMSTUDIO_BASE_URL",
			KeyVars: []string{"LMSTUDIO_API_KEY"}, NoKey: true, Local: true,
			Quirks: openai.Quirks{Force: openai.ForceRequired, Parallel: openai.ParallelNever, Running: openai.RunningLMStudio},
		},
		{
			Name: "vllm", Title: "vLLM", Protocol: OpenAI, Built: true, BaseURL: "http://127.0.0.1:8000/v1", BaseURLVar: "VLLM_BASE_URL",
			KeyVars: []string{"VLLM_API_KEY"}, NoKey: true, Local: true,
			Quirks: openai.Quirks{Effort: openai.EffortTemplate, History: openai.HistoryCalls},
		},
		{
			Name: "sglang", Title: "SGLang", Protocol: OpenAI, Built: true, BaseURL: "http://127.0.0.1:30000/v1", BaseURLVar: "SGLANG_BASE_URL",
			KeyVars: []string{"SGLANG_API_KEY"}, NoKey: true, Local: true,
			Quirks: openai.Quirks{Effort: openai.EffortTemplate, History: openai.HistoryCalls},
		},
		{
			Name: "llamacpp", Title: "llama.cpp", Protocol: OpenAI, Built: true, BaseURL: "http://127.0.0.1:8080/v1", BaseURLVar: "LLAMACPP_BASE_URL",
			KeyVars: []string{"LLAMACPP_API_KEY"}, NoKey: true, Local: true,
			Quirks: openai.Quirks{Force: openai.ForceRequired, Parallel: openai.ParallelOn, Effort: openai.EffortTemplate, History: openai.HistoryCalls, Running: openai.RunningProps},
		},
		{Name: "offline", Title: "built in, no language model", Protocol: Offline, Built: true, NoKey: true},
	}
}

// unbuilt rows are here so that a key for them is named rather than ignored.
func unbuilt() []Row {
	return []Row{
		{Name: "anthropic", Title: "Anthropic", Protocol: Anthropic, KeyVars: []string{"ANTHROPIC_API_KEY"}},
		{Name: "google_ai", Title: "Google Gemini", Protocol: Gemini, KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{Name: "azure", Title: "Azure OpenAI", Protocol: Azure, KeyVars: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}},
		{Name: "bedrock", Title: "Amazon Bedrock", Protocol: Bedrock, KeyVars: []string{"AWS_BEARER_TOKEN_BEDROCK"}},
	}
}

// generic is what is taken to be true of a server that OPENAI_BASE_URL names and no row knows: the plain form of the
// wire, nothing that servers are known to refuse.
var generic = openai.Quirks{History: openai.HistoryCalls}

// Variables returns the names of every variable that some row reads, sorted.
func Variables() []string {
	var names []string
	for _, row := range Rows() {
		names = append(names, row.KeyVars...)
		if row.BaseURLVar != "" {
			names = append(names, row.BaseURLVar)
		}
		for _, name := range row.Headers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find returns the row with a name.
func find(name string) (Row, bool) {
	for _, row := range Rows() {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}

// value returns the first of the variables that is set to something.
func value(env core.Env, names ...string) (core.Secret, string) {
	if env == nil {
		return "", ""
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if v, ok := env(name); ok && strings.TrimSpace(v.Reveal()) != "" {
			return core.Secret(strings.TrimSpace(v.Reveal())), name
		}
	}
	return "", ""
}
