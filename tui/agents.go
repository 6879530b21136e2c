package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// agentBackend is what choosing and making agents needs.
type agentBackend interface {
	Agents(ctx context.Context) ([]api.AgentState, error)
	Open(ctx context.Context, open api.Open) (api.Session, error)
}

// agentPanel is /agents.
type agentPanel struct {
	ui      *display
	conv    *conversation
	backend agentBackend
}

func (p agentPanel) open(name string) tea.Cmd {
	return load(p.ui, p.backend.Agents, func(agents []api.AgentState) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Agents", Empty: "none yet", NewKey: "makes one"}
		for i, a := range agents {
			if name != "" && (a.Name == name || a.ID == name) {
				return p.conv.openThread(a, Thread{Agent: a.ID})
			}
			l.Entries = append(
				l.Entries,
				panel.Entry{Title: transcript.OneLine(a.Name), Note: agentNote(a), Current: a.ID == p.conv.thread.Agent},
			)
			if a.ID == p.conv.thread.Agent {
				l.Select(i)
			}
		}
		if name != "" {
			p.ui.flash = "there is no agent " + transcript.OneLine(name)
			return nil
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Kind == panel.New {
				return p.nameNew(a.Text)
			}
			p.ui.closePanels()
			chosen := agents[a.Index]
			return p.conv.openThread(chosen, Thread{Agent: chosen.ID})
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

// nameNew asks for the name of a new agent and creates it.
func (p agentPanel) nameNew(name string) tea.Cmd {
	e := panel.NewEdit(p.ui.theme, "Name of the new agent", name, true)
	asked := false
	p.ui.push(e, func(a panel.Action) tea.Cmd {
		name := transcript.OneLine(a.Text)
		if name == "" {
			e.Refuse("it needs a name")
		}
		if name == "" || asked {
			return nil
		}
		asked = true
		return func() tea.Msg {
			s, err := p.backend.Open(p.ui.ctx, api.Open{Agent: api.OpenNew, Name: name})
			return loadedMsg{func() tea.Cmd {
				if asked = false; err != nil {
					p.ui.refuse(e, err)
					return nil
				}
				p.ui.closePanels()
				return func() tea.Msg {
					return threadMsg{
						thread: threadOf(s.AgentID, s.ConversationID), name: s.AgentName, model: s.Model,
						notice: "This is " + s.AgentName + ", a new agent.",
					}
				}
			}}
		}
	})
	return nil
}
