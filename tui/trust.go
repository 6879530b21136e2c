package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// trustBackend knows what the open folder brings along for agents.
type trustBackend interface {
	// Brought lists it, with what a person said of it.
	Brought(ctx context.Context) (api.FolderItems, error)
	Decide(ctx context.Context, d api.TrustDecision) error
	// ItemText returns an item with its text, as it is now.
	ItemText(ctx context.Context, path string) (api.FolderText, error)
}

// trustPanel is /trust.
type trustPanel struct {
	ui      *display
	backend trustBackend
	decided func(path string) // what to do when the person has decided about an item; may be nil
}

// open lists what the folder brings.
func (p trustPanel) open() tea.Cmd {
	return load(p.ui, p.backend.Brought, func(found api.FolderItems) tea.Cmd {
		l := &panel.List{Theme: p.ui.theme, Title: "Trust: what the folder brings for agents", Empty: "nothing; AGENTS.md would stand here"}
		for _, it := range found.Items {
			note := it.Kind + ", " + it.State
			if it.Fault != "" {
				note = it.Fault
			}
			l.Entries = append(l.Entries, panel.Entry{
				Title: transcript.OneLine(it.Path), Note: note, Current: it.State == api.TrustGiven,
			})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			if it := found.Items[a.Index]; it.Fault == "" {
				p.ask(it)
			}
			return nil
		})
		return nil
	})
}

// ask asks whether an item counts, as it is.
func (p trustPanel) ask(it api.FolderItem) {
	name := transcript.OneLine(transcript.Reveal(it.Path))
	decide := func(trusted bool) func() tea.Cmd {
		return func() tea.Cmd { return p.decide(name, it, trusted) }
	}
	p.ui.ask("Trust "+name+", sha256 "+it.Hash[:min(len(it.Hash), 12)]+"?", []string{it.Kind + ", " + it.State + "."}, []choice{
		{'y', "trust it as it is: " + counts(it.Kind), decide(true)},
		{'n', "no: it doesn't count, and nobody asks again until it changes", decide(false)},
		{'r', "read the text that you would trust", func() tea.Cmd { return p.read(it.Path) }},
	})
}

// decide keeps what the person said of an item.
func (p trustPanel) decide(name string, it api.FolderItem, trusted bool) tea.Cmd {
	p.ui.closePanels()
	d := api.TrustDecision{Path: it.Path, Hash: it.Hash, Trusted: trusted}
	keep := func(ctx context.Context) (api.TrustDecision, error) { return d, p.backend.Decide(ctx, d) }
	return load(p.ui, keep, func(api.TrustDecision) tea.Cmd {
		if p.decided != nil {
			p.decided(it.Path)
		}
		if trusted {
			p.ui.notice(name + " counts from the next message on: " + counts(it.Kind))
		} else {
			p.ui.notice(name + " doesn't count")
		}
		return nil
	})
}

// read shows an item as it is now.
func (p trustPanel) read(path string) tea.Cmd {
	text := func(ctx context.Context) (api.FolderText, error) { return p.backend.ItemText(ctx, path) }
	return load(p.ui, text, func(it api.FolderText) tea.Cmd {
		title := transcript.OneLine(it.Path) + ", sha256 " + it.Hash[:min(len(it.Hash), 12)]
		p.ui.push(&panel.Text{Theme: p.ui.theme, Title: title, Draw: func(width int) string {
			return wrapTo(transcript.Reveal(it.Text), width)
		}}, nil)
		return nil
	})
}

// counts says what it means that an item is trusted.
func counts(kind string) string {
	switch kind {
	case api.ItemHooks:
		return "its programs run around calls, confined"
	case api.ItemCommand:
		return "its name sends its text"
	case api.ItemTool:
		return "agents can be given it"
	case api.ItemServers:
		return "nothing starts yet"
	}
	return "agents that work here follow it"
}
