package tui

import (
	"fmt"
	"strings"
	"time"

	"loci/tui/transcript"
)

// rows is the part of a run that still changes, in at most room rows.
func (t *turn) rows(room int) []string {
	p, ui := &t.part, t.part.ui
	rows, kind := p.rows(room-1-len(t.calls)), p.kind
	if len(rows) == 0 {
		kind = transcript.Tool
	}
	for i, c := range t.calls {
		if len(rows) >= room-1 && i < len(t.calls)-1 {
			rows = append(rows, ui.theme.Dim.Render(fmt.Sprintf("▸ and %d more", len(t.calls)-i)))
			break
		}
		rows = append(rows, ui.render.Tool(c))
		if live := t.live(c.ID); len(rows)+len(live) < room {
			rows = append(rows, live...)
		}
	}
	if len(rows) > 0 && ui.printed && !p.continues() && transcript.Gap(ui.last, kind) && len(rows) < room {
		rows = append([]string{""}, rows...)
	}
	return rows
}

// rows is what isn't final yet, an answer in about as many rows as there is
// room for.
func (p *part) rows(room int) []string {
	switch {
	case p.key == "":
	case p.kind == transcript.Assistant:
		if open := p.ui.render.Open(p.stream.Open(), p.openRows(room, p.stream.InFence())); open != "" {
			return strings.Split(open, "\n")
		}
	case p.kind == transcript.Reasoning && !p.until.IsZero():
		if it := p.thought(); it.Text != "" {
			return []string{p.ui.render.Item(it, false)}
		}
	case p.kind == transcript.Reasoning:
		return []string{p.ui.render.Thinking(p.text.String())}
	}
	return nil
}

// continues reports whether what isn't final belongs right below the block
// printed last.
func (p *part) continues() bool { return p.answering() && p.blocks > 0 && p.stream.Continues() }

func (p *part) answering() bool { return p.key != "" && p.kind == transcript.Assistant }

// narrowest is the width down to which the terminal can be narrowed in one go
// while an open block is shown, without leaving any of it behind.
const narrowest = 40

// An open block shows at least leastOpen and at most mostOpen rows: when a
// terminal becomes lower, it pushes rows off its top for good, and rows of the
// live region must not be among them, even on a screen of five rows.
const (
	leastOpen = 2
	mostOpen  = 3
)

// openRows is how many rows of an open block to show if there is room. A
// terminal that becomes narrower rewraps its rows, and whatever that pushes off
// the screen is gone for good, starting with what is above the region. Lines of
// code are shown anyway: they are soon printed, and few are that wide.
func (p *part) openRows(room int, code bool) int {
	if code {
		return max(min(room, mostOpen), 1)
	}
	rows := room * narrowest / max(p.ui.render.Prose(), narrowest)
	return max(min(rows, max(p.ui.above, leastOpen), room, mostOpen), 1)
}

// The spinner turns at most eight times a second, and only while the agent
// works.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// working says on the status line what the agent is doing.
func (t *turn) working(spin int) string {
	theme := t.part.ui.theme
	mark := string([]rune(spinner)[spin%len([]rune(spinner))])
	word := "thinking"
	switch {
	case t.away != "":
		word = theme.Warn.Render(t.away + " · trying again")
	case t.cancel:
		word = "stopping"
	case t.compacting:
		word = "summarising what was said earlier"
	case len(t.calls) > 0:
		word = "working"
	case t.part.answering():
		word = "answering"
	}
	out := theme.Accent.Render(mark) + " " + word
	if s := t.part.now().Sub(t.started); s >= time.Second {
		out += theme.Dim.Render(fmt.Sprintf(" %ds", int(s.Seconds())))
	}
	if !t.cancel {
		out += theme.Dim.Render(" · esc stops")
	}
	return out
}
