package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// permissionBackend keeps the rules of permission.
type permissionBackend interface {
	// Permissions lists the rules that count in a folder and for this session.
	Permissions(ctx context.Context, folder string) (api.Permissions, error)
	AddPermission(ctx context.Context, rule api.PermissionRule) error
	RemovePermission(ctx context.Context, in api.RemovePermission) error
	// Decisions says what decided the last calls of a conversation.
	Decisions(ctx context.Context, in api.ListDecisions) (api.DecisionList, error)
}

// permissionPanel is /permissions.
type permissionPanel struct {
	ui      *display
	conv    *conversation
	backend permissionBackend
	folder  string
	now     func() time.Time
}

// open lists the rules, and above them what else there is to see.
func (p permissionPanel) open() tea.Cmd {
	list := func(ctx context.Context) (api.Permissions, error) { return p.backend.Permissions(ctx, p.folder) }
	return load(p.ui, list, func(found api.Permissions) tea.Cmd {
		p.ui.closePanels()
		l := &panel.List{Theme: p.ui.theme, Title: "What agents may do here", NewKey: "adds a rule"}
		l.Entries = append(l.Entries, panel.Entry{Title: "what decided the last calls", Note: "the rule, the mode, the hook or the person"})
		for _, fault := range found.Faults {
			l.Entries = append(l.Entries, panel.Entry{Title: "! " + transcript.OneLine(transcript.Reveal(fault))})
		}
		above := len(l.Entries)
		for _, r := range found.Rules {
			title := fmt.Sprintf("%-5s %s", r.Effect, transcript.OneLine(transcript.Reveal(r.Rule)))
			l.Entries = append(l.Entries, panel.Entry{Title: title, Note: r.Source})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd {
			switch {
			case a.Kind == panel.New:
				p.add()
			case a.Index == 0:
				return p.decisions()
			case a.Index >= above:
				p.rule(found.Rules[a.Index-above])
			}
			return nil
		})
		return nil
	})
}

// rule says what can be done about a rule.
func (p permissionPanel) rule(r api.PermissionRule) {
	title := r.Effect + " " + transcript.OneLine(transcript.Reveal(r.Rule))
	if !p.ours(r) {
		p.ui.ask(title, []string{"It stands in " + r.Source + ", which only an editor changes."}, []choice{{'b', "go back", p.open}})
		return
	}
	p.ui.ask(title, []string{"It stands in " + r.Source + "."}, []choice{
		{'e', "edit it", func() tea.Cmd {
			p.edit("Edit the rule", r, func(changed api.PermissionRule) func(context.Context) error {
				return func(ctx context.Context) error {
					if err := p.backend.AddPermission(ctx, changed); err != nil || changed.Rule == r.Rule {
						return err
					}
					return p.backend.RemovePermission(ctx, removal(r))
				}
			})
			return nil
		}},
		{'r', "remove it", func() tea.Cmd {
			return p.change(func(ctx context.Context) error { return p.backend.RemovePermission(ctx, removal(r)) })
		}},
	})
}

func removal(r api.PermissionRule) api.RemovePermission {
	return api.RemovePermission{Rule: r.Rule, Folder: r.Folder, Session: r.Session}
}

// ours reports whether a rule stands where the chat can change it.
func (p permissionPanel) ours(r api.PermissionRule) bool {
	return r.Session || r.Folder != "" || r.Source == api.SourceUser
}

// add asks what a new rule says and where it counts.
func (p permissionPanel) add() {
	var choices []choice
	for i, effect := range []string{api.EffectAllow, api.EffectAsk, api.EffectDeny} {
		places := []struct {
			where string
			rule  api.PermissionRule
		}{
			{"in this folder", api.PermissionRule{Effect: effect, Folder: p.folder}},
			{"everywhere", api.PermissionRule{Effect: effect}},
			{"for this session", api.PermissionRule{Effect: effect, Session: true}},
		}
		for n, place := range places {
			if n == 0 && p.folder == "" || n == 2 && effect == api.EffectAsk {
				continue
			}
			key := rune('1' + 3*i + n)
			choices = append(choices, choice{key, effect + " " + place.where, func() tea.Cmd {
				p.edit(effect+" "+place.where, place.rule, func(r api.PermissionRule) func(context.Context) error {
					return func(ctx context.Context) error { return p.backend.AddPermission(ctx, r) }
				})
				return nil
			}})
		}
	}
	p.ui.ask("A rule that says …", []string{"deny counts over ask, and ask over allow"}, choices)
}

// edit edits the text of a rule. What isn't valid is refused, and stays to be mended.
func (p permissionPanel) edit(title string, r api.PermissionRule, save func(api.PermissionRule) func(context.Context) error) {
	e := panel.NewEdit(p.ui.theme, title, r.Rule, true)
	e.Note = "a tool, or what tools do, and in brackets what it is about: shell(go test *), write(src/**)"
	p.ui.push(e, func(a panel.Action) tea.Cmd {
		r.Rule = strings.TrimSpace(transcript.Clean(a.Text))
		do := save(r)
		return func() tea.Msg {
			err := do(p.ui.ctx)
			return loadedMsg{func() tea.Cmd {
				if err != nil {
					p.ui.refuse(e, err)
					return nil
				}
				return p.open()
			}}
		}
	})
}

// change changes the rules and shows them again.
func (p permissionPanel) change(do func(context.Context) error) tea.Cmd {
	call := func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }
	return load(p.ui, call, func(struct{}) tea.Cmd { return p.open() })
}

// decisions shows what decided the last calls.
func (p permissionPanel) decisions() tea.Cmd {
	thread := p.conv.thread
	list := func(ctx context.Context) (api.DecisionList, error) {
		return p.backend.Decisions(ctx, api.ListDecisions{AgentID: thread.Agent, ConversationID: thread.Conversation})
	}
	return load(p.ui, list, func(found api.DecisionList) tea.Cmd {
		draw := func(width int) string {
			var rows []string
			for _, d := range found.Decisions {
				verdict := p.ui.theme.Good.Render("allowed")
				if !d.Allowed {
					verdict = p.ui.theme.Bad.Render("refused")
				}
				what := strings.TrimPrefix(transcript.DeedOf(d.Tool, d.Subject, "").Brief(), "call ")
				head := verdict + " " + what + p.ui.theme.Dim.Render(dot+when(d.At.Time, p.now()))
				rows = append(rows, transcript.Short(head, width))
				by := wrapTo("by "+transcript.OneLine(transcript.Reveal(d.By)), width-2)
				if len(d.Layers) > 0 {
					by += "\n" + p.ui.theme.Dim.Render(wrapTo("sandbox: "+transcript.OneLine(strings.Join(d.Layers, ", ")), width-2))
				}
				rows = append(rows, "  "+strings.ReplaceAll(by, "\n", "\n  "))
			}
			if len(rows) == 0 {
				return "no call of this conversation needed permission"
			}
			return strings.Join(rows, "\n")
		}
		p.ui.push(&panel.Text{Theme: p.ui.theme, Title: "What decided the last calls", Draw: draw}, nil)
		return nil
	})
}
