package server

import (
	"cmp"
	"slices"

	"loci/core"
	"loci/core/structured"
	"loci/daemon/api"
)

// wireLLMConfig returns the deprecated copy of the model and its settings.
func wireLLMConfig(a core.Agent, m core.ModelInfo) api.LLMConfig {
	base, thoughts, handle := "base", false, string(a.Model)
	out := api.LLMConfig{
		Model:             m.Name,
		ModelEndpointType: endpointType(m),
		ModelEndpoint:     api.PtrTo(m.Endpoint),
		ProviderName:      api.PtrTo(m.Provider),
		ProviderCategory:  &base,
		ContextWindow:     core.ShownWindow(&a, core.WindowOf(&a, m)),
		Handle:            &handle,
		Temperature:       a.Settings.Temperature,
		MaxTokens:         api.PtrTo(a.Settings.MaxOutputTokens),
		ReasoningEffort: api.PtrTo(
			a.Settings.ReasoningEffort,
		),
		ParallelToolCalls:        a.Settings.ParallelTools,
		PutInnerThoughtsInKwargs: &thoughts,
	}
	out.EnableReasoner = &m.Reasoning
	return out
}

// wireSettings returns the settings object as the client sent it, or else the one that follows from the handle.
func wireSettings(s core.ModelSettings, m core.ModelInfo) *api.ModelSettings {
	out := api.ModelSettings{}
	if s.Wire != nil {
		remarshal(s.Wire, &out)
	}
	if out.ProviderType == "" {
		out.ProviderType = settingsType(m)
	}
	if s.MaxOutputTokens > 0 || out.MaxOutputTokens == nil {
		limit := s.MaxOutputTokens
		if limit == 0 {
			limit = m.MaxOutput
		}
		out.MaxOutputTokens = api.PtrTo(limit)
	}
	resolved, strict, warmth := s.Wire == nil, false, 1.0
	if out.Temperature = s.Temperature; out.Temperature == nil && resolved {
		out.Temperature = &warmth
	}
	if out.Strict == nil {
		out.Strict = &strict
	}
	switch {
	case s.ReasoningEffort != "":
		out.Reasoning = &api.Reasoning{ReasoningEffort: s.ReasoningEffort}
	case resolved && !m.Reasoning && !m.Offline:
		out.Reasoning = &api.Reasoning{ReasoningEffort: "minimal"}
	}
	parallel := true
	switch {
	case s.ParallelTools != nil:
		out.ParallelToolCalls = s.ParallelTools
	case out.ParallelToolCalls == nil:
		out.ParallelToolCalls = &parallel
	}
	if s.ResponseFormat != nil {
		out.ResponseFormat = &api.ResponseFormat{}
		remarshal(s.ResponseFormat, out.ResponseFormat)
	}
	return &out
}

// coreSettings converts a settings object; with nil everything is left to the provider.
func coreSettings(in *api.ModelSettings) core.ModelSettings {
	if in == nil {
		return core.ModelSettings{}
	}
	out := core.ModelSettings{
		Temperature: in.Temperature, MaxOutputTokens: api.Val(in.MaxOutputTokens), ParallelTools: in.ParallelToolCalls,
		ReasoningEffort: api.Val(in.Effort), Wire: asMap(in),
	}
	if in.Reasoning != nil && in.Reasoning.ReasoningEffort != "" {
		out.ReasoningEffort = in.Reasoning.ReasoningEffort
	}
	if out.Temperature == nil {
		out.Temperature = defaultTemperature(in.ProviderType)
	}
	if format := in.ResponseFormat; format != nil {
		out.ResponseFormat = asMap(format)
	} else if in.ResponseSchema != nil {
		out.ResponseFormat = asMap(in.ResponseSchema)
	}
	return out
}

// defaultTemperature is the default in the contract's settings object for a provider; nil if the contract has none.
func defaultTemperature(providerType string) *float64 {
	switch {
	case providerType == "anthropic":
		return api.PtrTo(1.0)
	case slices.Contains(api.SettingsTypes(), providerType):
		return api.PtrTo(0.7)
	default:
		return nil
	}
}

// configSettings returns the model settings in the deprecated configuration.
func configSettings(in api.LLMConfig) core.ModelSettings {
	out := core.ModelSettings{
		Temperature: in.Temperature, MaxOutputTokens: api.Val(in.MaxTokens), ParallelTools: in.ParallelToolCalls,
		ReasoningEffort: cmp.Or(api.Val(in.ReasoningEffort), api.Val(in.Effort)),
	}
	if in.ResponseFormat != nil {
		out.ResponseFormat = asMap(in.ResponseFormat)
	}
	return out
}

// checkConfig rejects of the deprecated configuration what has no effect here.
func checkConfig(in *api.LLMConfig) error {
	if in == nil {
		return nil
	}
	if err := checkStrict(in.Strict); err != nil {
		return err
	}
	if err := checkLogprobs(in.ReturnLogprobs, in.TopLogprobs, in.ReturnTokenIDs); err != nil {
		return err
	}
	return checkFormat("body.llm_config.response_format", in.ResponseFormat)
}

// checkSettings rejects of a settings object what has no effect here; at is where it stands.
func checkSettings(at string, in *api.ModelSettings) error {
	if in == nil {
		return nil
	}
	if err := checkStrict(in.Strict); err != nil {
		return err
	}
	if err := checkFormat(at+".response_format", in.ResponseFormat); err != nil {
		return err
	}
	return checkFormat(at+".response_schema", in.ResponseSchema)
}

// checkStrict rejects tools with strict schemas.
func checkStrict(strict *bool) error {
	if api.Val(strict) {
		return core.E(core.Unsupported, "strict schemas of tools are not built yet").WithHint("leave strict out, or set it to false")
	}
	return nil
}

// checkLogprobs rejects what nobody gets: the probabilities and ids of tokens.
func checkLogprobs(logprobs *bool, top *int, ids *bool) error {
	var name string
	switch {
	case api.Val(logprobs):
		name = "return_logprobs"
	case api.Val(ids):
		name = "return_token_ids"
	case api.Val(top) > 0:
		name = "top_logprobs"
	default:
		return nil
	}
	return core.E(core.Unsupported, "%s is not built yet", name).WithHint("leave it out")
}

// checkFormat rejects a response format without a type, or a schema's type without the schema. In the contract the type
// says which of three objects this is, so there is none without.
func checkFormat(at string, in *api.ResponseFormat) error {
	switch {
	case in == nil:
		return nil
	case in.Type == "":
		return unprocessable(at+".type", "a response format has a type: text, json_schema or json_object")
	case in.Type == "json_schema" && in.JSONSchema == nil:
		return unprocessable(at+".json_schema", "a response format of type json_schema has a json_schema")
	}
	if _, err := structured.Of(asMap(in)); err != nil {
		return unprocessable(at+".json_schema", "%s", err.Error())
	}
	return nil
}

// handleOf returns the model that a request names, by handle or in the deprecated configuration.
func handleOf(model *string, config *api.LLMConfig) core.Handle {
	switch {
	case model != nil:
		return core.Handle(*model)
	case config == nil:
		return ""
	case config.Handle != nil && *config.Handle != "":
		return core.Handle(*config.Handle)
	}
	provider := api.Val(config.ProviderName)
	if provider == "" {
		provider = config.ModelEndpointType
	}
	return core.Handle(provider + "/" + config.Model)
}
