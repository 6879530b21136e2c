package memory

import (
	_ "embed"
	"slices"
	"strings"

	"loci/core"
)

var (
	//go:embed templates/v1.md
	systemV1 string
	//go:embed templates/v2.md
	systemV2 string
	//go:embed templates/terminal.md
	systemTerminal string
	//go:embed templates/workspace.md
	workspaceSection string
)

// DefaultSystem returns the system text, before compilation, of an agent created without one.
func DefaultSystem(policy core.Policy) string {
	if policy.PromptPolicy == "v2" {
		return strings.TrimSpace(systemV2)
	}
	return strings.TrimSpace(systemV1)
}

// SystemOf is DefaultSystem, or for an agent of the terminal the text that knows its tools.
func SystemOf(policy core.Policy, terminal bool) string {
	if terminal {
		return strings.TrimSpace(systemTerminal)
	}
	return DefaultSystem(policy)
}

// TerminalTools are the tools of an agent that the terminal makes.
func TerminalTools() []string {
	return []string{
		"memory_insert", "memory_replace", "memory_rethink", "memory_create", "archival_memory_insert", "archival_memory_replace",
		"archival_memory_delete", "archival_memory_search", "conversation_search",
	}
}

// WorkspaceTools are what an agent has besides that the terminal makes in a folder.
func WorkspaceTools() []string {
	return []string{"read", "write", "edit", "glob", "grep", "list", "shell", "job", "fetch", "todo", "ask"}
}

// SearchTool is what an agent has besides where a search service is set up.
const SearchTool = "web_search"

// Renew gives an agent the prompt and the tools that the terminal's new agents have; further tools stay. A prompt that
// somebody wrote is replaced only if replace says so.
func Renew(agent *core.Agent, replace bool) error {
	policy, _ := core.PolicyOf(agent.Type)
	system := SystemOf(policy, true)
	switch {
	case policy.ForceTool:
		return core.E(core.Unsupported, "the terminal's agents answer in plain text, and one of type %s doesn't", agent.Type)
	case !replace && agent.System != system && agent.System != DefaultSystem(policy):
		return core.E(core.Conflict, "the agent's system prompt was written for it, or by an earlier version, and would be replaced").
			WithHint("to replace it: loci agents renew %s --replace", agent.ID)
	}
	agent.System, agent.Terminal = system, true
	for _, name := range TerminalTools() {
		if id := core.BuiltinToolID(name); !slices.Contains(agent.Tools, id) {
			agent.Tools = append(slices.Clip(agent.Tools), id)
		}
	}
	return nil
}

// The labels of the blocks that every agent created in the terminal has.
const (
	LabelHuman   = "human"
	LabelPersona = "persona"
)

// DefaultBlocks returns the blocks of an agent created in the terminal, without ids.
func DefaultBlocks() []core.Block {
	return []core.Block{
		{Label: LabelPersona, Value: defaultPersona, Description: DefaultDescription(LabelPersona), Limit: core.TerminalLimit},
		{Label: LabelHuman, Description: DefaultDescription(LabelHuman), Limit: core.TerminalLimit},
	}
}

const defaultPersona = "I am calm, warm and precise. I remember what I am told, own up to what I do not know, and say things once."

// DefaultDescription returns the description a block with this label gets if none is given; empty for other labels.
func DefaultDescription(label string) string {
	switch label {
	case LabelHuman:
		return "What you know about the person you talk with: name, work, people, likes, plans, how they want to be " +
			"answered. One fact a line."
	case LabelPersona:
		return "Who you are: character, voice, and what you have learned about doing this well. It shapes every answer."
	default:
		return ""
	}
}
