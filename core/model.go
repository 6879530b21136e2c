package core

import (
	"strings"
	"time"
)

// Handle is a model's name: provider/model. The model part may itself contain slashes.
type Handle string

// OfflineHandle is the built-in model: deterministic, no language model, no network.
const OfflineHandle Handle = "offline/loci"

// Split returns the provider and the provider's own name of the model.
func (h Handle) Split() (provider, model string, ok bool) {
	provider, model, ok = strings.Cut(string(h), "/")
	return provider, model, ok && provider != "" && model != ""
}

// Provider returns the part before the first slash.
func (h Handle) Provider() string { p, _, _ := strings.Cut(string(h), "/"); return p }

// Validate checks the form provider/model.
func (h Handle) Validate() error {
	if _, _, ok := h.Split(); !ok {
		return E(
			Invalid,
			"model handle %q is not of the form provider/model",
			string(h),
		).WithHint("see `loci models` for the handles that work here")
	}
	return nil
}

// ModelInfo is what is known about a model.
type ModelInfo struct {
	Handle        Handle
	Name          string // the provider's own name
	Provider      string // the catalogue row's name
	Protocol      string // its wire format, like openai
	Endpoint      string // base URL, without credentials
	ContextWindow int    // tokens
	MaxOutput     int    // tokens, 0: unknown
	Tools         bool   // can call tools
	ForcedTools   bool   // obeys a forced tool choice
	Reasoning     bool   // shows reasoning
	BindsPrefix   bool   // native items are only valid after an unchanged prefix
	CacheTTL      time.Duration
	Offline       bool   // no language model
	Hidden        string // why it can't chat although it is listed; empty: it can
	Notice        string // what to tell a person about it
	Own           any    // what its provider wants back in a request; opaque to everybody else
}

// ModelSettings are an agent's settings for its model; a nil or zero value leaves the provider's default.
type ModelSettings struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	ReasoningEffort string   `json:"reasoning_effort,omitempty"` // none, minimal, low, medium, high, xhigh
	ParallelTools   *bool    `json:"parallel_tool_calls,omitempty"`
	ContextWindow   int      `json:"context_window,omitempty"` // the person's own limit, in tokens
	ResponseFormat  any      `json:"response_format,omitempty"`
	// Wire keeps the settings object as an API client sent it, so that it can be shown again.
	Wire map[string]any `json:"wire,omitempty"`
}

// Env finds a provider variable (a key, a base URL) for the caller: the client's own first, then the daemon's.
type Env func(name string) (Secret, bool)
