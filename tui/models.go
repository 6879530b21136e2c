package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
)

// modelBackend is what choosing a model needs.
type modelBackend interface {
	Models(ctx context.Context) ([]api.Model, error)
	// SetModel returns a warning about the model to show to the person, if there is
	// one.
	SetModel(ctx context.Context, agent, handle string) (warning string, err error)
}

// modelPanel is /model.
type modelPanel struct {
	ui      *display
	conv    *conversation
	backend modelBackend
}

func (p modelPanel) open(handle string) tea.Cmd {
	if handle != "" {
		return p.set(handle)
	}
	return load(p.ui, p.backend.Models, func(models []api.Model) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Models", Empty: "none can be reached; `loci doctor` says why"}
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
			if h == p.conv.model {
				l.Select(len(handles))
			}
			handles = append(handles, h)
			l.Entries = append(l.Entries, panel.Entry{Title: h, Note: note, Current: h == p.conv.model})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			p.ui.closePanels()
			return p.set(handles[a.Index])
		})
		return nil
	})
}

func (p modelPanel) set(handle string) tea.Cmd {
	agent := p.conv.thread.Agent
	set := func(ctx context.Context) (string, error) { return p.backend.SetModel(ctx, agent, handle) }
	return load(p.ui, set, func(warning string) tea.Cmd {
		p.conv.answers(handle)
		p.conv.override, p.conv.contextMost = "", 0
		p.ui.notice(p.conv.name() + " now answers with " + handle)
		if warning != "" {
			p.ui.notice(warning)
		}
		return p.conv.loadAgent()
	})
}
