package tui

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// conversationLister is what choosing and beginning conversations needs.
type conversationLister interface {
	Conversations(ctx context.Context, agent string) ([]api.Conversation, error)
	CreateConversation(ctx context.Context, agent string) (api.Conversation, error)
}

// conversationPanel is /resume and /new.
type conversationPanel struct {
	ui      *display
	conv    *conversation
	backend conversationLister
}

func (p conversationPanel) begin() tea.Cmd {
	agent := p.conv.thread.Agent
	name, model := p.conv.agentName, p.conv.model
	return func() tea.Msg {
		c, err := p.backend.CreateConversation(p.ui.ctx, agent)
		return threadMsg{
			thread: threadOf(agent, c.ID), name: name, model: cmp.Or(api.Val(c.Model), model),
			notice: "a new conversation with " + name, err: err,
		}
	}
}

func (p conversationPanel) open() tea.Cmd {
	agent := api.AgentState{ID: p.conv.thread.Agent, Name: p.conv.agentName, Model: api.PtrTo(p.conv.model)}
	list := func(ctx context.Context) ([]api.Conversation, error) { return p.backend.Conversations(ctx, agent.ID) }
	return load(p.ui, list, func(conversations []api.Conversation) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Conversations with " + agent.Name}
		l.Entries = []panel.Entry{{Title: "the first one", Note: "where this agent lives", Current: p.conv.thread.Conversation == ""}}
		threads := []Thread{{Agent: agent.ID}}
		for _, c := range conversations {
			t := threadOf(agent.ID, c.ID)
			if t.Conversation == "" {
				continue
			}
			if t == p.conv.thread {
				l.Select(len(threads))
			}
			threads = append(threads, t)
			l.Entries = append(l.Entries, panel.Entry{Title: conversationTitle(c), Note: conversationNote(c), Current: t == p.conv.thread})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			p.ui.closePanels()
			return p.conv.openThread(agent, threads[a.Index])
		})
		return nil
	})
}

func conversationTitle(c api.Conversation) string {
	if s := transcript.OneLine(api.Val(c.Summary)); s != "" {
		return transcript.Short(s, 60)
	}
	if c.CreatedAt != nil {
		return "of " + c.CreatedAt.Local().Format("Mon 2 Jan 2006, 15:04")
	}
	return c.ID
}

func conversationNote(c api.Conversation) string {
	if c.LastMessageAt == nil {
		return "empty"
	}
	return "last " + c.LastMessageAt.Local().Format("2 Jan 15:04")
}
