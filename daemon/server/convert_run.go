package server

import (
	"maps"

	"loci/core"
	"loci/daemon/api"
)

// liveRun converts a run, with what it waits for if it has not ended.
func (s *Server) liveRun(r core.Run) api.Run {
	out := wireRun(r)
	if !r.Status.Final() {
		if waits := s.engine().Waits(r.ID); waits != "" {
			out.Metadata[api.WaitsFor] = waits
		}
	}
	return out
}

// wireRun converts a run. Its error is in its metadata, where clients look for it after losing the stream; its kind
// and hint stand next to the contract's keys.
func wireRun(r core.Run) api.Run {
	metadata := api.Object{"run_type": r.Config.Type}
	if r.Error != nil {
		metadata["error"] = map[string]any{
			"error_type": r.Error.Type,
			"message":    r.Error.Message,
			"detail":     r.Error.Detail,
			"kind":       string(r.Error.Kind),
			"hint":       r.Error.Hint,
		}
	}
	out := api.Run{
		ID: string(
			r.ID,
		),
		Status:      api.RunStatus(r.Status),
		CreatedAt:   api.At(r.CreatedAt),
		CompletedAt: api.AtPtr(r.CompletedAt),
		AgentID:     string(r.Agent),
		Background:  &r.Background,
		Metadata:    metadata,
		StopReason:  api.PtrTo(api.StopReason(r.StopReason)),
		TTFTNS:      api.PtrTo(int64(r.TTFT)),
		RequestConfig: &api.RequestConfig{
			UseAssistantMessage:       r.Config.Speak.Tool != "",
			AssistantMessageToolName:  r.Config.Speak.Tool,
			AssistantMessageToolKwarg: r.Config.Speak.Arg,
			IncludeReturnMessageTypes: showsOf(r.Config).types,
		},
	}
	if !r.Conversation.IsDefault() {
		out.ConversationID = api.PtrTo(string(r.Conversation))
	}
	if !r.CompletedAt.IsZero() {
		out.TotalDurationNS = api.PtrTo(int64(r.CompletedAt.Sub(r.CreatedAt)))
	}
	return out
}

// wireRunUsage converts a run's tokens; details that no provider reported are null.
func wireRunUsage(u core.Usage) api.RunUsage {
	out := api.RunUsage{CompletionTokens: u.Completion, PromptTokens: u.Prompt, TotalTokens: u.Total}
	if u.Cached != nil || u.CacheWrite != nil {
		out.PromptTokensDetails = &api.PromptTokenDetails{
			CachedTokens:        u.Cached,
			CacheReadTokens:     u.Cached,
			CacheCreationTokens: u.CacheWrite,
		}
	}
	if u.Reasoning != nil {
		out.CompletionTokensDetails = &api.CompletionTokenDetails{ReasoningTokens: u.Reasoning}
	}
	return out
}

// wireStep converts a step.
func wireStep(s core.Step) api.Step {
	_, model, _ := s.Model.Split()
	base, status := "base", string(s.Status)
	out := api.Step{
		ID:               string(s.ID),
		RunID:            api.PtrTo(string(s.Run)),
		AgentID:          api.PtrTo(string(s.Agent)),
		ProviderName:     api.PtrTo(s.Model.Provider()),
		ProviderCategory: &base,
		Model:            api.PtrTo(model),
		ModelHandle:      api.PtrTo(string(s.Model)),
		ModelEndpoint:    api.PtrTo(s.Endpoint),
		ContextWindowLimit: api.PtrTo(
			s.Window,
		),
		StopReason: api.PtrTo(api.StopReason(s.StopReason)),
		Feedback:   api.PtrTo(s.Feedback),
		Tags:       s.Tags,
		Status:     &status,
	}
	if u := s.Usage; u != nil {
		out.CompletionTokens, out.PromptTokens, out.TotalTokens = &u.Completion, &u.Prompt, &u.Total
		out.CachedInputTokens, out.CacheWriteTokens, out.ReasoningTokens = u.Cached, u.CacheWrite, u.Reasoning
		if u.Cached != nil {
			out.PromptTokensDetails = api.Object{"cached_tokens": *u.Cached}
		}
		if u.Reasoning != nil {
			out.CompletionTokensDetails = api.Object{"reasoning_tokens": *u.Reasoning}
		}
	}
	if e := s.Error; e != nil {
		out.ErrorType = &e.Type
		out.ErrorData = api.Object{"message": e.Message}
		if e.Trace != "" {
			maps.Copy(out.ErrorData, api.Object{"trace": e.Trace})
		}
	}
	return out
}

// wireStepMetrics converts the times of a step, in nanoseconds.
func wireStepMetrics(s core.Step) api.StepMetrics {
	out := api.StepMetrics{ID: string(s.ID), RunID: api.PtrTo(string(s.Run)), AgentID: api.PtrTo(string(s.Agent))}
	if s.StartedAt.IsZero() {
		return out
	}
	out.StepStartNS = api.PtrTo(s.CreatedAt.UnixNano())
	out.LLMRequestStartNS = api.PtrTo(s.StartedAt.UnixNano())
	if !s.LoggedAt.IsZero() {
		out.LLMRequestNS = api.PtrTo(int64(s.LoggedAt.Sub(s.StartedAt)))
	}
	if !s.FinishedAt.IsZero() {
		out.StepNS = api.PtrTo(int64(s.FinishedAt.Sub(s.CreatedAt)))
	}
	return out
}
