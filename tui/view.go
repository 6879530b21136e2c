package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

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
	if m.turn != nil {
		above = m.turnRows(max(room-2, 1))
	}
	if !m.ui.printed && m.turn == nil {
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
	if m.opts.greet != "" {
		hello = m.opts.greet
	} else if m.connected && m.agentName != "" {
		hello = "Talk to " + m.agentName + "."
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

// turnRows is the part of a run that still changes, in at most room rows.
func (m *Model) turnRows(room int) []string {
	t := m.turn
	var rows []string
	kind := t.kind
	switch {
	case t.key == "":
	case t.kind == transcript.Assistant:
		if open := m.ui.render.Open(t.stream.Open(), m.openRows(room-1-len(t.calls), t.stream.InFence())); open != "" {
			rows = append(rows, strings.Split(open, "\n")...)
		}
	case t.kind == transcript.Reasoning:
		rows = append(rows, m.ui.render.Thinking(t.text.String()))
	}
	if len(rows) == 0 {
		kind = transcript.Tool
	}
	for i, c := range t.calls {
		if len(rows) >= room-1 && i < len(t.calls)-1 {
			rows = append(rows, m.ui.theme.Dim.Render(fmt.Sprintf("▸ and %d more", len(t.calls)-i)))
			break
		}
		rows = append(rows, m.ui.render.Tool(c))
	}
	tight := t.key != "" && t.kind == transcript.Assistant && t.blocks > 0 && t.stream.Continues()
	if len(rows) > 0 && m.ui.printed && !tight && transcript.Gap(m.ui.last, kind) && len(rows) < room {
		rows = append([]string{""}, rows...)
	}
	return rows
}

// narrowest is the width down to which the terminal can be narrowed in one go
// while an open block is shown, without leaving any of it behind.
const narrowest = 40

// An open block shows at least leastOpen and at most mostOpen rows: when a
// terminal becomes lower, it pushes rows off its top for good, and rows of the
// live region must not be among them.
const (
	leastOpen = 3
	mostOpen  = 6
)

// openRows is how many rows of an open block to show if there is room. A
// terminal that becomes narrower rewraps its rows, and whatever that pushes off
// the screen is gone for good, starting with what is above the region. Lines of
// code are shown anyway: they are soon printed, and few are that wide.
func (m *Model) openRows(room int, code bool) int {
	if code {
		return max(min(room, mostOpen), 1)
	}
	rows := room * narrowest / max(m.ui.render.Prose(), narrowest)
	return max(min(rows, max(m.ui.above, leastOpen), room, mostOpen), 1)
}

func (m *Model) name() string { return cmp.Or(m.agentName, "the agent") }

// The spinner turns at most eight times a second, and only while the agent
// works.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// problemRows bounds the height of a problem under the prompt.
const problemRows = 4

// problem goes before everything else under the prompt, on a row of its own if
// it is long.
func (m *Model) problem(text string) string {
	text = transcript.OneLine(text)
	if term.Width(text) <= m.ui.width() {
		return m.ui.theme.Warn.Render(text)
	}
	rows := strings.Split(wrapTo(text, m.ui.width()), "\n")
	if len(rows) > problemRows {
		rows = rows[:problemRows]
		rows[problemRows-1] = transcript.Short(rows[problemRows-1], m.ui.width()-1) + "…"
	}
	for i, r := range rows {
		rows[i] = m.ui.theme.Warn.Render(r)
	}
	return strings.Join(rows, "\n")
}

// status is the line under the prompt: who, which model, how full, and what is
// going on. A problem too long for it gets rows above.
func (m *Model) status() string {
	th := m.ui.theme
	var parts []string
	switch {
	case m.ui.flash != "":
		parts = append(parts, m.problem(m.ui.flash))
	case m.turn != nil:
		parts = append(parts, m.working())
	case m.connecting != "":
		parts = append(parts, m.problem(m.connecting))
	case !m.connected:
		parts = append(parts, th.Dim.Render("connecting…"))
	case m.held && len(m.prompt.Queue) > 0:
		parts = append(parts, th.Warn.Render("queue waits: enter sends it"))
	}
	if m.connected {
		if m.turn == nil || m.ui.width() >= 60 {
			parts = append(parts, th.Dim.Render(m.name()))
		}
		if model := cmp.Or(m.override, m.model); model != "" {
			parts = append(parts, th.Dim.Render(model))
		}
		if m.contextMost > 0 && m.contextUsed > 0 {
			parts = append(parts, th.Dim.Render(meter.Share(m.contextUsed, m.contextMost)))
		}
		if m.offline && len(parts) < 4 && m.turn == nil {
			parts = append(parts, th.Warn.Render("no language model: /model"))
		}
	}
	above := ""
	if len(parts) > 0 && strings.Contains(parts[0], "\n") {
		above, parts = parts[0]+"\n", parts[1:]
	}
	return above + transcript.Short(strings.Join(parts, th.Dim.Render(" · ")), m.ui.width())
}

func (m *Model) working() string {
	t := m.turn
	mark := string([]rune(spinner)[m.spin%len([]rune(spinner))])
	word := "thinking"
	switch {
	case t.away != "":
		word = m.ui.theme.Warn.Render(t.away + " · trying again")
	case t.cancel:
		word = "stopping"
	case t.compacting:
		word = "summarising what was said earlier"
	case len(t.calls) > 0:
		word = "working"
	case t.key != "" && t.kind == transcript.Assistant:
		word = "answering"
	}
	out := m.ui.theme.Accent.Render(mark) + " " + word
	if s := m.now().Sub(t.started); s >= time.Second {
		out += m.ui.theme.Dim.Render(fmt.Sprintf(" %ds", int(s.Seconds())))
	}
	if !t.cancel {
		out += m.ui.theme.Dim.Render(" · esc stops")
	}
	return out
}

// wrapTo wraps text at word boundaries.
func wrapTo(s string, width int) string {
	width = max(width, 4)
	return strings.Join(term.Rows(ansi.Wrap(s, width, ""), width, 1), "\n")
}
