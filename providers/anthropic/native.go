package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// native is what is kept of an assistant turn: its blocks, verbatim.
type native struct {
	Blocks []json.RawMessage `json:"blocks"`
}

// isThought reports whether blocks of a type are thinking.
func isThought(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// replayed returns the blocks of a turn as they came; none if they aren't kept, or don't hold the calls that the turn is
// known by: one that was left out or renamed would have no result.
func replayed(m core.ChatMessage) []block {
	var kept native
	if m.Native == nil || json.Unmarshal(m.Native.Data, &kept) != nil {
		return nil
	}
	var out []block
	var calls []string
	for _, raw := range kept.Blocks {
		var b block
		if !wire.Decode(raw, &b) {
			return nil
		}
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) == "": // comes, but is refused
			continue
		case b.Type == "tool_use":
			calls = append(calls, b.ID)
		}
		out = append(out, block{Type: b.Type, verbatim: raw})
	}
	if !slices.EqualFunc(calls, m.Calls, func(id string, c core.ToolCall) bool { return id == c.ID && legalID().MatchString(id) }) {
		return nil
	}
	return out
}

// mark is a point up to which the prompt is cached.
type mark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// mark places the four marks: behind the tools, behind the system text, where the previous request ended, and at the end. A
// server looks for what is cached only a few blocks before a mark, so that without the third one an answer of many calls
// would hide everything before it.
func (b *builder) mark(out *request) {
	m := &mark{Type: "ephemeral"}
	if b.quirks.Hour {
		m.TTL = "1h"
	}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].Cache = m
	}
	if n := len(out.System); n > 0 {
		out.System[n-1].Cache = m
	}
	end := len(out.Messages) - 1
	markLast(out.Messages[end], m)
	for end >= 0 && out.Messages[end].Role != "assistant" {
		end--
	}
	for end >= 0 && out.Messages[end].Role == "assistant" {
		end--
	}
	if end >= 0 {
		markLast(out.Messages[end], m)
	}
}

func markLast(msg message, m *mark) {
	if n := len(msg.Content); n > 0 && msg.Content[n-1].verbatim == nil {
		msg.Content[n-1].Cache = m
	}
}
