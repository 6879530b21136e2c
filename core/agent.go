package core

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// AgentType selects a policy: how an agent's loop continues and ends.
type AgentType string

// The agent types.
const (
	AgentLettaV1  AgentType = "letta_v1_agent"  // the loop goes on while there are tool calls; plain text ends the turn
	AgentMemGPTV2 AgentType = "memgpt_v2_agent" // every response must be a tool call; heartbeats; send_message
)

// The limits of an agent's texts, in characters.
const (
	MaxAgentName   = 200
	MaxSystemChars = 200_000
)

// How many tokens automatic recall may add to a turn.
const (
	DefaultRecall = 800
	MinRecall     = 100
	MaxRecall     = 8000
)

// Agent is a persistent persona: model, system prompt, blocks, tools, rules.
type Agent struct {
	ID          AgentID
	Name        string
	Type        AgentType
	Description string
	System      string // the text before compilation
	Model       Handle
	Fallback    Handle // the model that answers where its own refuses or can't be reached; empty: none
	ModelAuto   bool   // the model was not named: the first run that reaches a real one adopts it, and says so
	Settings    ModelSettings
	Embedding   Handle // empty: the built-in one
	Tools       []ToolID
	ToolRules   []ToolRule
	Tags        []string
	Metadata    map[string]any
	Timezone    string // IANA name, "UTC" by default
	Hidden      bool
	Autoclear   bool           // message_buffer_autoclear
	Recall      int            // up to how many tokens of memories are recalled into a turn automatically; 0: none
	Terminal    bool           // it is the terminal's: its tools may return more than those of the contract do
	Extra       map[string]any // settings of the contract that are kept and shown, and that nothing reads yet

	LastStopReason StopReason
	LastRunAt      time.Time // completion of the last run; zero: none
	LastRunMillis  int64
	MessageCount   int // messages of all its conversations, hidden ones not counted
	PassageCount   int // passages of its default archive
	Rev            int // rises with every change of settings, rules or attachments
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// nameRune reports whether a character may appear in an agent's name.
func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune(" _'-", r)
}

// Validate checks what the API and the program may store.
func (a *Agent) Validate() error {
	switch {
	case a.Name == "" || utf8.RuneCountInString(a.Name) > MaxAgentName:
		return E(Invalid, "an agent's name has 1 to %d characters", MaxAgentName)
	case strings.ContainsFunc(a.Name, func(r rune) bool { return !nameRune(r) }):
		return E(Invalid, "agent name %q: only letters, digits, spaces, _, - and ' are allowed", a.Name)
	case utf8.RuneCountInString(a.System) > MaxSystemChars:
		return E(Invalid, "the system prompt has more than %d characters", MaxSystemChars)
	case a.Recall != 0 && (a.Recall < MinRecall || a.Recall > MaxRecall):
		return E(Invalid, "recall takes %d to %d tokens a turn, or 0 for none", MinRecall, MaxRecall)
	}
	if _, ok := PolicyOf(a.Type); !ok {
		return E(Unsupported, "agent type %q is not built yet", string(a.Type)).WithHint("use %s or %s", AgentLettaV1, AgentMemGPTV2)
	}
	if err := CheckTimezone(a.Timezone); err != nil {
		return err
	}
	for _, r := range a.ToolRules {
		if !r.Type.Valid() {
			return E(Invalid, "tool rule type %q is not known", string(r.Type))
		}
	}
	return a.Model.Validate()
}

// CheckTimezone refuses a time zone that isn't known, or is another one on every machine.
func CheckTimezone(zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return E(Invalid, "timezone %q is not known", zone).WithHint("use an IANA name such as Europe/Berlin")
	}
	return nil
}

// Location returns the agent's time zone, or UTC if it is unknown.
func (a *Agent) Location() *time.Location {
	if loc, err := time.LoadLocation(a.Timezone); err == nil {
		return loc
	}
	return time.UTC
}

// Policy is what differs between agent types. The loop reads it instead of switching on the type.
type Policy struct {
	ForceTool    bool     // every response must be a tool call
	TextEnds     bool     // plain text without a call ends the turn
	Heartbeats   bool     // non-terminal tools get request_heartbeat, which decides whether the loop goes on
	ThinkingArg  bool     // inner thoughts are the leading argument "thinking" of every tool
	SpeakTool    string   // the tool whose argument is what the person reads; empty: plain text
	SpeakArg     string   // … and the name of that argument
	OneCall      bool     // only the first call of a response counts
	BootMessages bool     // the conversation begins with a short exchange that shows how to call the speak tool
	LineNumbers  bool     // the prompt shows line numbers of blocks
	BaseTools    []string // added by include_base_tools
	BaseRules    bool     // include_base_tool_rules defaults to true
	PromptPolicy string   // which of core/memory's default system texts is used
}

var policies = map[AgentType]Policy{
	AgentLettaV1: {
		TextEnds:     true,
		BaseTools:    []string{"conversation_search", "memory_insert", "memory_replace"},
		PromptPolicy: "v1",
	},
	AgentMemGPTV2: {
		ForceTool:    true,
		Heartbeats:   true,
		ThinkingArg:  true,
		SpeakTool:    "send_message",
		SpeakArg:     "message",
		OneCall:      true,
		BootMessages: true,
		BaseTools:    []string{"send_message", "conversation_search", "memory_insert", "memory_replace"},
		BaseRules:    true,
		PromptPolicy: "v2",
	},
}

// PolicyOf returns the policy of an agent type.
func PolicyOf(t AgentType) (Policy, bool) { p, ok := policies[t]; return p, ok }
