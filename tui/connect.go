package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// providerBackend stores and checks providers of models.
type providerBackend interface {
	Providers(ctx context.Context) ([]api.ReachableProvider, error)
	AddProvider(ctx context.Context, in api.AddProvider) (api.Provider, error)
	RemoveProvider(ctx context.Context, in api.RemoveProvider) error
	// CheckProvider asks a provider whether it answers, and says what was found on the way.
	CheckProvider(ctx context.Context, in api.CheckProvider) ([]api.Check, error)
}

// providerPanel is /connect. A key that is typed here is sent to the daemon and to nobody else: it is neither drawn nor remembered.
type providerPanel struct {
	ui      *display
	backend providerBackend
}

// open lists the providers that are set up; with a name, one is added.
func (p providerPanel) open(name string) tea.Cmd {
	if name != "" {
		p.where(api.AddProvider{Name: name})
		return nil
	}
	return load(p.ui, p.backend.Providers, func(all []api.ReachableProvider) tea.Cmd {
		p.ui.closePanels()
		l := &panel.List{
			Theme: p.ui.theme, Title: "Providers of models", NewKey: "adds one", Empty: "none is set up",
		}
		for _, one := range all {
			note := keyNote(one) + " · " + transcript.OneLine(one.BaseURL)
			l.Entries = append(l.Entries, panel.Entry{Title: transcript.OneLine(one.Name), Note: note})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Kind == panel.New {
				p.name(a.Text)
				return nil
			}
			p.one(all[a.Index])
			return nil
		})
		return nil
	})
}

func keyNote(one api.ReachableProvider) string {
	switch one.Key {
	case "":
		return "no key"
	case "stored":
		return "stored key"
	}
	return transcript.OneLine(one.Key)
}

// one says what can be done about a provider.
func (p providerPanel) one(of api.ReachableProvider) {
	choices := []choice{{'c', "check it: it is asked for its models and for one answer", func() tea.Cmd { return p.check(of.Name) }}}
	if of.Stored || !of.Own {
		choices = append(choices, choice{'k', "store a key", func() tea.Cmd {
			in := api.AddProvider{Name: of.Name}
			if of.Own {
				in.Protocol, in.BaseURL = of.Protocol, of.BaseURL
			}
			p.key(in)
			return nil
		}})
	}
	if of.Stored {
		choices = append(choices, choice{'r', "remove it with its key", func() tea.Cmd {
			remove := func(ctx context.Context) (struct{}, error) {
				return struct{}{}, p.backend.RemoveProvider(ctx, api.RemoveProvider{Name: of.Name})
			}
			return load(p.ui, remove, func(struct{}) tea.Cmd { return p.open("") })
		}})
	}
	p.ui.ask(transcript.OneLine(of.Name), []string{keyNote(of), transcript.OneLine(of.BaseURL)}, choices)
}

// name asks for the name of a provider to add.
func (p providerPanel) name(begun string) {
	e := panel.NewEdit(p.ui.theme, "Which provider?", begun, true)
	e.Note = "openai, anthropic, google_ai, groq …; any other name is a server of your own"
	p.ui.push(e, func(a panel.Action) tea.Cmd {
		if name := strings.TrimSpace(a.Text); name != "" {
			p.where(api.AddProvider{Name: name})
		}
		return nil
	})
}

// where asks for the address of a server of the person's own.
func (p providerPanel) where(in api.AddProvider) {
	e := panel.NewEdit(p.ui.theme, "Where is "+transcript.OneLine(in.Name)+"?", "", true)
	e.Note = "empty: where its vendor is; of a server of your own: http://192.168.1.20:8000"
	p.ui.push(e, func(a panel.Action) tea.Cmd {
		if in.BaseURL = strings.TrimSpace(a.Text); in.BaseURL == "" {
			p.key(in)
			return nil
		}
		p.speaks(in)
		return nil
	})
}

// speaks asks for the protocol of a server.
func (p providerPanel) speaks(in api.AddProvider) {
	var choices []choice
	for i, word := range []string{"openai", "openai-responses", "anthropic", "gemini", "ollama", ""} {
		help := word
		if word == "" {
			help = "its vendor's own: the name is one that Loci knows"
		}
		choices = append(choices, choice{rune('1' + i), help, func() tea.Cmd {
			in.Protocol = word
			p.key(in)
			return nil
		}})
	}
	p.ui.ask("What does "+transcript.OneLine(in.Name)+" speak?", nil, choices)
}

// key asks for the key, stores the provider and checks it.
func (p providerPanel) key(in api.AddProvider) {
	s := &panel.Secret{
		Theme: p.ui.theme, Title: "The key of " + transcript.OneLine(in.Name),
		Note: "It is sealed, sent to no other address, and never shown.",
	}
	if in.BaseURL != "" {
		s.Empty = "goes on without a key"
	}
	p.ui.push(s, func(a panel.Action) tea.Cmd {
		in := in
		in.Key = a.Text
		return func() tea.Msg {
			_, err := p.backend.AddProvider(p.ui.ctx, in)
			in.Key = ""
			return loadedMsg{func() tea.Cmd {
				if err == nil {
					return p.check(in.Name)
				}
				if top, ok := p.ui.top(); ok && top.Panel == panel.Panel(s) {
					s.Refuse(explain(err))
				} else {
					p.ui.flash = explain(err)
				}
				return nil
			}}
		}
	})
}

// check shows whether a provider answers, and what was found on the way.
func (p providerPanel) check(name string) tea.Cmd {
	p.ui.closePanels()
	p.ui.flash = "asking " + transcript.OneLine(name) + " …"
	call := func(ctx context.Context) ([]api.Check, error) {
		return p.backend.CheckProvider(ctx, api.CheckProvider{Name: name})
	}
	return load(p.ui, call, func(found []api.Check) tea.Cmd {
		p.ui.flash = ""
		draw := func(width int) string {
			var rows []string
			for _, one := range found {
				mark := p.ui.theme.Good.Render("ok")
				if !one.OK {
					mark = p.ui.theme.Bad.Render("no")
				}
				line := transcript.OneLine(transcript.Reveal(one.Name + ": " + one.Detail))
				rows = append(rows, mark+"  "+strings.ReplaceAll(wrapTo(line, max(width-4, 8)), "\n", "\n    "))
				if one.Fix != "" {
					fix := transcript.OneLine(transcript.Reveal("try: " + one.Fix))
					rows = append(rows, "    "+strings.ReplaceAll(wrapTo(fix, max(width-4, 8)), "\n", "\n    "))
				}
			}
			return strings.Join(rows, "\n")
		}
		p.ui.push(&panel.Text{Theme: p.ui.theme, Title: transcript.OneLine(name), Draw: draw}, nil)
		return nil
	})
}
