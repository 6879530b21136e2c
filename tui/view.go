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
	asked := m.hosts.rows(room)
	room -= len(asked)
	var above []string
	switch {
	case m.turn != nil:
		above = m.turn.rows(max(room-2, 1))
		if todo := m.todoRow(); len(above)+len(todo)+2 <= room {
			above = append(above, todo...)
		}
	case m.question.stands():
		above = m.question.rows(max(room, 1))
	}
	above = append(above, m.trust.rows(max(room-len(above), 1))...)
	if left := room - len(above) - 1; left > 0 {
		above = append(above, m.own.rows(left)...)
	}
	above = append(above, asked...)
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

// status is the line under the prompt: what is going on, what the agent may do,
// who it is, which model and how full. What the agent waits for, and a problem
// too long for the line, get rows above.
func (m *Model) status() string {
	th, width := m.ui.theme, m.ui.width()
	now, problem := m.goingOn()
	modes := []string{""}
	if m.link.connected {
		modes = modeWords(th, m.link.mode)
		if m.link.sandbox != "" { // less confines what runs than it should
			for i := range modes {
				modes[i] = joined(th.Dim.Render(dot), modes[i], th.Warn.Render("sandbox "+transcript.OneLine(m.link.sandbox)))
			}
		}
	}
	above, room := "", width
	if m.turn != nil && m.turn.waits != "" {
		above = m.ui.problem(m.turn.waits) + "\n"
	}
	if least := modes[len(modes)-1]; least != "" {
		room -= term.Width(dot + least)
	}
	if strings.Contains(now, "\n") || problem && term.Width(now) > room {
		above, now = above+now+"\n", ""
	}
	sep := th.Dim.Render(dot)
	who := strings.Join(m.who(now == ""), sep)
	var line string
	for _, mode := range modes {
		line = joined(sep, transcript.Short(now, room), mode)
		if term.Width(joined(sep, line, who)) <= width {
			break
		}
	}
	if line != "" {
		width -= term.Width(line + dot)
	}
	return above + joined(sep, line, transcript.Short(who, width))
}

// joined joins those of two parts that are there.
func joined(sep, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + sep + b
}

// dot stands between the parts of the status line.
const dot = " · "

// goingOn is what happens right now, if anything does, and whether it is a
// problem, from which nothing may be cut.
func (m *Model) goingOn() (now string, problem bool) {
	th := m.ui.theme
	switch {
	case m.ui.flash != "":
		return m.ui.problem(m.ui.flash), true
	case m.turn != nil:
		return m.turn.working(m.spin), false
	case m.link.connecting != "":
		return m.ui.problem(m.link.connecting), true
	case !m.link.connected:
		return th.Dim.Render("connecting…"), false
	case m.question.stands():
		return th.Warn.Render("waits for you"), false
	case m.outbox.waits():
		return th.Warn.Render("queue waits: enter sends it"), false
	}
	return "", false
}

// who is the agent, its model and how full that one's window is. Nothing else
// is on the line if it is quiet.
func (m *Model) who(quiet bool) (parts []string) {
	if !m.link.connected {
		return nil
	}
	th := m.ui.theme
	if m.turn == nil || m.ui.width() >= 60 {
		parts = append(parts, th.Dim.Render(m.conv.name()))
	}
	if model := cmp.Or(m.conv.override, m.conv.model); model != "" {
		parts = append(parts, th.Dim.Render(model+effortWord(m.link.effort)))
	}
	if m.conv.contextMost > 0 && m.conv.contextUsed > 0 {
		parts = append(parts, th.Dim.Render(meter.Share(m.conv.contextUsed, m.conv.contextMost)))
	}
	if m.conv.offline && m.turn == nil && (quiet || len(parts) < 3) {
		parts = append(parts, th.Warn.Render("no language model: /model"))
	}
	return parts
}

// wrapTo wraps text at word boundaries.
func wrapTo(s string, width int) string {
	width = max(width, 4)
	return strings.Join(term.Rows(term.Wrap(s, width), width, 1), "\n")
}
