package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/meter"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// openContext shows what the next request would contain.
func (m *Model) openContext(string) tea.Cmd {
	thread := m.conv.thread
	read := func(ctx context.Context) (api.ContextWindow, error) { return m.backend.Context(ctx, thread) }
	return load(m.ui, read, func(w api.ContextWindow) tea.Cmd {
		if thread == m.conv.thread {
			m.conv.contextUsed, m.conv.contextMost = w.ContextWindowSizeCurrent, w.ContextWindowSizeMax
		}
		m.ui.push(&panel.Text{Theme: m.ui.theme, Title: "What " + m.conv.name() + " has in mind", Draw: func(width int) string {
			return wrapTo(meter.Line(w), width) + "\n\n" + strings.Join(meter.Rows(w, width), "\n")
		}, Foot: "/compact makes room"}, nil)
		return nil
	})
}

// compactBackend summarises.
type compactBackend interface {
	// Compact replaces earlier messages with a summary. An empty mode means the
	// agent's own.
	Compact(ctx context.Context, t Thread, mode string) (api.Compaction, error)
}

// compactModes are the compaction modes a person may name.
func compactModes() []string {
	return []string{
		"sliding_window", "all", "self_compact_sliding_window", "self_compact_all", "static_message_buffer", "partial_evict_message_buffer",
	}
}

// compactionResult is the outcome of a compaction on request.
type compactionResult struct {
	result api.Compaction
	missed []api.Message
}

// compact has earlier messages replaced with a summary.
func (m *Model) compact(mode string) tea.Cmd {
	switch {
	case m.turn != nil:
		m.ui.flash = m.conv.name() + " is busy; /compact works when it has answered"
		return nil
	case mode != "" && !slices.Contains(compactModes(), mode):
		m.ui.refused("there is no mode " + transcript.OneLine(mode) + "; the modes are " + strings.Join(compactModes(), ", "))
		return nil
	}
	thread, after := m.conv.thread, m.conv.lastID
	m.ui.flash = "writing a summary …"
	call := func(ctx context.Context) (compactionResult, error) {
		var out compactionResult
		var err error
		if out.result, err = m.backend.Compact(ctx, thread, mode); err != nil {
			return out, err
		}
		out.missed, err = m.backend.Messages(ctx, thread, Span{After: after, Limit: historyMost})
		return out, err
	}
	return load(m.ui, call, func(c compactionResult) tea.Cmd {
		if thread != m.conv.thread {
			return nil
		}
		m.ui.flash = ""
		m.ui.notice(fmt.Sprintf("%s became %d; what left is still searched",
			count(c.result.NumMessagesBefore, "message"), c.result.NumMessagesAfter))
		if c.result.Notice != "" {
			m.ui.notice(c.result.Notice)
		}
		if m.turn == nil {
			m.history(m.conv.missed(c.missed))
		}
		m.conv.contextMost = 0
		return m.conv.loadContext()
	})
}

// lookForSummary reads, after a hint, whether earlier messages became a summary between turns.
func (m *Model) lookForSummary() tea.Cmd {
	thread, after := m.conv.thread, m.conv.lastID
	return func() tea.Msg {
		messages, err := m.backend.Messages(m.ctx, thread, Span{After: after, Limit: historyMost})
		messages = slices.DeleteFunc(messages, func(x api.Message) bool { return x.MessageType != api.MessageSummary })
		if err != nil || after == "" || len(messages) == 0 {
			return nil
		}
		return loadedMsg{func() tea.Cmd {
			switch {
			case thread != m.conv.thread || m.turn != nil: // which tells of its own, and of the window at its end
				return nil
			case after != m.conv.lastID: // it may have been shown since
				return m.lookForSummary()
			}
			m.history(messages)
			m.conv.contextMost = 0
			return m.conv.loadContext()
		}}
	}
}
