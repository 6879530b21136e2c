package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Claude is what a model of the Messages wire takes and does.
type Claude struct {
	Thinking   []string // the types of thinking that it takes; nil: any, and its listing says nothing
	Always     bool     // thinks unless it is turned off, and keeps its thoughts to itself
	Efforts    []string // nil: output_config.effort is refused, unless Thinking is nil
	MaxOutput  int
	NoSampling bool // temperature and the like are refused
	NoForce    bool // a forced tool is refused
	Binds      bool // its thinking is bound to everything before it
}

// ClaudeModels are models as the service has them, one of each generation.
func ClaudeModels() []Model {
	efforts := []string{"low", "medium", "high", "xhigh", "max"}
	return []Model{
		{Name: "claude-opus-5-5", Window: 1_000_000, Claude: &Claude{
			Thinking: []string{"adaptive"}, Always: true, Efforts: efforts, MaxOutput: 128_000,
			NoSampling: true, NoForce: true, Binds: true,
		}},
		{Name: "claude-sonnet-5-5", Window: 1_000_000, Claude: &Claude{
			Thinking: []string{"adaptive", "between_tools"}, Always: true, Efforts: efforts, MaxOutput: 128_000,
			NoSampling: true, Binds: true,
		}},
		{Name: "claude-opus-5", Window: 1_000_000, Claude: &Claude{
			Thinking: []string{"adaptive", "disabled"}, Always: true, Efforts: efforts, MaxOutput: 128_000, NoSampling: true,
		}},
		{Name: "claude-opus-4-8", Window: 200_000, Claude: &Claude{
			Thinking: []string{"adaptive", "disabled"}, Efforts: efforts, MaxOutput: 64_000, NoSampling: true,
		}},
		{Name: "claude-sonnet-4-6", Window: 200_000, Claude: &Claude{
			Thinking: []string{"adaptive", "disabled", "enabled"}, Efforts: []string{"low", "medium", "high", "max"}, MaxOutput: 64_000,
		}},
		{Name: "claude-haiku-4-5", Window: 200_000, Claude: &Claude{
			Thinking: []string{"disabled", "enabled"}, Efforts: []string{}, MaxOutput: 64_000,
		}},
	}
}

// claude returns what a listed model takes; of any other name, everything.
func (s *Server) claude(name string) Claude {
	for _, m := range s.Models {
		if m.Name == name && m.Claude != nil {
			return *m.Claude
		}
	}
	return Claude{}
}

// capabilities is how the listing says it.
func (c Claude) capabilities() any {
	if c.Thinking == nil {
		return nil
	}
	has := func(list []string, name string) object { return object{"supported": slices.Contains(list, name)} }
	types, efforts := object{}, object{"supported": len(c.Efforts) > 0}
	for _, t := range []string{"adaptive", "between_tools", "disabled", "enabled"} {
		types[t] = has(c.Thinking, t)
	}
	for _, e := range []string{"low", "medium", "high", "xhigh", "max"} {
		efforts[e] = has(c.Efforts, e)
	}
	yes := object{"supported": true}
	return object{
		"thinking": object{"supported": len(c.Thinking) > 0, "types": types}, "effort": efforts,
		"batch": yes, "citations": yes, "image_input": yes, "pdf_input": yes, "structured_outputs": yes, "code_execution": yes,
		"context_management": object{
			"supported": true, "clear_thinking_20251015": yes, "clear_tool_uses_20250919": yes, "compact_20260112": yes,
		},
		"server_tools": object{"supported": true, "code_execution": yes, "web_search": yes},
	}
}

