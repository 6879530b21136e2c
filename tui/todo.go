package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
	"loci/tui/transcript"
)

// todoPages bounds how far back /todo looks for a list.
const todoPages = 10

// openTodo shows the list that the agent works by, as it stands.
func (m *Model) openTodo(string) tea.Cmd {
	if m.ui.todos != nil {
		m.showTodos(m.ui.todos)
		return nil
	}
	thread := m.conv.thread
	find := func(ctx context.Context) (transcript.Todos, error) { return earlierTodos(ctx, m.backend, thread) }
	return load(m.ui, find, func(list transcript.Todos) tea.Cmd {
		if list == nil {
			m.ui.flash = m.conv.name() + " has made no list in this conversation"
			return nil
		}
		m.showTodos(list)
		return nil
	})
}

func (m *Model) showTodos(list transcript.Todos) {
	title := "What " + m.conv.name() + " does · " + list.Counts()
	m.ui.push(&panel.Text{Theme: m.ui.theme, Title: title, Draw: func(width int) string {
		if len(list) == 0 {
			return "the list is empty"
		}
		return strings.Join(transcript.NewRenderer(m.ui.theme, width).Todos(list, 0), "\n")
	}}, nil)
}

// earlierTodos is the last list in a conversation, the chat having shown none; nil: there is none.
func earlierTodos(ctx context.Context, from messageReader, t Thread) (transcript.Todos, error) {
	span := Span{Limit: readMost}
	for range todoPages {
		messages, err := from.Messages(ctx, t, span)
		if err != nil {
			return nil, err
		}
		if list := lastTodos(itemsOf(messages)); list != nil || len(messages) < span.Limit {
			return list, nil
		}
		span.Before = messages[0].ID
	}
	return nil, nil
}

// lastTodos is the last list among some items; nil: there is none.
func lastTodos(items []transcript.Item) (list transcript.Todos) {
	for _, it := range items {
		if it.Kind != transcript.Tool {
			continue
		}
		if set, ok := transcript.TodosOf(it.Call); ok {
			list = append(transcript.Todos{}, set...)
		}
	}
	return list
}

// todoRow is what the agent does of its list, while it works. Right below the list it would be said twice.
func (m *Model) todoRow() []string {
	if m.turn == nil || !m.ui.todos.Open() || lastTodos(m.ui.items[max(len(m.ui.items)-1, 0):]) != nil {
		return nil
	}
	return []string{m.ui.render.TodoRow(m.ui.todos)}
}
