package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/prompt"
	"loci/tui/transcript"
)

// writtenBackend knows the commands that people wrote.
type writtenBackend interface {
	// Written lists those that count in the open folder.
	Written(ctx context.Context) ([]api.Command, error)
}

// argumentsMark stands in the text of a command for what is typed behind its
// name.
const argumentsMark = "$ARGUMENTS"

// lookForWritten completes the names of the commands that people wrote.
func (m *Model) lookForWritten() tea.Msg {
	list, err := m.backend.Written(m.ctx)
	if err != nil {
		return nil // who types one is told
	}
	return loadedMsg{func() tea.Cmd {
		all := completions()
		for _, c := range list {
			help := transcript.OneLine(strings.TrimSpace(c.ArgumentHint + " " + c.Description))
			all = append(all, prompt.Command{Name: c.Name, Help: help})
		}
		m.prompt.Complete(all)
		return nil
	}}
}

// sendWritten sends the text of a command that somebody wrote. What was typed
// stays in the prompt if there is none of that name, or if it has to wait.
func (m *Model) sendWritten(typed, name, arg string) tea.Cmd {
	m.prompt.Set(typed) // until it is sent
	if !m.link.connected {
		m.ui.flash = "/" + name + " needs the daemon, which does not answer yet"
		return nil
	}
	return func() tea.Msg {
		list, err := m.backend.Written(m.ctx)
		return loadedMsg{func() tea.Cmd {
			for _, c := range list {
				if c.Name == name {
					return m.sendAs(typed, fill(c.Text, arg))
				}
			}
			if err != nil && client.KindOf(err) != api.KindNotFound {
				m.ui.refused("the commands cannot be read: " + explain(err))
				return nil
			}
			m.ui.refused("there is no command /" + name +
				"; /help lists them (to send a text that starts with a slash, begin with a space)")
			return nil
		}}
	}
}

// sendAs sends a text in place of what was typed.
func (m *Model) sendAs(typed, text string) tea.Cmd {
	switch {
	case m.prompt.Text() != typed: // it became something else meanwhile
		return nil
	case m.question.blocks():
		m.ui.flash = "a tool call waits for your answer first"
		return nil
	}
	m.prompt.Take()
	if !m.link.connected || m.turn != nil || m.timeline.travelling {
		m.prompt.Enqueue(text)
		return nil
	}
	m.outbox.held = false
	return m.send(text)
}

// fill puts the arguments into the text of a command.
func fill(text, arg string) string {
	if strings.Contains(text, argumentsMark) {
		return strings.ReplaceAll(text, argumentsMark, arg)
	}
	if arg == "" {
		return text
	}
	return text + "\n\n" + arg
}