// check refuses what the service refuses.
func (m *messagesWire) check() error {
	if m.header.Get("Anthropic-Version") == "" {
		return errors.New("anthropic-version: header is required")
	}
	for _, check := range []func() error{
		m.checkLimits, m.checkThinking, m.checkSampling, m.checkChoice, m.checkTools, m.checkResults, m.checkLoop,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := m.checkSignatures(); err != nil {
		return err
	}
	if err := m.useCache(); err != nil {
		return err
	}
	for _, model := range m.server.Models {
		if model.Name == m.in.Model && model.Window > 0 && m.cache.total > model.Window {
			return fmt.Errorf("prompt is too long: %d tokens > %d maximum", m.cache.total, model.Window)
		}
	}
	return nil
}

func (m *messagesWire) checkLimits() error {
	most := m.claude.MaxOutput
	switch {
	case m.in.MaxTokens == nil:
		return errors.New("max_tokens: Field required")
	case *m.in.MaxTokens < 1:
		return errors.New("max_tokens: Input should be greater than or equal to 1")
	case most > 0 && *m.in.MaxTokens > most:
		const words = "max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s"
		return fmt.Errorf(words, *m.in.MaxTokens, most, m.in.Model)
	case len(m.in.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case m.in.Messages[0].Role != "user":
		return errors.New("messages: first message must use the \"user\" role")
	}
	return nil
}

func (m *messagesWire) checkThinking() error {
	if o := m.in.Output; o != nil && o.Effort != "" && m.claude.Thinking != nil && !slices.Contains(m.claude.Efforts, o.Effort) {
		return fmt.Errorf("output_config.effort: this model does not support effort %q", o.Effort)
	}
	t := m.in.Thinking
	if t == nil {
		return nil
	}
	switch {
	case m.claude.Thinking != nil && !slices.Contains(m.claude.Thinking, t.Type):
		return fmt.Errorf("\"thinking.type.%s\" is not supported for this model. Use \"thinking.type.adaptive\" and "+
			"\"output_config.effort\" to control thinking behavior", t.Type)
	case t.Binding != nil && !strings.Contains(m.header.Get("Anthropic-Beta"), bindingBeta):
		return errors.New("thinking.adaptive.block_binding: Extra inputs are not permitted")
	case t.Binding != nil && t.Type != "adaptive" && t.Type != "enabled":
		return fmt.Errorf("thinking.%s.block_binding: Extra inputs are not permitted", t.Type)
	case t.Type != "enabled":
		return nil
	case t.Budget == nil || *t.Budget < 1024:
		return errors.New("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case *t.Budget >= *m.in.MaxTokens:
		return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	return nil
}

func (m *messagesWire) checkSampling() error {
	t := m.in.Temperature
	for name, set := range map[string]bool{"temperature": t != nil, "top_p": m.in.TopP != nil, "top_k": m.in.TopK != nil} {
		if set && m.claude.NoSampling {
			return fmt.Errorf("`%s` is deprecated for this model", name)
		}
	}
	switch {
	case t != nil && (*t < 0 || *t > 1):
		return errors.New("temperature: range: 0..1")
	case t != nil && *t != 1 && m.in.Thinking != nil && m.in.Thinking.Type != "disabled":
		return errors.New("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode")
	}
	return nil
}

func (m *messagesWire) checkChoice() error {
	c := m.in.Choice
	if c == nil || c.Type != "any" && c.Type != "tool" {
		return nil
	}
	switch {
	case len(m.in.Tools) == 0:
		return errors.New("tool_choice: tool_choice may only be specified while providing tools")
	case m.claude.NoForce:
		return fmt.Errorf("tool_choice: forced tool use (%q) is not supported for this model", c.Type)
	case m.in.Thinking != nil && m.in.Thinking.Type == "enabled":
		return errors.New("Thinking may not be enabled when tool_choice forces tool use") //nolint:staticcheck // the service's own words
	}
	return nil
}

var (
	legalID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

func (m *messagesWire) checkTools() error {
	for i, t := range m.in.Tools {
		name, _ := t["name"].(string)
		schema, _ := t["input_schema"].(map[string]any)
		switch {
		case !legalName.MatchString(name):
			return fmt.Errorf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case schema == nil || schema["type"] != "object":
			return fmt.Errorf("tools.%d.custom.input_schema.type: Field required", i)
		}
	}
	return nil
}

const noResult = "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s"

// checkResults refuses calls without their results in the next message, and results without their calls or behind text.
func (m *messagesWire) checkResults() error {
	var open []string
	turns := m.turns()
	for i, turn := range turns {
		var results []string
		text := false
		for j, b := range turn.blocks {
			id, _ := b["tool_use_id"].(string)
			switch b["type"] {
			case "tool_result":
				if text || turn.Role != "user" {
					return fmt.Errorf("messages.%d.content.%d: tool_result blocks must come first in a user message", i, j)
				}
				if !slices.Contains(open, id) {
					return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, j, id)
				}
				results = append(results, id)
			case "text":
				text = true
			}
		}
		for _, id := range open {
			if !slices.Contains(results, id) {
				return fmt.Errorf(noResult, i-1, id)
			}
		}
		open = nil
		for j, b := range turn.blocks {
			if b["type"] != "tool_use" {
				continue
			}
			id, _ := b["id"].(string)
			if _, ok := b["input"].(map[string]any); !ok || !legalID.MatchString(id) || slices.Contains(open, id) {
				return fmt.Errorf("messages.%d.content.%d.tool_use: `id` must match '^[a-zA-Z0-9_-]+$', `input` must be a dictionary", i, j)
			}
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf(noResult, len(turns)-1, open[0])
	}
	return nil
}

// turns joins messages of the same role that follow each other.
func (m *messagesWire) turns() []messagesInput {
	var out []messagesInput
	for _, msg := range m.in.Messages {
		if n := len(out); n > 0 && out[n-1].Role == msg.Role {
			out[n-1].blocks = slices.Concat(out[n-1].blocks, msg.blocks)
			continue
		}
		out = append(out, msg)
	}
	return out
}

// checkLoop refuses a tool loop that does not begin with thinking while thinking has a budget.
func (m *messagesWire) checkLoop() error {
	turns := m.turns()
	n := len(turns)
	if m.in.Thinking == nil || m.in.Thinking.Type != "enabled" || n < 2 || len(turns[n-1].blocks) == 0 {
		return nil
	}
	if turns[n-1].blocks[0]["type"] != "tool_result" || len(turns[n-2].blocks) == 0 {
		return nil
	}
	if kind, _ := turns[n-2].blocks[0]["type"].(string); !strings.HasSuffix(kind, "thinking") {
		return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` "+
			"is enabled, a final `assistant` message must start with a thinking block", n-2, kind)
	}
	return nil
}

// blocksOf reads content that is text or a list of blocks.
func blocksOf(raw json.RawMessage) ([]map[string]any, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []map[string]any{{"type": "text", "text": text}}, nil
	}
	var blocks []map[string]any
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}
