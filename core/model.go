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
	Base          string // the model that it is, where the provider's name for it is a person's own; empty: Name
	Provider      string // the catalogue row's name
	Protocol      string // its wire format, like openai
	Endpoint      string // base URL, without credentials
	ContextWindow int    // tokens
	MaxOutput     int    // tokens, 0: unknown
	Tools         bool   // can call tools
	ForcedTools   bool   // obeys a forced tool choice
	Reasoning     bool   // shows reasoning
	Images        ImageInput
	BindsPrefix   bool // native items are only valid after an unchanged prefix
	CacheTTL      time.Duration
	TextCalls     string   // the form in which it writes calls of tools into its text; TextCallsOff: it never does; empty: nothing is known
	Price         *Price   // nil: unknown
	Efforts       []string // the reasoning efforts that it is known to have, weakest first
	NoTemperature bool     // refuses a temperature
	Offline       bool     // no language model
	Hidden        string   // why it can't chat although it is listed; empty: it can
	Notice        string   // what to tell a person about it
	Own           any      // what its provider wants back in a request; opaque to everybody else
	Tokens        bool     // its server gives the ids and the probabilities of what it generates
}

// TextCallsOff is set for a model in whose text no calls are looked for.
const TextCallsOff = "off"

// defaultWindow is the context window, in tokens, to assume if nothing says how large it is.
const defaultWindow = 32_768

// WindowOf returns the context window in force for an agent: its own limit, else the model's.
func WindowOf(a *Agent, info ModelInfo) int {
	window := info.ContextWindow
	if window <= 0 {
		window = defaultWindow
	}
	if own := a.Settings.ContextWindow; own > 0 && (own < window || info.ContextWindow <= 0) {
		window = own
	}
	return window
}

// maxShownWindow is the largest context window that the contract shows unless a limit was asked for.
const maxShownWindow = 128_000

// ShownWindow returns the part of the window in force that clients are told about, which an agent's file limits follow too.
func ShownWindow(a *Agent, window int) int {
	if a.Settings.ContextWindow > 0 {
		return window
	}
	return min(window, maxShownWindow)
}

// MaxTemperature is the highest temperature that the contract has.
const MaxTemperature = 2

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

// Over lays a conversation's settings over its agent's: they replace them, but for a limit of the answer that they don't give.
func (s ModelSettings) Over(agent ModelSettings) ModelSettings {
	if s.MaxOutputTokens == 0 {
		s.MaxOutputTokens = agent.MaxOutputTokens
	}
	return s
}

// Validate refuses numbers that no model takes.
func (s ModelSettings) Validate() error {
	switch t := s.Temperature; {
	case t != nil && !(*t >= 0 && *t <= MaxTemperature):
		return E(Invalid, "a temperature is a number from 0 to %d", MaxTemperature)
	case s.MaxOutputTokens < 0 || s.ContextWindow < 0:
		return E(Invalid, "a context window and the limit of an answer cannot be negative")
	}
	return nil
}

// Env finds a provider variable (a key, a base URL) for the caller: the client's own first, then the daemon's.
type Env func(name string) (Secret, bool)
