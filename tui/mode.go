package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"loci/tui/theme"
)

// The permission modes, of which the last takes more than a key.
const (
	modeAsk   = "ask"
	modeEdits = "edits"
	modePlan  = "plan"
	modeAll   = "all"
)

// warnAll is said wherever a person turns on the mode that asks nothing.
const warnAll = "all mode: the agent may change, run and send anything without asking, but for what a rule denies · " +
	"shift+tab goes back to ask"

// modeHelp says what a mode means that a key leads to.
func modeHelp(mode string) string {
	switch mode {
	case modeAsk:
		return "asks before it changes, runs or sends anything"
	case modeEdits:
		return "changes files in the folder without asking"
	}
	return "reads, and changes nothing"
}

// nextMode changes the mode of what is sent from now on, to one that still asks.
func nextMode(m *Model) tea.Cmd {
	modes := []string{modeAsk, modeEdits, modePlan}
	m.link.mode = modes[(slices.Index(modes, m.link.mode)+1)%len(modes)]
	since := ""
	if m.turn != nil {
		since = " from the next message on"
	}
	m.ui.flash = m.link.mode + " mode" + since + ": " + modeHelp(m.link.mode)
	return nil
}

// modeWords are what the status line calls a mode, the longest first. Only the
// mode that asks leaves it to what needs the room.
func modeWords(th theme.Theme, mode string) []string {
	style := th.Accent
	switch mode {
	case modeAsk:
		return []string{th.Dim.Render("ask mode"), th.Dim.Render("ask"), ""}
	case modeAll:
		style = th.Warn
	}
	return []string{style.Render(mode + " mode"), style.Render(mode)}
}
