package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

func (m *Model) openHelp(string) tea.Cmd {
	m.ui.push(&panel.Text{Theme: m.ui.theme, Title: "Help", Draw: m.helpText}, nil)
	return nil
}

func (m *Model) openAgents(name string) tea.Cmd {
	return load(m.ctx, m.ui, m.backend.Agents, func(agents []api.AgentState) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "Agents", Empty: "none yet", NewKey: "makes one"}
		for i, a := range agents {
			if name != "" && (a.Name == name || a.ID == name) {
				return m.openThread(a, Thread{Agent: a.ID})
			}
			l.Entries = append(
				l.Entries,
				panel.Entry{Title: transcript.OneLine(a.Name), Note: agentNote(a), Current: a.ID == m.conv.thread.Agent},
			)
			if a.ID == m.conv.thread.Agent {
				l.Select(i)
			}
		}
		if name != "" {
			m.ui.flash = "there is no agent " + transcript.OneLine(name)
			return nil
		}
		m.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Kind == panel.New {
				return m.nameAgent(a.Text)
			}
			m.ui.closePanels()
			chosen := agents[a.Index]
			return m.openThread(chosen, Thread{Agent: chosen.ID})
		})
		return nil
	})
}

func agentNote(a api.AgentState) string {
	note := api.Val(a.Model)
	if d := api.Val(a.Description); d != "" {
		note = strings.TrimPrefix(note+" · "+transcript.OneLine(d), " · ")
	}
	return note
}

// nameAgent asks for the name of a new agent and creates it.
func (m *Model) nameAgent(name string) tea.Cmd {
	e := panel.NewEdit(m.ui.theme, "Name of the new agent", name, true)
	asked := false
	m.ui.push(e, func(a panel.Action) tea.Cmd {
		name := transcript.OneLine(a.Text)
		if name == "" {
			e.Refuse("it needs a name")
		}
		if name == "" || asked {
			return nil
		}
		asked = true
		return func() tea.Msg {
			s, err := m.backend.Open(m.ctx, api.Open{Agent: api.OpenNew, Name: name})
			return loadedMsg{func() tea.Cmd {
				if asked = false; err != nil {
					m.ui.refuse(e, err)
					return nil
				}
				m.ui.closePanels()
				return m.onThread(threadMsg{
					thread: threadOf(s.AgentID, s.ConversationID), name: s.AgentName, model: s.Model,
					notice: "This is " + s.AgentName + ", a new agent.",
				})
			}}
		}
	})
	return nil
}

// openThread reads a conversation of an agent and switches to it.
func (m *Model) openThread(a api.AgentState, t Thread) tea.Cmd {
	if t == m.conv.thread {
		return nil
	}
	return func() tea.Msg {
		messages, err := m.backend.Messages(m.ctx, t, lately())
		return threadMsg{thread: t, name: a.Name, model: api.Val(a.Model), history: messages, err: err}
	}
}

// onThread switches the conversation. If the old one is answering, it is left
// to finish on its own.
func (m *Model) onThread(msg threadMsg) tea.Cmd {
	if msg.err != nil {
		m.ui.flash = explain(msg.err)
		return nil
	}
	if t := m.turn; t != nil {
		t.part.close()
		if t.feed != nil {
			t.feed.stop()
		}
		m.turn = nil
		m.ui.notice(m.conv.name() + " goes on working there")
	}
	m.outbox.swap(m.conv.thread, msg.thread)
	m.conv.switchTo(msg.thread, msg.name, msg.model)
	m.ui.items = nil
	m.opts.Open = api.Open{Agent: msg.thread.Agent, Conversation: msg.thread.Conversation}
	notice := cmp.Or(msg.notice, "with "+m.conv.name())
	m.ui.notice(notice)
	if msg.quiet {
		m.ui.items = nil
		m.conv.replace(m.ui.scrollback, msg.history)
		m.ui.keep(transcript.Item{Kind: transcript.Notice, Text: notice})
	} else {
		m.history(msg.history)
	}
	if msg.draft != "" {
		m.outbox.giveBack(msg.draft, "")
	}
	return tea.Batch(m.conv.loadAgent(), m.conv.loadContext(), m.goOn())
}

func (m *Model) newConversation(string) tea.Cmd {
	agent := m.conv.thread.Agent
	name, model := m.conv.agentName, m.conv.model
	return func() tea.Msg {
		c, err := m.backend.CreateConversation(m.ctx, agent)
		return threadMsg{
			thread: threadOf(agent, c.ID), name: name, model: cmp.Or(api.Val(c.Model), model),
			notice: "a new conversation with " + name, err: err,
		}
	}
}

