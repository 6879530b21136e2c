package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

// fitFrom is the size in bytes from which a message is measured before it is
// sent: shorter ones fit every window.
const fitFrom = 1500

// fitBackend measures messages.
type fitBackend interface {
	// Fit says how much of a message a run would send. An empty model means the
	// conversation's.
	Fit(ctx context.Context, t Thread, text, model string) (api.FitResult, error)
}

// measure asks how much of the prompt's text, in full with what goes along, the model would be sent, and sends
// the text if that is all of it. Until then the text stays in the prompt, where
// a person who doesn't want it cut can edit it.
func (m *Model) measure(text, full string) tea.Cmd {
	thread, model := m.conv.thread, m.conv.override
	return func() tea.Msg {
		f, err := m.backend.Fit(m.ctx, thread, full, model)
		return loadedMsg{func() tea.Cmd {
			if thread != m.conv.thread || m.prompt.Text() != text {
				return nil // sent or changed in the meantime
			}
			if err != nil || f.Whole() { // if it can't be measured, send it: the run says what it cuts
				return m.deliver()
			}
			m.askToCut(text, f)
			return nil
		}}
	}
}

// askToCut says what part of a message doesn't fit, and lets the person choose.
func (m *Model) askToCut(text string, f api.FitResult) {
	m.ui.ask("The message is too long for "+f.Model, []string{
		fmt.Sprintf(
			"Of its %d characters %d fit into the %d tokens of its window, beside the agent's instructions and tools, and what it recalls.",
			f.Characters,
			f.Sent,
			f.Window,
		),
		"What is cut stays in the conversation: it is listed and searched, but this model does not read it. " +
			"esc leaves the message in the prompt.",
	}, []choice{
		{'s', fmt.Sprintf("send it: the model reads its first %d characters", f.Sent), func() tea.Cmd {
			m.ui.closePanels()
			if m.prompt.Text() != text {
				return nil
			}
			return m.deliver()
		}},
		{'e', "edit it first", func() tea.Cmd {
			m.ui.closePanels()
			return nil
		}},
	})
}
