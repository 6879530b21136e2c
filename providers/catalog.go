package providers

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/azure"
	"loci/providers/gemini"
	"loci/providers/internal/adc"
	"loci/providers/ollama"
	"loci/providers/openai"
	"loci/providers/protocol"
)

// Row is a vendor: a protocol and the vendor's particulars.
type Row struct {
	Name       string   // the provider part of its handles
	Aliases    []string // other names that people know it by
	Title      string   // display name
	Protocol   protocol.Protocol
	Elsewhere  protocol.Protocol        // protocol at addresses that aren't the vendor's; nil: the same
	BaseURL    string                   // the address unless BaseURLVar overrides it; {VARIABLE} is replaced by that variable's value
	BaseURLVar string                   // "" if the address can't be changed
	Keys       []Key                    // ways to authenticate; the first that is fully set is used
	Sign       Sign                     // how requests are authenticated; nil: the key's first variable as a bearer token
	Vars       []string                 // variables that the protocol reads besides those of the key and the address
	NoKey      bool                     // works without a key
	Local      bool                     // the user's own server; asked only when configured
	Probe      bool                     // with Local: tried on loopback even if nobody configured it
	Offline    bool                     // the built-in model: no protocol, no server
	Headers    map[string]string        // header → variable; sent when the variable is set
	AppTitle   string                   // the name the program gives to it, as X-Title
	Prefer     []string                 // models to prefer when none was chosen: names or prefixes of names
	NoSizes    bool                     // its listing has no windows, so it isn't asked about models in the catalogue
	CacheTTL   time.Duration            // how long its prompt cache stays warm; 0: five minutes
	Parallel   int                      // concurrent requests per key; 0: a default
	Idle       time.Duration            // how long it may be silent in the middle of an answer; 0: five minutes
	Named      bool                     // a server of the user's own, under a name of their choice
	Settle     func(base string) string // what becomes of the address once its variables are filled in; nil: nothing
	Domains    []string                 // further domains of the vendor's, where its address has a part of the user's
	NotFirst   bool                     // its key is set for other purposes too, so that it isn't chosen where nobody chose

	configuredURL string                   // from the configuration, unless the variable says otherwise
	configured    bool                     // the configuration sets options of its protocol
	key           *storedKey               // a key that a person stored for it; nil: none
	stored        bool                     // a stored provider made the row
	commanded     bool                     // a command of the user's prints its tokens
	models        map[string]modelSettings // what the configuration says of models, of all by ""
}

// Key is one way to authenticate: the variables that must be set, and optional ones.
type Key struct{ Needs, Takes []string }

// Sign makes the signer for requests to one server. The transport is for what a signature needs from elsewhere, like a
// token; it doesn't sign.
type Sign func(values protocol.Values, transport http.RoundTripper) (protocol.Signer, error)

// keys returns keys of one variable each.
func keys(names ...string) []Key {
	out := make([]Key, len(names))
	for i, name := range names {
		out[i] = Key{Needs: []string{name}}
	}
	return out
}

// Built reports whether the row's models can be used.
func (r Row) Built() bool { return r.Offline || r.Protocol != nil }

// KeyVars returns the variables of its keys, in order.
func (r Row) KeyVars() []string {
	var names []string
	for _, k := range r.Keys {
		names = append(append(names, k.Needs...), k.Takes...)
	}
	return names
}

// Variables returns every variable that the row reads. A row that isn't built declares just what is needed to report it.
func (r Row) Variables() []string {
	names := r.KeyVars()
	if r.BaseURLVar != "" {
		names = append(names, r.BaseURLVar)
	}
	names = append(append(names, r.Vars...), placeholders(r.BaseURL)...)
	for _, name := range r.Headers {
		names = append(names, name)
	}
	return names
}

// thinkingLong is how long models that don't show their reasoning may be silent.
const thinkingLong = 15 * time.Minute

// defaultCacheTTL is how long a prompt cache is assumed to stay warm if the row doesn't say.
const defaultCacheTTL = 5 * time.Minute

// Rows returns the catalogue, in the order in which a default model is looked for.
func Rows() []Row { return append(append(cloud(), local()...), unbuilt()...) }