func (m *Model) openConversations(string) tea.Cmd {
	agent := api.AgentState{ID: m.conv.thread.Agent, Name: m.conv.agentName, Model: api.PtrTo(m.conv.model)}
	list := func(ctx context.Context) ([]api.Conversation, error) { return m.backend.Conversations(ctx, agent.ID) }
	return load(m.ctx, m.ui, list, func(conversations []api.Conversation) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "Conversations with " + agent.Name}
		l.Entries = []panel.Entry{{Title: "the first one", Note: "where this agent lives", Current: m.conv.thread.Conversation == ""}}
		threads := []Thread{{Agent: agent.ID}}
		for _, c := range conversations {
			t := threadOf(agent.ID, c.ID)
			if t.Conversation == "" {
				continue
			}
			if t == m.conv.thread {
				l.Select(len(threads))
			}
			threads = append(threads, t)
			l.Entries = append(l.Entries, panel.Entry{Title: conversationTitle(c), Note: conversationNote(c), Current: t == m.conv.thread})
		}
		m.ui.push(l, func(a panel.Action) tea.Cmd {
			m.ui.closePanels()
			return m.openThread(agent, threads[a.Index])
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

func (m *Model) openModels(handle string) tea.Cmd {
	if handle != "" {
		return m.setModel(handle)
	}
	return load(m.ctx, m.ui, m.backend.Models, func(models []api.Model) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "Models", Empty: "none can be reached; `loci doctor` says why"}
		var handles []string
		for _, x := range models {
			h := api.Val(x.Handle)
			if h == "" {
				continue
			}
			note := ""
			if window := max(x.MaxContextWindow, x.ContextWindow); window > 0 { // context_window is capped at 128,000
				note = fmt.Sprintf("%dk context", window/1000)
			}
			if h == m.conv.model {
				l.Select(len(handles))
			}
			handles = append(handles, h)
			l.Entries = append(l.Entries, panel.Entry{Title: h, Note: note, Current: h == m.conv.model})
		}
		m.ui.push(l, func(a panel.Action) tea.Cmd {
			m.ui.closePanels()
			return m.setModel(handles[a.Index])
		})
		return nil
	})
}

func (m *Model) setModel(handle string) tea.Cmd {
	agent := m.conv.thread.Agent
	set := func(ctx context.Context) (string, error) { return m.backend.SetModel(ctx, agent, handle) }
	return load(m.ctx, m.ui, set, func(warning string) tea.Cmd {
		m.conv.answers(handle)
		m.conv.override, m.conv.contextMost = "", 0
		m.ui.notice(m.conv.name() + " now answers with " + handle)
		if warning != "" {
			m.ui.notice(warning)
		}
		return m.conv.loadAgent()
	})
}

func (m *Model) openMemory(label string) tea.Cmd {
	agent := m.conv.thread.Agent
	if label != "" {
		return m.editBlock(agent, label)
	}
	list := func(ctx context.Context) ([]api.Block, error) { return m.backend.Blocks(ctx, agent) }
	return load(m.ctx, m.ui, list, func(blocks []api.Block) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "What " + m.conv.name() + " remembers", Empty: "nothing: it has no memory blocks"}
		for _, b := range blocks {
			l.Entries = append(l.Entries, panel.Entry{Title: api.Val(b.Label), Note: cmp.Or(transcript.OneLine(b.Value), "empty")})
		}
		m.ui.push(l, func(a panel.Action) tea.Cmd { return m.editBlock(agent, api.Val(blocks[a.Index].Label)) })
		return nil
	})
}

// tagged is a block with the tag of the version read.
type tagged struct {
	block api.Block
	etag  string
}

func (m *Model) readBlock(agent, label string) func(context.Context) (tagged, error) {
	return func(ctx context.Context) (tagged, error) {
		b, etag, err := m.backend.Block(ctx, agent, label)
		return tagged{b, etag}, err
	}
}

// editBlock opens a block for editing. If the block changed in the meantime, it
// isn't overwritten: the new text is shown, and only a second save replaces it.
func (m *Model) editBlock(agent, label string) tea.Cmd {
	return load(m.ctx, m.ui, m.readBlock(agent, label), func(v tagged) tea.Cmd {
		if v.block.ReadOnly {
			m.ui.push(
				&panel.Text{Theme: m.ui.theme, Title: label + " (read only)", Draw: func(w int) string { return wrapTo(v.block.Value, w) }},
				nil,
			)
			return nil
		}
		e := panel.NewEdit(m.ui.theme, label, v.block.Value, false)
		e.Note, e.Limit = transcript.OneLine(api.Val(v.block.Description)), v.block.Limit
		etag := v.etag
		m.ui.push(e, func(a panel.Action) tea.Cmd {
			return func() tea.Msg {
				err := m.backend.UpdateBlock(m.ctx, agent, label, a.Text, etag)
				var newest tagged
				if isStale(err) {
					if v, readErr := m.readBlock(agent, label)(m.ctx); readErr == nil {
						newest = v
					}
				}
				return loadedMsg{func() tea.Cmd {
					switch {
					case err == nil:
						m.ui.closePanels()
						m.ui.notice("saved: " + label)
					case newest.etag != "":
						etag = newest.etag
						e.Refuse("changed meanwhile to “" + transcript.OneLine(newest.block.Value) + "” · ctrl+s again replaces that")
					default:
						e.Refuse(explain(err))
					}
					return nil
				}}
			}
		})
		return nil
	})
}

func isStale(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && (e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed)
}
