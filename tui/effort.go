package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// nextEffort changes how much the model reasons, for what is sent from now on. Behind the most comes what the agent has of its
// own.
func nextEffort(m *Model) tea.Cmd {
	efforts := []string{"", "none", "low", "medium", "high", "max"}
	m.link.effort = efforts[(slices.Index(efforts, m.link.effort)+1)%len(efforts)]
	m.ui.flash = "reasoning effort: " + m.link.effort + ", or the nearest that the model has"
	if m.link.effort == "" {
		m.ui.flash = "reasoning effort: the agent's own"
	}
	return nil
}

// effortWord is what stands behind the model in the status line.
func effortWord(effort string) string {
	if effort == "" {
		return ""
	}
	return " · effort " + effort
}
