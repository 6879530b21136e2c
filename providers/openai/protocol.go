package openai

import (
	"loci/providers/protocol"
)

// Name implements protocol.Protocol.
func (q Quirks) Name() string { return "openai" }

// Address implements protocol.AddressParser: these servers have their operations under /v1 unless the address says
// otherwise.
func (q Quirks) Address(variable, text string) (string, error) {
	return protocol.Address(variable, text, "/v1", "/chat/completions", "/responses", "/models")
}

// Open implements protocol.Protocol.
func (q Quirks) Open(o protocol.Options) (protocol.Server, error) { return New(o, q), nil }

// settable are the settings and their values, and what each does.
func settable() map[string]map[string]func(q *Quirks) {
	return map[string]map[string]func(q *Quirks){
		"wire":           {"chat": func(q *Quirks) { q.Wire = Chat }, "responses": func(q *Quirks) { q.Wire = Responses }},
		"stream":         {"on": func(q *Quirks) { q.Whole = false }, "off": func(q *Quirks) { q.Whole = true }},
		"stream_options": {"on": func(q *Quirks) { q.NoStreamOptions = false }, "off": func(q *Quirks) { q.NoStreamOptions = true }},
		"parallel_tools": {"on": func(q *Quirks) { q.Parallel = ParallelOn }, "off": func(q *Quirks) { q.Parallel = ParallelNever }},
		"max_tokens_field": {
			"max_tokens":            func(q *Quirks) { q.CompletionLimit = false },
			"max_completion_tokens": func(q *Quirks) { q.CompletionLimit = true },
		},
		"token_ids":   {"on": func(q *Quirks) { q.TokenIDs = true }, "off": func(q *Quirks) { q.TokenIDs = false }},
		"system_role": {"system": func(q *Quirks) { q.SystemRole = "" }, "developer": func(q *Quirks) { q.SystemRole = "developer" }},
		"force_tools": {
			"named": func(q *Quirks) { q.Force = ForceNamed }, "required": func(q *Quirks) { q.Force = ForceRequired },
			"any": func(q *Quirks) { q.Force = ForceAny }, "never": func(q *Quirks) { q.Force = ForceNot },
		},
		"reasoning_history": {
			"none": func(q *Quirks) { q.History = "" }, "calls": func(q *Quirks) { q.History = HistoryCalls },
			"always": func(q *Quirks) { q.History = HistoryAlways }, "details": func(q *Quirks) { q.History = HistoryDetails },
		},
	}
}

// Set implements protocol.Configurer.
func (q Quirks) Set(settings map[string]string) (protocol.Protocol, error) {
	if err := protocol.Apply(&q, settings, settable()); err != nil {
		return nil, err
	}
	return q, nil
}
