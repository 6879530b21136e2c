// Package compact decides when and how a summary replaces a conversation's older messages: it reads the settings,
// chooses what leaves, prepares what the summariser reads and limits what it returns.
//
// Promises: pure; nothing here calls a model. A turn is never split inside a step, so a call and its return stay
// together.
//
// Layer 1: it imports core only.
package compact

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// Mode is how a conversation is compacted.
type Mode string

// The modes. The self modes ask the agent's own model, after its own prompt and history, so that its cache is used.
const (
	SlidingWindow     Mode = "sliding_window" // the older part is summarised
	All               Mode = "all"            // everything is
	SelfAll           Mode = "self_compact_all"
	SelfSlidingWindow Mode = "self_compact_sliding_window"
	Evict             Mode = "evict" // no summary: a marker says what left

	// The older form: the summary is written into a memory block of the agent, see buffer.go.
	StaticBuffer Mode = "static_message_buffer"        // at so many messages, all but the last few leave
	PartialEvict Mode = "partial_evict_message_buffer" // a share of the messages leaves when the window is full
)

func modes() []Mode {
	return []Mode{SlidingWindow, All, SelfAll, SelfSlidingWindow, Evict, StaticBuffer, PartialEvict}
}

func modeNames() string {
	var names []string
	for _, m := range modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// Valid reports whether the mode is known.
func (m Mode) Valid() bool { return slices.Contains(modes(), m) }

// Self reports whether the agent's own model summarises, after its own history.
func (m Mode) Self() bool { return m == SelfAll || m == SelfSlidingWindow }

// Whole reports whether everything is summarised.
func (m Mode) Whole() bool { return m == All || m == SelfAll }

// Settings say how an agent's conversations are compacted, with the contract's names and defaults.
type Settings struct {
	Mode        Mode          `json:"mode"`
	Model       core.Handle   `json:"model"`                     // of the summariser; empty: the agent's own
	Wishes      modelSettings `json:"model_settings"`            // for the summariser, in the contract's form
	Prompt      string        `json:"prompt"`                    // empty: the mode's default
	Acknowledge bool          `json:"prompt_acknowledgement"`    // the request includes the summariser's promise to do only that
	ClipChars   core.Opt[int] `json:"clip_chars"`                // a longer summary is cut; null: only if it must be
	Percentage  float64       `json:"sliding_window_percentage"` // smallest share that leaves
	BufferLimit int           `json:"message_buffer_limit"`      // of static_message_buffer: so many messages are kept …
	BufferMin   int           `json:"message_buffer_min"`        // … and so many stay once there are more
	Partial     float64       `json:"partial_evict_summarizer_percentage"`
}

// The defaults of settings.
const (
	DefaultClip       = 50_000
	DefaultPercentage = 0.30
)

// ExtraKey is the key in Agent.Extra that holds the settings.
const ExtraKey = "compaction_settings"

// Read returns an agent's settings, with defaults for whatever is missing or makes no sense.
func Read(extra map[string]any) Settings {
	s := Settings{}
	if raw, err := json.Marshal(extra[ExtraKey]); err == nil {
		// Whatever doesn't fit keeps its default, so settings of another version never stop an agent.
		_ = json.Unmarshal(raw, &s)
	}
	if !s.Mode.Valid() {
		s.Mode = SlidingWindow
	}
	if clip := s.ClipChars; !clip.Present || !clip.Null && clip.Value <= 0 {
		s.ClipChars = core.Some(DefaultClip)
	}
	if s.Percentage <= 0 || s.Percentage > 1 {
		s.Percentage = DefaultPercentage
	}
	s.buffers()
	return s
}

var (
	//go:embed templates/summarise.md
	summarisePrompt string
	//go:embed templates/self.md
	selfPrompt string
	//go:embed templates/buffer.md
	bufferPrompt string
)

// Instruction returns what to tell the summariser.
func (s Settings) Instruction() string {
	switch {
	case s.Prompt != "":
		return s.Prompt
	case s.Mode.Self():
		return strings.TrimSpace(selfPrompt)
	case s.Mode.Buffer():
		return strings.TrimSpace(bufferPrompt)
	default:
		return strings.TrimSpace(summarisePrompt)
	}
}

// Size is the size of a group of messages that leaves together.
type Size struct{ Tokens, Messages int }

// Leaving returns how many of the groups leave, oldest first: all but the last keep, or what the settings say and then
// more until the rest is within goal tokens.
func (s Settings) Leaving(groups []Size, goal, keep int) int {
	most := max(len(groups)-keep, 0)
	if s.Mode.Whole() {
		return most
	}
	var all, gone Size
	for _, g := range groups {
		all.Tokens, all.Messages = all.Tokens+g.Tokens, all.Messages+g.Messages
	}
	for i, g := range groups[:most] {
		if s.enough(all, gone, g) && all.Tokens-gone.Tokens <= goal {
			return i
		}
		gone.Tokens, gone.Messages = gone.Tokens+g.Tokens, gone.Messages+g.Messages
	}
	return most
}

// enough reports whether having removed gone of all satisfies the settings, so that next may stay.
func (s Settings) enough(all, gone, next Size) bool {
	switch s.Mode {
	case StaticBuffer:
		return all.Messages-gone.Messages-next.Messages < s.BufferMin
	case PartialEvict:
		return gone.Messages >= int(float64(all.Messages)*s.Partial)
	case SlidingWindow, All, SelfAll, SelfSlidingWindow, Evict:
	}
	return gone.Tokens >= int(float64(all.Tokens)*s.Percentage)
}

const (
	clipReturn = 2000 // characters of a tool's return that the summariser reads
	clipText   = 8000 // characters of one message
)

// Transcript words the messages for a summariser: the newest that fit into budget tokens, or what fits of the very
// newest one. earlier is the previous summary, which takes at most half of the budget.
func (s Settings) Transcript(earlier string, msgs []core.Message, budget int) string {
	earlier = within(earlier, budget/2)
	const lineBreak = 2 // tokens
	var lines []string
	left := budget - core.EstimateTokens(earlier)
	for i := len(msgs) - 1; i >= 0; i-- {
		line := line(&msgs[i])
		if line == "" {
			continue
		}
		if len(lines) == 0 {
			line = within(line, left-lineBreak)
		}
		if left -= core.EstimateTokens(line) + lineBreak; left < 0 && len(lines) > 0 {
			lines = append(lines, fmt.Sprintf("[%d earlier messages are left out here]", i+1))
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	text := strings.Join(lines, "\n")
	switch {
	case earlier == "":
		return text
	case s.Mode.Buffer():
		return text + "\n\n" + PreviousHeading + "\n" + earlier
	default:
		return "What was summarised before:\n" + earlier + "\n\nWhat came after it:\n" + text
	}
}

// imageLeft tells a summariser of an image.
const imageLeft = "it leaves with this message; what matters of it is in what was said about it"

// mostNamed bounds how many images that left a summary names.
const mostNamed = 10

// ImagesLeft is the line that stands for the images that left the window; empty where none did.
func ImagesLeft(leaving []core.InContext) string {
	var names []string
	n := 0
	for i := range leaving {
		for _, img := range leaving[i].Message.Images() {
			if n++; n <= mostNamed {
				names = append(names, img.String())
			}
		}
	}
	if n == 0 {
		return ""
	}
	if n > mostNamed {
		names = append(names, fmt.Sprintf("%d more", n-mostNamed))
	}
	return "\n\n[No longer shown: " + strings.Join(names, "; ") + "]"
}

func line(m *core.Message) string {
	if m.Hidden != core.NotHidden {
		return ""
	}
	var b strings.Builder
	for _, c := range m.Content {
		switch c.Type {
		case core.ContentText:
			b.WriteString(clip(c.Text, clipText))
		case core.ContentCall:
			if c.Call.Dropped {
				continue
			}
			fmt.Fprintf(&b, " [calls %s %s]", c.Call.Name, clip(c.Call.Arguments, clipReturn))
		case core.ContentImage:
			b.WriteString(" " + c.Image.StandIn(imageLeft))
		case core.ContentReasoning:
		}
	}
	for _, r := range core.Listed(m.Returns) {
		fmt.Fprintf(&b, " [%s returned: %s]", r.Name, clip(r.Text, clipReturn))
		for _, img := range r.Images {
			b.WriteString(" " + img.StandIn(imageLeft))
		}
	}
	text := strings.TrimSpace(b.String())
	if text == "" {
		return ""
	}
	who := map[core.Role]string{core.RoleUser: "User", core.RoleAssistant: "You", core.RoleTool: "Tool", core.RoleSystem: "System"}[m.Role]
	if who == "" {
		who = string(m.Role)
	}
	return m.CreatedAt.UTC().Format("2006-01-02 15:04 ") + who + ": " + text
}

// within cuts a text to roughly so many tokens.
func within(text string, tokens int) string {
	n := core.EstimateTokens(text)
	if n <= tokens {
		return text
	}
	return clip(text, utf8.RuneCountInString(text)*max(tokens, 0)/n)
}

func clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + " …"
}

// Bound cuts a summary to limit characters and says so.
func Bound(summary string, limit int) string {
	if utf8.RuneCountInString(summary) <= limit {
		return summary
	}
	return string([]rune(summary)[:limit]) + "\n[the summary was cut here]"
}

// A summary is too short if it has fewer than leastSummary tokens and less than one in leastShare of what it replaces. Good
// ones have one in five to one in thirty; one in two hundred says that something was talked about, not what. Where fewer
// than sparseTalk tokens leave, a sentence may be all there is to say.
const (
	leastSummary = 60
	leastShare   = 200
	sparseTalk   = 4000
)

// TooShort reports whether a summary can't possibly hold what matters of so many tokens. One that fills clip_chars is as long
// as the settings want it.
func (s Settings) TooShort(summary string, replaced int) bool {
	n := core.EstimateTokens(summary)
	if utf8.RuneCountInString(summary) >= s.ClipChars.Or(DefaultClip) {
		return false
	}
	return replaced >= sparseTalk && n < leastSummary && n*leastShare < replaced
}

// Again returns the turns that ask for a summary once more; by is the role in which it was asked for.
func Again(summary string, by core.ChatRole) []core.ChatMessage {
	return []core.ChatMessage{{Role: core.ChatAssistant, Text: summary}, {
		Role: by,
		Text: "That is far too short: it takes the place of all those messages, and what it leaves out is no longer before anybody. " +
			"Write the summary anew, with the facts, names, dates, decisions and open ends.",
	}}
}

// Most is how many characters a summary may have if there is room for room.
func (s Settings) Most(room int) int { return min(s.ClipChars.Or(room), room) }

// Record is the stored text of a summary: what the model reads instead of the messages that left.
func Record(summary string, gone int) string {
	return fmt.Sprintf("The %d messages before this point were replaced by a summary"+findable+"\n<summary>\n%s\n</summary>", gone, summary)
}

// Where the messages that a summary stands for can be found.
const (
	findable = "; conversation_search still finds them."
	moved    = "; they stayed with the agent that this one was made from."
)

// Moved adapts a summary's record for a copy of an agent, which has none of the messages it stands for.
func Moved(record string) string { return strings.Replace(record, findable, moved, 1) }

// Summary returns the summary in a record, and how many messages it stands for.
func Summary(record string) (summary string, gone int) {
	if _, err := fmt.Sscanf(record, "The %d messages", &gone); err != nil {
		return record, 0
	}
	_, rest, ok := strings.Cut(record, "<summary>\n")
	if !ok {
		return record, gone
	}
	return strings.TrimSuffix(rest, "\n</summary>"), gone
}
