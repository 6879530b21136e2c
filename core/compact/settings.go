package compact

import (
	"encoding/json"
	"maps"
	"net/url"
	"unicode/utf8"

	"loci/core"
)

// The settings keys that this package looks at individually.
const (
	keyMode   = "mode"
	keyModel  = "model"
	keyPrompt = "prompt"
)

// maxPrompt limits a summariser's instruction, in characters.
const maxPrompt = 100_000

// Check refuses settings that make no sense. It doesn't check what isn't given.
func Check(given map[string]any) error {
	var s struct {
		Mode       *Mode          `json:"mode"`
		Model      *core.Handle   `json:"model"`
		Prompt     *string        `json:"prompt"`
		ClipChars  *int           `json:"clip_chars"`
		Percentage *float64       `json:"sliding_window_percentage"`
		Wishes     *modelSettings `json:"model_settings"`
		Limit      *int           `json:"message_buffer_limit"`
		Min        *int           `json:"message_buffer_min"`
		Partial    *float64       `json:"partial_evict_summarizer_percentage"`
	}
	raw, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	switch {
	case err != nil:
		return core.E(core.Invalid, "compaction settings: %w", err)
	case s.Mode != nil && !s.Mode.Valid():
		return core.E(core.Invalid, "%q is not a mode of compaction", string(*s.Mode)).WithHint("the modes are %s", modeNames())
	case s.ClipChars != nil && *s.ClipChars < 1:
		return core.E(core.Invalid, "clip_chars must be at least 1")
	case wrongShare(s.Percentage):
		return core.E(core.Invalid, "sliding_window_percentage must be above 0 and at most 1")
	case wrongShare(s.Partial):
		return core.E(core.Invalid, "partial_evict_summarizer_percentage must be above 0 and at most 1")
	case s.Limit != nil && *s.Limit < 2, s.Min != nil && *s.Min < 1:
		return core.E(core.Invalid, "message_buffer_limit must be at least 2 and message_buffer_min at least 1")
	case s.Limit != nil && s.Min != nil && *s.Min >= *s.Limit:
		return core.E(core.Invalid, "message_buffer_min must be below message_buffer_limit")
	case s.Prompt != nil && utf8.RuneCountInString(*s.Prompt) > maxPrompt:
		return core.E(core.Invalid, "a prompt of compaction has at most %d characters", maxPrompt)
	case s.Model != nil && *s.Model != "":
		return s.Model.Validate()
	}
	return nil
}

func wrongShare(share *float64) bool { return share != nil && (*share <= 0 || *share > 1) }

// Lay merges given settings into existing ones. A changed mode brings its own prompt, unless one is given with it.
func Lay(stand, given map[string]any) map[string]any {
	out := maps.Clone(stand)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, given)
	if modeOf(out) != modeOf(stand) && given[keyPrompt] == nil {
		delete(out, keyPrompt)
	}
	return out
}

func modeOf(set map[string]any) Mode {
	if m, _ := set[keyMode].(string); m != "" {
		return Mode(m)
	}
	return SlidingWindow
}

// Of returns the settings stored with an agent, as they were given.
func Of(extra map[string]any) map[string]any {
	set, _ := extra[ExtraKey].(map[string]any)
	return set
}

// Settle fills in the contract's light model for the agent's provider if the settings name none. A model filled in this
// way earlier changes along with the agent's model.
func Settle(set map[string]any, own core.ModelInfo) map[string]any {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]any{}
	}
	for _, l := range lights() {
		if out[keyModel] == string(l.model) {
			delete(out, keyModel)
		}
	}
	if named, _ := out[keyModel].(string); named != "" {
		return out
	}
	delete(out, keyModel)
	at, err := url.Parse(own.Endpoint)
	if err != nil {
		return out
	}
	for _, l := range lights() {
		// Only if the vendor itself answers: another server with the same wire format need not have the model.
		if l.model.Provider() == own.Handle.Provider() && l.host == at.Hostname() {
			out[keyModel] = string(l.model)
		}
	}
	return out
}

type light struct {
	model core.Handle
	host  string
}

func lights() []light {
	return []light{
		{"openai/gpt-5-mini", "api.openai.com"},
		{"anthropic/claude-haiku-4-5", "api.anthropic.com"},
		{"google_ai/gemini-2.5-flash", "generativelanguage.googleapis.com"},
	}
}
