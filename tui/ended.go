package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

// ended says once that the daemon was stopped on purpose. The chat doesn't
// restart it by itself: it checks from time to time whether somebody else has.
func (m *Model) ended(err error) {
	text, state := "the daemon was stopped; the next message starts it", "the daemon is stopped"
	if errors.Is(err, client.ErrHomeGone) {
		text, state = "this home is gone: it was uninstalled, or its folder removed; nothing can be sent from here", "the home is gone"
	}
	m.connecting = state
	if m.over == text {
		return
	}
	m.over = text
	m.ui.notice(text)
}

// wake starts a daemon that was stopped during a run. It resumes that run and
// then takes the person's message.
func (m *Model) wake() tea.Cmd {
	if m.over == "" || m.turn == nil {
		return nil
	}
	return func() tea.Msg {
		s, err := m.backend.Status(client.Asked(m.ctx))
		return statusMsg{s, err}
	}
}

// lookForThread reloads the conversation when the last message shown is no
// longer in the home, as after a restore, or says that the agent is gone.
func (m *Model) lookForThread() tea.Cmd {
	thread := m.conv.thread
	return func() tea.Msg {
		_, err := m.backend.Agent(m.ctx, thread.Agent)
		var messages []api.Message
		if err == nil {
			messages, err = m.backend.Messages(m.ctx, thread, lately())
		}
		return loadedMsg{func() tea.Cmd {
			switch {
			case thread != m.conv.thread:
			case client.KindOf(err) == api.KindNotFound:
				m.ui.failure(m.conv.name() + " is not in this home any more: it was restored, or the agent deleted; /agents shows who is there")
			case err != nil:
				m.ui.failure("the conversation cannot be read: " + explain(err))
			case m.turn == nil:
				m.conv.replace(m.ui.scrollback, messages)
				m.ui.marked("the home was replaced; what stands above may no longer be part of it · ctrl+o shows what is")
			}
			return m.goOn()
		}}
	}
}
