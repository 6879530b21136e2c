package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
	"loci/tui/prompt"
)

// binding is a row of the keys. Help, docs/chat.md and dispatch all come from
// one table of them.
type binding struct {
	keys, help string             // as help shows them
	on         map[string]handler // by the key's name; the prompt handles what isn't here
	late       bool               // only when the prompt has no use for it
}

// handler is what a key does. If it returns false, the key is the prompt's.
type handler func(m *Model) (cmd tea.Cmd, taken bool)

func bindings() []binding {
	return []binding{
		{keys: "enter", help: "send; while the agent works, queue", on: map[string]handler{"enter": (*Model).sendQueued}},
		{keys: "ctrl+j, alt+enter, shift+enter", help: "new line"},
		{keys: "↑ ↓", help: "history; first of all what is queued, to edit it"},
		{keys: "ctrl+s", help: "put what is typed aside; again brings it back"},
		{keys: "ctrl+g", help: "write in your editor", on: map[string]handler{"ctrl+g": always((*Model).editPrompt)}},
		{
			keys: "ctrl+v", help: "how to send an image: drag its file in, or paste its path",
			on: map[string]handler{"ctrl+v": always(func(m *Model) tea.Cmd { m.ui.flash = imagesByPath; return nil })},
		},
		{
			keys: "!", help: "at the beginning of a line: run it yourself, in your shell; the next message tells the agent what it wrote",
		},
		{keys: "@", help: "name a file of the folder: it goes along with the message"},
		{keys: "tab", help: "complete a command or a file"},
		{
			keys: "shift+tab", help: "what the agent may do from the next message on: ask, edits or plan mode",
			on: map[string]handler{"shift+tab": always(nextMode)},
		},
		{
			keys: "alt+r", help: "how much the model reasons, from the next message on",
			on: map[string]handler{"alt+r": always(nextEffort)},
		},
		{keys: "esc", help: "stop the agent; never deletes text", on: map[string]handler{"esc": always((*Model).stop)}, late: true},
		{
			keys: "ctrl+o", help: "the conversation with everything unfolded",
			on: map[string]handler{"ctrl+o": always((*Model).openTranscript)},
		},
		{
			keys: "ctrl+l", help: "clear the screen and draw the last of it again",
			on: map[string]handler{"ctrl+l": always((*Model).redraw)},
		},
		{
			keys: "ctrl+c twice, ctrl+d", help: "leave; ctrl+c once stops the agent",
			on: map[string]handler{"ctrl+c": always((*Model).interrupt), "ctrl+d": (*Model).leaveEmpty},
		},
		{
			keys: "ctrl+b", help: "let the shell line that runs go on in the background",
			on: map[string]handler{"ctrl+b": (*Model).sendBack},
		},
		{keys: "ctrl+z", help: "suspend", on: map[string]handler{"ctrl+z": func(*Model) (tea.Cmd, bool) { return tea.Suspend, true }}},
	}
}

// imagesByPath answers who wants to paste an image: what a terminal pastes is text.
const imagesByPath = "a terminal pastes text only; drag the image's file in, or paste its path"

// always makes a handler that takes its key whatever the prompt holds.
func always(do func(*Model) tea.Cmd) handler {
	return func(m *Model) (tea.Cmd, bool) { return do(m), true }
}

// bound runs the handler of a key, if it has one at this point.
func (m *Model) bound(name string, late bool) (cmd tea.Cmd, taken bool) {
	for _, b := range bindings() {
		if do, ok := b.on[name]; ok && b.late == late {
			return do(m)
		}
	}
	return nil, false
}

// key handles a key: the open panel comes first, then the chat's own keys, then
// the prompt.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if name != "ctrl+c" {
		m.armed, m.ui.flash = false, ""
	}
	m.caller.pressed()
	m.question.pressed(name, msg.Text)
	m.hosts.pressed(name, msg.Text)
	m.trust.pressed(name, msg.Text)
	if top, ok := m.ui.top(); ok {
		if e, ok := top.Panel.(*panel.Edit); ok && name == "ctrl+g" {
			return m.edit(e.Value(), e.SetValue)
		}
		return m.ui.act(top, top.Key(msg))
	}
	if cmd, taken := m.question.key(msg); taken {
		return cmd
	}
	if cmd, taken := m.hosts.key(msg); taken {
		return cmd
	}
	if cmd, taken := m.trust.key(msg); taken {
		return cmd
	}
	if cmd, taken := m.bound(name, false); taken {
		return cmd
	}
	if msg.Text != "" {
		m.outbox.keepApart()
	}
	switch m.prompt.Key(msg) {
	case prompt.Submit:
		return m.submit()
	case prompt.Ignored:
		if name == "tab" {
			if m.trust.stands() {
				m.trust.toggle()
			}
			if m.hosts.stands() {
				m.hosts.toggle()
				return nil
			}
			return m.question.toggle()
		}
		cmd, _ := m.bound(name, true)
		return cmd
	case prompt.Edited:
		return m.attach.look()
	}
	return nil
}

// sendQueued sends what is queued when nothing was typed.
func (m *Model) sendQueued() (cmd tea.Cmd, taken bool) {
	if !m.prompt.Empty() || len(m.prompt.Queue) == 0 {
		return nil, false
	}
	if m.question.blocks() {
		m.ui.flash = "the queue waits until you have answered"
		return nil, true
	}
	if m.own.running != nil {
		m.ui.flash = "the queue waits until your line has ended"
		return nil, true
	}
	m.outbox.held = false
	return m.goOn(), true
}

func (m *Model) editPrompt() tea.Cmd { return m.edit(m.prompt.Text(), m.prompt.Set) }

func (m *Model) redraw() tea.Cmd {
	final := ""
	if t := m.turn; t != nil {
		final = t.part.final()
	}
	m.ui.redraw(final)
	return nil
}

// interrupt stops the agent, or leaves when it was pressed just before.
func (m *Model) interrupt() tea.Cmd {
	if m.own.stop() {
		return nil
	}
	if m.armed {
		return m.leave()
	}
	m.armed, m.ui.flash = true, "ctrl+c again leaves"
	stop := m.stop()
	if m.turn != nil {
		m.ui.flash = "stopping · ctrl+c again leaves"
	}
	return tea.Batch(stop, tea.Tick(quitWithin, func(time.Time) tea.Msg { return disarmMsg{} }))
}

// leaveEmpty leaves, unless something was typed: then the key deletes.
func (m *Model) leaveEmpty() (cmd tea.Cmd, taken bool) {
	if !m.prompt.Empty() {
		return nil, false
	}
	return m.leave(), true
}
