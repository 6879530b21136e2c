package tui

import (
	"context"
	"fmt"
	"strings"

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
}

// mostNamed bounds how many files one notice names.
const mostNamed = 3

// look asks for trust in what the folder brings, once, when the chat opens.
func (p trustPanel) look() tea.Msg {
	found, err := p.backend.Brought(p.ui.ctx)
	if err != nil {
		return nil // /trust says why
	}
	var names []string
	for _, it := range found.Items {
		if it.Waits() {
			names = append(names, transcript.OneLine(it.Path))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return loadedMsg{func() tea.Cmd {
		list := strings.Join(names[:min(len(names), mostNamed)], ", ")
		if n := len(names) - mostNamed; n > 0 {
			list += fmt.Sprintf(" and %d more", n)
		}
		p.ui.notice("the folder brings what doesn't count before you trust it: " + list + " · /trust")
		return nil
	}}
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
	name := transcript.OneLine(it.Path)
	l := &panel.List{Theme: p.ui.theme, Title: name + ", sha256 " + it.Hash[:min(len(it.Hash), 12)], Entries: []panel.Entry{
		{Title: "No", Note: "it doesn't count, and nobody asks again until it changes", Current: it.State == api.TrustRefused},
		{Title: "Trust it as it is", Note: counts(it.Kind), Current: it.State == api.TrustGiven},
		{Title: "Read it", Note: "the text that you would trust"},
	}}
	p.ui.push(l, func(a panel.Action) tea.Cmd {
		if a.Index == readItem {
			return p.read(it.Path)
		}
		p.ui.closePanels()
		d := api.TrustDecision{Path: it.Path, Hash: it.Hash, Trusted: a.Index == 1}
		decide := func(ctx context.Context) (api.TrustDecision, error) { return d, p.backend.Decide(ctx, d) }
		return load(p.ui, decide, func(d api.TrustDecision) tea.Cmd {
			if d.Trusted {
				p.ui.notice(name + " counts from the next message on: " + counts(it.Kind))
			} else {
				p.ui.notice(name + " doesn't count")
			}
			return nil
		})
	})
}

// readItem is the row of the choices that shows the item.
const readItem = 2

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
