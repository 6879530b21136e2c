package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// rulesFor are the rules that would allow a call from now on. There are none for
// one that asks each time, or that the person changed.
func (q *question) rulesFor(i int) []string {
	if q.request.Calls[i].Client || q.replies[i].changed != "" {
		return nil
	}
	return q.request.Calls[i].Always
}

// openRules shows the rules that would allow a call and what is like it, to be
// edited before they are kept.
func (q *question) openRules(scope string) tea.Cmd {
	i := q.at
	rules := q.rulesFor(i)
	switch {
	case len(rules) == 0 && q.replies[i].changed != "":
		q.ui.flash = "you changed its arguments; y allows it, this once"
		return nil
	case len(rules) == 0:
		q.ui.flash = "this asks each time; y allows it, this once"
		return nil
	case !q.replies[i].seen:
		q.ui.flash = "v shows the rest of it; then s and a allow what is like it"
		return nil
	}
	title := "Allow for this session"
	if scope == api.ScopeFolder {
		title = "Always allow in this folder"
	}
	e := panel.NewEdit(q.ui.theme, title, strings.Join(rules, "\n"), len(rules) == 1)
	e.Note = "a rule of permission, as it is kept; * stands for what may differ"
	if len(rules) > 1 {
		e.Note = "rules of permission, one on each line, as they are kept"
	}
	request := q.request
	q.open(e, func(a panel.Action) tea.Cmd {
		kept := linesOf(a.Text)
		if len(kept) == 0 {
			e.Refuse("there is no rule; esc goes back")
			return nil
		}
		return q.check(i, kept, func(why string) tea.Cmd {
			switch {
			case q.request != request:
				return nil
			case why != "":
				e.Refuse(why)
				return nil
			}
			q.ui.remove(e)
			q.replies[i] = reply{given: true, approve: true, seen: true, rules: kept, scope: scope}
			return q.next()
		})
	})
	return nil
}

// check has the daemon say whether rules are valid and, if the person changed them, whether they allow the call that they are
// kept with: one that doesn't would be a surprise, now or when the same is asked again.
func (q *question) check(i int, rules []string, then func(why string) tea.Cmd) tea.Cmd {
	call := q.request.Calls[i]
	in := transcript.Subject(call.Name, q.arguments(i))
	ask := api.CheckPermission{
		Does: in.Does, Subject: in.Of, Tool: call.Name, Arguments: q.arguments(i), Folder: q.folder, Mode: modeAsk, Allow: rules,
	}
	offered := slices.Equal(rules, call.Always)
	return func() tea.Msg {
		v, err := q.backend.CheckPermission(q.ui.ctx, ask)
		return loadedMsg{func() tea.Cmd {
			switch {
			case err != nil:
				return then(explain(err))
			case v.Effect != api.EffectAllow && !offered:
				return then("that would not allow this very call. " + transcript.OneLine(v.Why))
			}
			return then("")
		}}
	}
}

// linesOf are the lines of a text that aren't empty.
func linesOf(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(transcript.Clean(line)); line != "" {
			out = append(out, line)
		}
	}
	return out
}
