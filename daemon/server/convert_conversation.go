package server

import (
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/service"
	"loci/daemon/api"
)

// wireConversation converts a conversation and the contents of its window. model belongs to the conversation's own
// settings.
func wireConversation(c core.Conversation, window []core.MessageID, model core.ModelInfo) api.Conversation {
	out := api.Conversation{
		ID:                  string(c.ID),
		AgentID:             string(c.Agent),
		CreatedAt:           api.AtPtr(c.CreatedAt),
		UpdatedAt:           api.AtPtr(c.UpdatedAt),
		Summary:             api.PtrTo(c.Summary),
		InContextMessageIDs: strs(window),
		Model:               api.PtrTo(string(c.Model)),
		LastMessageAt:       api.AtPtr(c.LastMessageAt),
	}
	if c.ID.IsDefault() {
		out.ID = api.DefaultConversation
	}
	if c.Settings != nil {
		out.ModelSettings = &api.ModelSettings{}
		remarshal(c.Settings.Wire, out.ModelSettings)
		if out.ModelSettings.ProviderType == "" {
			out.ModelSettings.ProviderType = settingsType(model)
		}
	}
	return out
}

func coreNewConversation(agent core.AgentID, in *api.CreateConversation) (service.NewConversation, error) {
	out := service.NewConversation{Agent: agent}
	if in == nil {
		return out, nil
	}
	if len(in.IsolatedBlockLabels) > 0 {
		return out, core.E(core.Unsupported, "blocks of one conversation alone are not built yet")
	}
	out.Summary, out.Model = api.Val(in.Summary), core.Handle(api.Val(in.Model))
	if err := checkSettings("body.model_settings", in.ModelSettings); err != nil {
		return out, err
	}
	if in.ModelSettings != nil {
		settings := coreSettings(in.ModelSettings)
		out.Settings = &settings
	}
	return out, nil
}

func coreConversationPatch(in api.UpdateConversation) service.ConversationPatch {
	return service.ConversationPatch{
		Summary: opt(in.Summary), Model: optAs(in.Model, func(s string) core.Handle { return core.Handle(s) }),
		Settings:      optAs(in.ModelSettings, func(s api.ModelSettings) core.ModelSettings { return coreSettings(&s) }),
		LastMessageAt: optAs(in.LastMessageAt, func(t api.Time) time.Time { return t.Time }),
	}
}

// wireOverview converts the usage of a context window.
func wireOverview(o engine.Overview) api.ContextWindow {
	out := api.ContextWindow{
		ContextWindowSizeMax:           o.Window,
		ContextWindowSizeCurrent:       o.Current,
		NumArchivalMemory:              o.PassageCount,
		NumRecallMemory:                o.MessageCount,
		NumTokensSystem:                o.System,
		SystemPrompt:                   o.SystemText,
		NumTokensCoreMemory:            o.Memory,
		CoreMemory:                     o.MemoryText,
		NumTokensExternalMemorySummary: o.Facts,
		ExternalMemorySummary:          o.Stored,
		NumTokensToolUsageRules:        o.Rules,
		ToolUsageRules:                 api.PtrTo(o.RulesText),
		NumTokensDirectories:           o.Directories,
		Directories:                    api.PtrTo(o.DirectoriesText),
		NumTokensFunctionsDefinitions:  o.Tools,
		NumTokensMessages:              o.Messages,
		NumTokensSummaryMemory:         o.Summary,
		SummaryMemory:                  api.PtrTo(o.SummaryText),
		FunctionsDefinitions:           []api.FunctionTool{},
	}
	for _, spec := range o.ToolSpecs {
		out.FunctionsDefinitions = append(out.FunctionsDefinitions, api.FunctionTool{
			Type:     "function",
			Function: api.FunctionDefinition{Name: spec.Name, Description: api.PtrTo(spec.Description), Parameters: wireParameters(spec)},
		})
	}
	for _, m := range o.Context {
		if m.Message.Hidden == core.NotHidden {
			out.Messages = append(out.Messages, wireStored(m))
		}
	}
	out.NumMessages = len(out.Messages)
	return out
}
