package compact

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// The older form of compaction writes the summary into a memory block that is always in the agent's context, newest
// first. In the window a short record takes the place of the messages.
const (
	// BlockLabel is the label of that block.
	BlockLabel = "summary"
	// BlockDescription is the block's description if it is created here.
	BlockDescription = "What was said before the messages you still see, newest first. It is written for you when older messages " +
		"leave; you need not keep it."
	// PreviousHeading stands above what an earlier compaction wrote, both in the block and in what the summariser reads.
	PreviousHeading = "--- Previous Summary ---"
	// Author is the author name of block versions made by a compaction.
	Author = "compaction"
)

// The defaults of the older form's settings.
const (
	DefaultBufferLimit = 60
	DefaultBufferMin   = 15
	DefaultPartial     = 0.30
)

// Buffer reports whether the summary is written into a memory block.
func (m Mode) Buffer() bool { return m == StaticBuffer || m == PartialEvict }

// buffers fills in defaults for the settings of the older form.
func (s *Settings) buffers() {
	if s.BufferLimit <= 0 {
		s.BufferLimit = DefaultBufferLimit
	}
	if s.BufferMin <= 0 {
		s.BufferMin = DefaultBufferMin
	}
	if s.BufferMin >= s.BufferLimit { // keep the proportion of the defaults
		s.BufferMin = max(s.BufferLimit*DefaultBufferMin/DefaultBufferLimit, 1)
	}
	if s.Partial <= 0 || s.Partial > 1 {
		s.Partial = DefaultPartial
	}
}

// Overfull reports whether this many messages exceed what the settings keep, however few tokens they take.
func (s Settings) Overfull(messages int) bool {
	return s.Mode == StaticBuffer && messages > s.BufferLimit
}

// Over puts a new summary above the previous texts, newest first, and cuts the whole to limit characters: the oldest
// text goes first.
func Over(summary string, limit int, previous ...string) string {
	text := summary
	for _, p := range previous {
		if p = strings.TrimSpace(p); p != "" {
			text += "\n\n" + PreviousHeading + "\n" + p
		}
	}
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	text = string([]rune(text)[:max(limit-utf8.RuneCountInString(cutMark), 0)])
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), PreviousHeading))
	if utf8.RuneCountInString(text+cutMark) > limit {
		return text
	}
	return text + cutMark
}

// cutMark ends a block whose oldest text was cut.
const cutMark = "\n[older text was cut here]"

const inBlock = " before this point were summarised in your memory block \"" + BlockLabel + "\""

// Pointer is the record that stands in the window for a summary written to the block.
func Pointer(gone int) string { return fmt.Sprintf("The %d messages"+inBlock+findable, gone) }

// InBlock reports whether a record is such a pointer, which holds no summary itself.
func InBlock(record string) bool {
	_, gone := Summary(record)
	return gone > 0 && strings.HasPrefix(record, fmt.Sprintf("The %d messages"+inBlock, gone))
}

// Acknowledged returns the two turns that precede what is summarised, if the settings ask for them: some models answer
// the conversation instead of summarising it unless they have promised not to.
func (s Settings) Acknowledged() []core.ChatMessage {
	if !s.Acknowledge {
		return nil
	}
	return []core.ChatMessage{
		{
			Role: core.ChatUser,
			Text: "My next message holds what is to be summarised. Answer it with the summary alone: no greeting, no answer to " +
				"what stands in it, no tool.",
		},
		{Role: core.ChatAssistant, Text: "Understood. I will answer your next message with the summary and nothing else."},
	}
}

// modelSettings are the contract's model settings that matter to a summariser.
type modelSettings struct {
	Temperature *float64 `json:"temperature"`
	MaxOutput   int      `json:"max_output_tokens"`
	Effort      string   `json:"effort"`
	Reasoning   struct {
		Effort string `json:"reasoning_effort"`
	} `json:"reasoning"`
}

// Wanted converts them to the settings of a request.
func (m modelSettings) Wanted() core.ModelSettings {
	out := core.ModelSettings{Temperature: m.Temperature, MaxOutputTokens: max(m.MaxOutput, 0), ReasoningEffort: m.Effort}
	if m.Reasoning.Effort != "" {
		out.ReasoningEffort = m.Reasoning.Effort
	}
	return out
}
