package memory

import (
	_ "embed"
	"strings"

	"loci/core"
)

var (
	//go:embed templates/v1.md
	systemV1 string
	//go:embed templates/v2.md
	systemV2 string
)

// DefaultSystem returns the system text, before compilation, of an agent created without one.
func DefaultSystem(policy core.Policy) string {
	if policy.PromptPolicy == "v2" {
		return strings.TrimSpace(systemV2)
	}
	return strings.TrimSpace(systemV1)
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
