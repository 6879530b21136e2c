package tui

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// toolBackend knows which tools there are, and which of them an agent has.
type toolBackend interface {
	// AllTools lists them with those of the agent marked.
	AllTools(ctx context.Context, agent string) ([]tool, error)
	AttachTool(ctx context.Context, agent, id string) error
	DetachTool(ctx context.Context, agent, id string) error
}

// tool is a tool, and whether the agent has it.
type tool struct {
	api.Tool
	has bool
}

// toolPanel is /tools.
type toolPanel struct {
	ui      *display
	conv    *conversation
	backend toolBackend
}

// open lists the tools; choosing one gives it to the agent, or takes it away.
func (p toolPanel) open() tea.Cmd {
	agent := p.conv.thread.Agent
	list := func(ctx context.Context) ([]tool, error) { return p.backend.AllTools(ctx, agent) }
	return load(p.ui, list, func(all []tool) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Tools: enter gives one to the agent, or takes it away", Empty: "none"}
		for _, t := range all {
			note := t.ToolType + " · " + transcript.OneLine(api.Val(t.Description))
			l.Entries = append(l.Entries, panel.Entry{Title: transcript.OneLine(api.Val(t.Name)), Note: note, Current: t.has})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			p.ui.closePanels()
			return p.share(agent, all[a.Index])
		})
		return nil
	})
}

// share gives a tool to the agent, or takes it away.
func (p toolPanel) share(agent string, t tool) tea.Cmd {
	do, said := p.backend.AttachTool, "the agent has it from the next message on: "
	if t.has {
		do, said = p.backend.DetachTool, "the agent no longer has it: "
	}
	shared := func(ctx context.Context) (string, error) {
		return transcript.OneLine(api.Val(t.Name)), do(ctx, agent, t.ID)
	}
	return load(p.ui, shared, func(name string) tea.Cmd {
		p.ui.notice(said + name)
		return nil
	})
}

// AllTools lists the tools, those of the agent first, then those that people wrote.
func (d daemon) AllTools(ctx context.Context, agent string) ([]tool, error) {
	found, err := d.Tools(ctx, api.ListTools{Page: api.Page{Limit: 1000, Order: "asc"}})
	if err != nil {
		return nil, err
	}
	a, err := d.Client.Agent(ctx, agent)
	if err != nil {
		return nil, err
	}
	var all []tool
	for _, t := range found {
		has := slices.ContainsFunc(a.Tools, func(own api.Tool) bool { return own.ID == t.ID })
		all = append(all, tool{t, has})
	}
	rank := func(t tool) int {
		switch {
		case t.has:
			return 0
		case t.ToolType == api.ToolCustom:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b tool) int { return cmp.Compare(rank(a), rank(b)) })
	return all, nil
}
