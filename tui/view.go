package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/meter"
	"loci/tui/term"
	"loci/tui/transcript"
)

// View draws the top panel or the live region: from the top, the block still
// growing, calls in progress, the queue, the prompt and one status line. It has
// no frame, rule or padding: those would leave ghosts on a resize.
func (m *Model) View() tea.View {
	if m.quitting {
		return m.ui.screen.View("", tea.NewCursor(0, 0))
	}
	if top, ok := m.ui.top(); ok {
		content, cursor := top.View(m.ui.width(), m.ui.height())
		return m.ui.screen.Panel(content, cursor)
	}
	content, cursor := m.live()
	return m.ui.screen.View(content, cursor)
}

func (m *Model) live() (string, *tea.Cursor) {
	written, cursor := m.prompt.View()
	status := m.status()
	room := m.ui.height() - 1 - strings.Count(written, "\n") - 1 - strings.Count(status, "\n") - 1 // minus prompt and status
	var above []string
	switch {
	case m.turn != nil:
		above = m.turn.rows(max(room-2, 1))
	case m.question.stands():
		above = m.question.rows(max(room, 1))
	}
	if !m.ui.printed && above == nil {
		above = m.greeting()
		if len(above) > room {
			above = nil
		}
	} else if len(above)+1 <= room && m.ui.height() > 6 {
		above = append(above, "")
	}
	if cursor != nil {
		cursor.Y += len(above)
	}
	return strings.Join(append(above, written, status), "\n"), cursor
}

// greeting is shown above the prompt of an empty conversation.
func (m *Model) greeting() []string {
	hello := "Loci"
	if m.conv.greet != "" {
		hello = m.conv.greet
	} else if m.link.connected && m.conv.agentName != "" {
		hello = "Talk to " + m.conv.agentName + "."
	}
	newline := "ctrl+j"
	if m.keysOK {
		newline = "shift+enter"
	}
	return []string{
		transcript.Short(m.ui.theme.Strong.Render(hello), m.ui.width()),
		transcript.Short(m.ui.theme.Dim.Render("enter sends · "+newline+" new line · / commands"), m.ui.width()),
	}
}

// status is the line under the prompt: who, which model, how full, and what is
// going on. What the agent waits for, and a problem too long for it, get rows
// above.
func (m *Model) status() string {
	th := m.ui.theme
	var parts []string
	switch {
	case m.ui.flash != "":
		parts = append(parts, m.ui.problem(m.ui.flash))
	case m.turn != nil:
		parts = append(parts, m.turn.working(m.spin))
	case m.link.connecting != "":
		parts = append(parts, m.ui.problem(m.link.connecting))
	case !m.link.connected:
		parts = append(parts, th.Dim.Render("connecting…"))
	case m.question.stands():
		parts = append(parts, th.Warn.Render("waits for you"))
	case m.outbox.waits():
		parts = append(parts, th.Warn.Render("queue waits: enter sends it"))
	}
	if m.link.connected {
		if m.turn == nil || m.ui.width() >= 60 {
			parts = append(parts, th.Dim.Render(m.conv.name()))
		}
		if model := cmp.Or(m.conv.override, m.conv.model); model != "" {
			parts = append(parts, th.Dim.Render(model))
		}
		if m.conv.contextMost > 0 && m.conv.contextUsed > 0 {
			parts = append(parts, th.Dim.Render(meter.Share(m.conv.contextUsed, m.conv.contextMost)))
		}
		if m.conv.offline && len(parts) < 4 && m.turn == nil {
			parts = append(parts, th.Warn.Render("no language model: /model"))
		}
	}
	above := ""
	if m.turn != nil && m.turn.waits != "" {
		above = m.ui.problem(m.turn.waits) + "\n"
	}
	if len(parts) > 0 && strings.Contains(parts[0], "\n") {
		above, parts = above+parts[0]+"\n", parts[1:]
	}
	return above + transcript.Short(strings.Join(parts, th.Dim.Render(" · ")), m.ui.width())
}

// wrapTo wraps text at word boundaries.
func wrapTo(s string, width int) string {
	width = max(width, 4)
	return strings.Join(term.Rows(term.Wrap(s, width), width, 1), "\n")
}