func cloud() []Row {
	return []Row{
		{
			Name:       "openai",
			Title:      "OpenAI",
			BaseURL:    "https://api.openai.com/v1",
			BaseURLVar: "OPENAI_BASE_URL",
			Keys:       keys("OPENAI_API_KEY"),
			Headers:    map[string]string{"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
			Prefer: []string{
				"gpt-6.1-terra",
				"gpt-5.6-terra",
				"gpt-5.6",
				"gpt-5.5",
				"gpt-5.4",
				"gpt-5.2",
				"gpt-5.1",
				"gpt-5-mini",
				"gpt-5",
				"gpt-4.1",
				"gpt-4o",
				"gpt-4o-mini",
			},
			NoSizes: true,
			Idle:    thinkingLong,
			Protocol: openai.Quirks{
				Wire:            openai.ByFamily,
				OwnHost:         true,
				CompletionLimit: true,
				Effort:          openai.EffortFlat,
				CacheKey:        true,
			},
			Elsewhere: generic,
		},
		{
			Name: "anthropic", Title: "Anthropic", BaseURL: "https://api.anthropic.com/v1", BaseURLVar: "ANTHROPIC_BASE_URL",
			Keys: keys("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), Sign: signAnthropic,
			Prefer: []string{
				"claude-sonnet-5-5", "claude-opus-5-5", "claude-sonnet-5", "claude-opus-5", "claude-haiku-5-5",
				"claude-sonnet", "claude-opus",
			},
			Idle: thinkingLong, Protocol: anthropic.Quirks{},
		},
		{
			Name: "google_ai", Aliases: []string{"gemini", "google"}, Title: "Google Gemini",
			BaseURL: "https://generativelanguage.googleapis.com/v1beta", BaseURLVar: "GOOGLE_GEMINI_BASE_URL",
			Keys: keys("GEMINI_API_KEY", "GOOGLE_API_KEY"), Sign: signGemini,
			Prefer: []string{
				"gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash", "gemini-3.5-flash", "gemini-3-flash", "gemini-3.1-pro",
				"gemini-2.5-flash", "gemini-2.5-pro", "gemini-flash-latest",
			},
			Idle: thinkingLong, Protocol: gemini.Quirks{},
		},
		{
			Name: "google_vertex", Aliases: []string{"vertex", "vertex_ai"}, Title: "Google Vertex AI",
			BaseURL: "https://{" + gemini.LocationVar + "}-aiplatform.googleapis.com/v1", BaseURLVar: "GOOGLE_VERTEX_BASE_URL",
			Settle: globally, NotFirst: true,
			Keys: []Key{{Needs: []string{credentialsVar, gemini.ProjectVar, gemini.LocationVar}}}, Sign: signVertex,
			Idle: thinkingLong, Protocol: gemini.Quirks{Vertex: true},
		},
		{
			Name: "azure", Title: "Azure OpenAI", BaseURL: "https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
			BaseURLVar: "AZURE_OPENAI_ENDPOINT", Keys: keys("AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
			Domains: []string{"openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com", "openai.azure.us"},
			Vars:    []string{azure.VersionVar, azure.DeploymentVar}, Sign: signAzure, Idle: thinkingLong,
			Protocol: azure.Quirks{Quirks: openai.Quirks{
				Wire: openai.ByFamily, CompletionLimit: true, Effort: openai.EffortFlat, CacheKey: true,
			}},
		},
		{
			Name: "openrouter", Title: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", BaseURLVar: "OPENROUTER_BASE_URL",
			Keys: keys("OPENROUTER_API_KEY"), AppTitle: "Loci",
			Prefer:   []string{"anthropic/claude-sonnet", "openai/gpt-5", "google/gemini", "deepseek/deepseek-chat"},
			Protocol: openai.Quirks{Force: openai.ForceRequired, Effort: openai.EffortObject, History: openai.HistoryDetails},
		},
		{
			Name: "deepseek", Title: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", BaseURLVar: "DEEPSEEK_BASE_URL",
			Keys: keys("DEEPSEEK_API_KEY"), Prefer: []string{"deepseek-chat"}, NoSizes: true, CacheTTL: time.Hour,
			Protocol: openai.Quirks{Parallel: openai.ParallelNever, Effort: openai.EffortDeepSeek, History: openai.HistoryAlways},
		},
		{
			Name: "groq", Title: "Groq", BaseURL: "https://api.groq.com/openai/v1", BaseURLVar: "GROQ_BASE_URL",
			Keys: keys("GROQ_API_KEY"), Prefer: []string{"openai/gpt-oss-120b", "llama-3.3-70b-versatile", "openai/gpt-oss-20b"},
			Protocol: openai.Quirks{CompletionLimit: true, Force: openai.ForceRequired, Effort: openai.EffortLevels},
		},
		{
			Name: "together", Title: "Together", BaseURL: "https://api.together.xyz/v1", BaseURLVar: "TOGETHER_BASE_URL",
			Keys: keys("TOGETHER_API_KEY"), Prefer: []string{"openai/gpt-oss-120b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
			Protocol: openai.Quirks{Force: openai.ForceNot, Parallel: openai.ParallelNever},
		},
		{
			Name:       "xai",
			Title:      "xAI",
			BaseURL:    "https://api.x.ai/v1",
			BaseURLVar: "XAI_BASE_URL",
			Keys: keys(
				"XAI_API_KEY",
			),
			Prefer:   []string{"grok-4.1-fast", "grok-4-fast-reasoning", "grok-4-fast", "grok-4", "grok-3"},
			Idle:     thinkingLong,
			Protocol: openai.Quirks{Wire: openai.Responses, NoSummary: true, CacheKey: true},
		},
		{
			Name: "mistral", Title: "Mistral", BaseURL: "https://api.mistral.ai/v1", BaseURLVar: "MISTRAL_BASE_URL",
			Keys: keys("MISTRAL_API_KEY"), Prefer: []string{"mistral-medium-latest", "mistral-large-latest", "mistral-small-latest"},
			Protocol: openai.Quirks{Force: openai.ForceAny, NoStreamOptions: true, ShortIDs: true, NoUserAfterTool: true},
		},
		{
			Name: "cerebras", Title: "Cerebras", BaseURL: "https://api.cerebras.ai/v1", BaseURLVar: "CEREBRAS_BASE_URL",
			Keys: keys("CEREBRAS_API_KEY"), Prefer: []string{"gpt-oss-120b", "qwen-3-235b-a22b-instruct-2507", "llama-3.3-70b"},
			Protocol: openai.Quirks{CompletionLimit: true, Force: openai.ForceRequired, Effort: openai.EffortLevels},
		},
		{
			Name: "fireworks", Title: "Fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", BaseURLVar: "FIREWORKS_BASE_URL",
			Keys: keys("FIREWORKS_API_KEY"), Prefer: []string{"accounts/fireworks/models/kimi-k", "accounts/fireworks/models/glm-"},
			Protocol: openai.Quirks{Force: openai.ForceRequired, Effort: openai.EffortLevels, History: openai.HistoryCalls},
		},
		{
			Name: "zai", Aliases: []string{"z-ai"}, Title: "Z.ai", BaseURL: "https://api.z.ai/api/paas/v4", BaseURLVar: "ZAI_BASE_URL",
			Keys: keys("ZAI_API_KEY"), Prefer: []string{"glm-5", "glm-4.7", "glm-4.6"}, NoSizes: true,
			Protocol: openai.Quirks{Force: openai.ForceNot, Parallel: openai.ParallelNever, History: openai.HistoryCalls},
		},
		{
			// Over OpenAI's wire its models mix their reasoning into the text.
			Name: "minimax", Title: "MiniMax", BaseURL: "https://api.minimax.io/anthropic/v1", BaseURLVar: "MINIMAX_BASE_URL",
			Keys: keys("MINIMAX_API_KEY"), Sign: signMiniMax, Prefer: []string{"MiniMax-M3", "MiniMax-M2"},
			Idle: thinkingLong, Protocol: anthropic.Quirks{},
		},
		{
			Name: "moonshot", Aliases: []string{"kimi"}, Title: "Moonshot", BaseURL: "https://api.moonshot.ai/v1",
			BaseURLVar: "MOONSHOT_BASE_URL", Keys: keys("MOONSHOT_API_KEY"), Prefer: []string{"kimi-k3", "kimi-k2"},
			Protocol: openai.Quirks{
				CompletionLimit: true, Force: openai.ForceNot, Parallel: openai.ParallelNever, History: openai.HistoryAlways,
			},
		},
		{
			Name: "huggingface", Aliases: []string{"hugging-face", "hf"}, Title: "Hugging Face",
			BaseURL: "https://router.huggingface.co/v1", BaseURLVar: "HUGGINGFACE_BASE_URL", Keys: keys("HF_TOKEN"), NotFirst: true,
			Protocol: openai.Quirks{Force: openai.ForceRequired, Parallel: openai.ParallelNever, History: openai.HistoryCalls},
		},
	}
}

func local() []Row {
	return []Row{
		{
			Name: "ollama", Title: "Ollama", Protocol: ollama.Protocol{}, BaseURL: "http://127.0.0.1:11434", BaseURLVar: "OLLAMA_HOST",
			Keys: keys("OLLAMA_API_KEY"), NoKey: true, Local: true, Probe: true, Parallel: 16,
		},
		{
			Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", BaseURLVar: "LMSTUDIO_BASE_URL",
			Keys: keys("LMSTUDIO_API_KEY"), NoKey: true, Local: true,
			Protocol: openai.Quirks{
				Force: openai.ForceRequired, Parallel: openai.ParallelNever, Running: openai.RunningLMStudio, FormBars: true,
			},
		},
		{
			Name: "vllm", Title: "vLLM", BaseURL: "http://127.0.0.1:8000/v1", BaseURLVar: "VLLM_BASE_URL",
			Keys: keys("VLLM_API_KEY"), NoKey: true, Local: true,
			Protocol: openai.Quirks{Effort: openai.EffortTemplate, History: openai.HistoryCalls, TokenIDs: true, FormBars: true},
		},
		{
			Name: "sglang", Title: "SGLang", BaseURL: "http://127.0.0.1:30000/v1", BaseURLVar: "SGLANG_BASE_URL",
			Keys: keys("SGLANG_API_KEY"), NoKey: true, Local: true,
			Protocol: openai.Quirks{Effort: openai.EffortTemplate, History: openai.HistoryCalls, TokenIDs: true, FormBars: true},
		},
		{
			Name:       "llamacpp",
			Title:      "llama.cpp",
			BaseURL:    "http://127.0.0.1:8080/v1",
			BaseURLVar: "LLAMACPP_BASE_URL",
			Keys:       keys("LLAMACPP_API_KEY"),
			NoKey:      true,
			Local:      true,
			Protocol: openai.Quirks{
				Force:    openai.ForceRequired,
				Parallel: openai.ParallelOn,
				Effort:   openai.EffortTemplate,
				History:  openai.HistoryCalls,
				Running:  openai.RunningProps,
				FormBars: true,
			},
		},
		{Name: "offline", Title: "built in, no language model", Offline: true, NoKey: true},
	}
}

// unbuilt rows exist so that a key for one is reported instead of ignored.
func unbuilt() []Row {
	return []Row{
		{Name: "bedrock", Aliases: []string{"aws"}, Title: "Amazon Bedrock", Keys: keys("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID")},
	}
}

// signAnthropic signs with a key, or with the token of a gateway.
func signAnthropic(values protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
	return anthropic.Sign(values["ANTHROPIC_API_KEY"], values["ANTHROPIC_AUTH_TOKEN"]), nil
}

// signAzure signs with a key in Azure's own header, or with a token of Entra.
func signAzure(values protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
	return azure.Key(cmp.Or(values["AZURE_OPENAI_API_KEY"], values["AZURE_API_KEY"]), values["AZURE_OPENAI_AD_TOKEN"]), nil
}

func signMiniMax(values protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
	return anthropic.Sign(values["MINIMAX_API_KEY"], ""), nil
}

// signGemini signs with whichever key is set.
func signGemini(values protocol.Values, _ http.RoundTripper) (protocol.Signer, error) {
	return gemini.Key(cmp.Or(values["GEMINI_API_KEY"], values["GOOGLE_API_KEY"])), nil
}

// credentialsVar names a file with credentials for Google Cloud.
const credentialsVar = "GOOGLE_APPLICATION_CREDENTIALS" //nolint:gosec // the name of a variable

// signVertex signs with a token for the credentials in a file; at another address it works without.
func signVertex(values protocol.Values, transport http.RoundTripper) (protocol.Signer, error) {
	file := values[credentialsVar]
	if file == "" {
		return protocol.Bearer(""), nil
	}
	return adc.New("google_vertex", credentialsVar, file.Reveal(), transport)
}

// globally corrects the host of the location that is everywhere.
func globally(base string) string { return strings.Replace(base, "://global-", "://", 1) }

// generic is assumed of a server that OPENAI_BASE_URL names and no row knows: the plain form of the wire, without
// anything that servers are known to refuse.
var generic = openai.Quirks{History: openai.HistoryCalls, FormBars: true}

// find returns the row with this name or alias.
func (p *Providers) find(name string) (Row, bool) { return find(p.known(), name) }

func find(rows []Row, name string) (Row, bool) {
	for _, row := range rows {
		if row.Name == name || slices.Contains(row.Aliases, name) {
			return row, true
		}
	}
	return Row{}, false
}

// Known returns an error if no row is the provider of a model.
func Known(rows []Row, model core.Handle) error {
	name, _, _ := model.Split()
	if _, ok := find(rows, name); !ok {
		return unknown(rows, name)
	}
	return nil
}

func unknown(rows []Row, name string) *core.Error {
	return core.E(core.NotFound, "there is no provider %q", name).
		WithHint("the providers are %s; docs/providers.md says how to name one of your own", strings.Join(builtNames(rows), ", "))
}

// value returns the first of the variables that isn't empty.
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
